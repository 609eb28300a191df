#include "runtime/engine/kernels/linear_f16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace mconnect::kernels {
namespace {

// IEEE binary16 to f32, from the format's definition: the kernels use the CPU's own conversion.
float Expand(std::uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                    : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return half >> 15 ? -value : value;
}

struct Problem {
  std::size_t rows, inputs, outputs;
  std::vector<float> x;
  std::vector<std::uint16_t> w;
  std::vector<double> exact, magnitude;  // the sum, and the sum of the terms' absolute values

  Problem(std::size_t rows, std::size_t inputs, std::size_t outputs)
      : rows(rows), inputs(inputs), outputs(outputs), x(rows * inputs), w(outputs * inputs) {
    std::mt19937 random(static_cast<unsigned>(rows * 1000003 + inputs * 1009 + outputs));
    for (float& v : x) v = std::uniform_real_distribution<float>(-1, 1)(random);
    // Every finite f16, subnormal ones as well, up to 2 in magnitude.
    for (std::uint16_t& v : w) v = static_cast<std::uint16_t>((random() % 0x4000) | (random() % 2 << 15));
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t n = 0; n < outputs; ++n) {
        double sum = 0, size = 0;
        for (std::size_t k = 0; k < inputs; ++k) {
          const double term = static_cast<double>(x[m * inputs + k]) * Expand(w[n * inputs + k]);
          sum += term;
          size += std::abs(term);
        }
        exact.push_back(sum);
        magnitude.push_back(size);
      }
    }
  }
};

class LinearF16Test : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    // Test machines older than the kernels: BestLinearF16 refuses there, which RunsWhatTheCpuHas covers.
    kernel_ = GetParam() ? LinearF16Avx512 : LinearF16Avx2;
    const bool has = GetParam() ? BestLinearF16() == LinearF16Avx512 : BestLinearF16() != nullptr;
    if (!has) kernel_ = nullptr;
  }

  void Check(std::size_t rows, std::size_t inputs, std::size_t outputs) {
    if (kernel_ == nullptr) return;
    const Problem p(rows, inputs, outputs);
    std::vector<float> y(rows * outputs, NAN);
    kernel_(p.x.data(), rows, inputs, p.w.data(), outputs, 0, outputs, y.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      // The bound of a sum in any order: its length times half a unit in the last place of the terms' magnitude.
      ASSERT_NEAR(y[i], p.exact[i], static_cast<double>(inputs + 1) * 0x1p-24 * p.magnitude[i] + 1e-30)
          << rows << " rows, " << inputs << " inputs, " << outputs << " outputs, element " << i;
    }
  }

  LinearF16 kernel_ = nullptr;
};

TEST_P(LinearF16Test, EqualsTheExactSumForEveryCountOfRows) {
  for (std::size_t rows = 1; rows <= 75; ++rows) Check(rows, 80, 70);
}

TEST_P(LinearF16Test, TakesAnyCountOfInputsAndOutputs) {
  for (const std::size_t rows : {1, 5, 49}) {
    for (const std::size_t inputs : {1, 7, 8, 15, 16, 17, 33, 383, 384, 385, 800}) {
      for (const std::size_t outputs : {1, 3, 4, 5, 31, 32, 33, 65}) Check(rows, inputs, outputs);
    }
  }
}

TEST_P(LinearF16Test, WritesItsColumnsAndNoOther) {
  if (kernel_ == nullptr) return;
  for (const std::size_t rows : {1, 7, 60}) {
    const Problem p(rows, 50, 131);
    std::vector<float> whole(rows * 131), parts(rows * 131, NAN);
    kernel_(p.x.data(), rows, 50, p.w.data(), 131, 0, 131, whole.data());
    kernel_(p.x.data(), rows, 50, p.w.data(), 131, 32, 96, parts.data());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i % 131 >= 32 && i % 131 < 96) {
        EXPECT_EQ(parts[i], whole[i]) << i;  // the same bits, whoever computes them
      } else {
        EXPECT_TRUE(std::isnan(parts[i])) << i;
      }
    }
  }
}

TEST_P(LinearF16Test, ReadsNothingBeyondTheWeights) {
  if (kernel_ == nullptr) return;
  // What a value beyond the last row or input would spoil: the neighbours are NaN.
  for (const std::size_t rows : {1, 6, 60}) {
    const Problem p(rows, 37, 35);
    std::vector<std::uint16_t> padded(p.w.size() + 64, 0x7e00);
    std::memcpy(padded.data() + 32, p.w.data(), p.w.size() * sizeof(std::uint16_t));
    std::vector<float> y(rows * 35);
    kernel_(p.x.data(), rows, 37, padded.data() + 32, 35, 0, 35, y.data());
    for (const float v : y) ASSERT_TRUE(std::isfinite(v));
  }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, LinearF16Test, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Avx512" : "Avx2"); });

TEST(BestLinearF16, RunsWhatTheCpuHas) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    EXPECT_EQ(BestLinearF16(), LinearF16Avx512);
  } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    EXPECT_EQ(BestLinearF16(), LinearF16Avx2);
  } else {
    EXPECT_EQ(BestLinearF16(), nullptr);
  }
}

}  // namespace
}  // namespace mconnect::kernels
