#include "runtime/engine/plugin.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

// The libraries lie in the runfiles, relative to the working directory of a test.
constexpr const char* kToy = "runtime/engine/libtoy_engine.so";
constexpr const char* kOld = "runtime/engine/libold_engine.so";

Error LoadError(const std::string& path) {
  try {
    LoadEnginePlugin(path);
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << path << " was loaded";
  return Error(ErrorCode::kInternal, "");
}

TEST(LoadEnginePlugin, LoadsAnEngineLibrary) {
  const mc_engine_api* engine = LoadEnginePlugin(kToy);
  EXPECT_STREQ(engine->name, "toy");
  const mc_engine_device* devices = nullptr;
  size_t count = 0;
  ASSERT_EQ(engine->devices(&devices, &count), 0);
  EXPECT_STREQ(devices[0].id, "cpu");
  EXPECT_EQ(LoadEnginePlugin(kToy), engine);
}

TEST(LoadEnginePlugin, RefusesAnotherAbiVersion) {
  const Error e = LoadError(kOld);
  EXPECT_EQ(e.code(), ErrorCode::kUnavailable);
  EXPECT_NE(e.message().find("does not serve version 1 of the engine ABI"), std::string::npos) << e.message();
}

TEST(LoadEnginePlugin, NamesAMissingLibrary) {
  const Error e = LoadError("no/such/engine.so");
  EXPECT_EQ(e.code(), ErrorCode::kNotFound);
  EXPECT_NE(e.message().find("no/such/engine.so"), std::string::npos) << e.message();
}

TEST(LoadEnginePlugin, RefusesWhatIsNoLibrary) {
  const std::string path = ::testing::TempDir() + "/text.so";
  std::ofstream(path) << "not a library";
  EXPECT_EQ(LoadError(path).code(), ErrorCode::kUnavailable);
}

TEST(LoadEnginePlugin, RefusesALibraryWithoutEntry) {
  const Error e = LoadError("runtime/engine/libno_engine.so");
  EXPECT_EQ(e.code(), ErrorCode::kUnavailable);
  EXPECT_NE(e.message().find("mc_engine_entry"), std::string::npos) << e.message();
}

}  // namespace
}  // namespace mconnect
