#include "runtime/engine/selection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/engine/testing/toy_engine.h"

namespace mconnect {
namespace {

int32_t GpuDevices(const mc_engine_device** devices, size_t* count) {
  static const mc_engine_device list[] = {{"gpu:0", "toy", 1, ""}, {"gpu:1", "toy", 1, ""}};
  *devices = list;
  *count = 2;
  return 0;
}

// The toy engine under another name, with two working GPUs.
const mc_engine_api* GpuEngine() {
  static const mc_engine_api api = [] {
    mc_engine_api a = *ToyEngine();
    a.name = "toygpu";
    a.devices = GpuDevices;
    return a;
  }();
  return &api;
}

Module Make(std::vector<Variant> variants) {
  Module module = {};
  module.variants = std::move(variants);
  return module;
}

Variant Make(const std::string& engine, const std::string& path, std::map<std::string, std::string> requirements = {}) {
  return Variant{engine, path, std::nullopt, std::move(requirements)};
}

Error SelectError(const Module& module, std::vector<const mc_engine_api*> engines, const std::string& device) {
  try {
    SelectVariant("encoder", module, engines, device);
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "a variant was chosen";
  return Error(ErrorCode::kInternal, "");
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(SelectVariant, PrefersAGpuWhenAutoAndReportsIt) {
  const Module module = Make({Make("toy", "a"), Make("toygpu", "b")});
  const std::vector engines = {ToyEngine(), GpuEngine()};
  const Selection s = SelectVariant("encoder", module, engines, "auto");
  EXPECT_EQ(s.variant->path, "b");
  EXPECT_EQ(s.device, "gpu:0");
  EXPECT_EQ(SelectVariant("encoder", module, engines, "gpu:1").device, "gpu:1");
  EXPECT_EQ(SelectVariant("encoder", module, engines, "cpu").variant->path, "a");
}

TEST(SelectVariant, TakesTheFirstOfEquals) {
  const std::vector engines = {ToyEngine()};
  const Module module = Make({Make("toy", "a"), Make("toy", "b")});
  EXPECT_EQ(SelectVariant("encoder", module, engines, "auto").variant->path, "a");
}

TEST(SelectVariant, NeverFallsBackFromTheDeviceAskedFor) {
  const Error e = SelectError(Make({Make("toy", "a")}), {ToyEngine()}, "gpu");
  EXPECT_EQ(e.code(), ErrorCode::kUnavailable);
  EXPECT_HAS(e.message(), "'gpu' is not available");
  EXPECT_HAS(e.message(), "gpu:0 (no driver)");
}

TEST(SelectVariant, SaysForEachVariantWhyItDoesNotFit) {
  const Module module =
      Make({Make("tensorrt", "x.plan"), Make("toy", "y", {{"version", "1.3"}}), Make("toy", "z", {{"moon", "full"}})});
  const Error e = SelectError(module, {ToyEngine()}, "auto");
  EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
  EXPECT_HAS(e.message(), "module 'encoder'");
  EXPECT_HAS(e.message(), "\n  x.plan: the engine 'tensorrt' is not part of this build");
  EXPECT_HAS(e.message(), "\n  y: requires version 1.3 or newer, this build has 1.2.3");
  EXPECT_HAS(e.message(), "\n  z: requires 'moon'");
}

TEST(SelectVariant, ComparesVersionsByNumber) {
  const std::vector engines = {ToyEngine()};  // 1.2.3
  for (const char* ok : {"1", "1.2", "1.2.3", "0.10"}) {
    const Module module = Make({Make("toy", "a", {{"version", ok}})});
    EXPECT_EQ(SelectVariant("encoder", module, engines, "cpu").variant->path, "a") << ok;
  }
  for (const char* newer : {"1.10", "1.2.3.1", "2", "x"}) {
    const Module module = Make({Make("toy", "a", {{"version", newer}})});
    EXPECT_EQ(SelectError(module, {ToyEngine()}, "cpu").code(), ErrorCode::kUnsupported) << newer;
  }
}

TEST(SelectVariant, RefusesWhatIsNoDevice) {
  for (const char* device : {"", "GPU", "gpu:", "gpu:x", "cuda:0", "cpu:1"}) {
    EXPECT_EQ(SelectError(Make({Make("toy", "a")}), {ToyEngine()}, device).code(), ErrorCode::kInvalidArgument)
        << device;
  }
}

TEST(SelectVariant, TellsAVariantThatIsOnAnotherDevice) {
  const Error e = SelectError(Make({Make("toygpu", "b")}), {ToyEngine(), GpuEngine()}, "cpu");
  EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
  EXPECT_HAS(e.message(), "b: the engine 'toygpu' does not offer the device 'cpu'");
}

}  // namespace
}  // namespace mconnect
