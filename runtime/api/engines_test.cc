#include "runtime/api/engines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

TEST(Engines, OpenVinoIsBuiltIn) {
  ::unsetenv("MCONNECT_ENGINES");
  ASSERT_EQ(Engines().size(), 1u);
  EXPECT_STREQ(Engines()[0]->name, "openvino");
}

TEST(Engines, LibrariesAreNamedInTheEnvironment) {
  ::setenv("MCONNECT_ENGINES", ":runtime/engine/libtoy_engine.so:", 1);
  ASSERT_EQ(Engines().size(), 2u);
  EXPECT_STREQ(Engines()[1]->name, "toy");
}

TEST(Engines, ALibraryThatIsNamedMustLoad) {
  ::setenv("MCONNECT_ENGINES", "no/such/engine.so", 1);
  EXPECT_THROW(Engines(), Error);
}

}  // namespace
}  // namespace mconnect
