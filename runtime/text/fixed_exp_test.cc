#include "runtime/text/fixed_exp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mconnect {
namespace {

TEST(FixedExpTest, EqualsTheExponentialFunction) {
  for (int i = 0; i < 28'000; ++i) {
    const double x = -i / 1000.0;
    const double want = std::exp(x) * 0x1p40;
    EXPECT_NEAR(static_cast<double>(FixedExp(x)), want, 1 + want * 0x1p-31) << x;
  }
}

TEST(FixedExpTest, NeverRisesAsItsArgumentFalls) {
  std::uint64_t last = FixedExp(0);
  EXPECT_EQ(last, std::uint64_t{1} << 40);
  for (int i = 1; i < 200'000; ++i) {
    const std::uint64_t next = FixedExp(-i * 0x1p-13);
    EXPECT_LE(next, last) << i;
    last = next;
  }
}

TEST(FixedExpTest, IsZeroFarBelow) {
  EXPECT_EQ(FixedExp(-28), 0u);
  EXPECT_EQ(FixedExp(-1e300), 0u);
  EXPECT_EQ(FixedExp(-std::numeric_limits<double>::infinity()), 0u);
}

// Any machine, any compiler, any flags: these bits.
TEST(FixedExpTest, HasTheseBits) {
  EXPECT_EQ(FixedExp(-0.5), 666'887'512'887u);
  EXPECT_EQ(FixedExp(-1), 404'487'723'169u);
  EXPECT_EQ(FixedExp(-12.25), 5'261'292u);
}

}  // namespace
}  // namespace mconnect
