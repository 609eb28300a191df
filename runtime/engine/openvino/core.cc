#include "runtime/engine/openvino/core.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <openvino/core/version.hpp>
#include <openvino/runtime/properties.hpp>
#include <utility>
#include <vector>

#include "mconnect/error.h"

namespace mconnect::openvino {
namespace {

constexpr const char* kPluginFolder = "MCONNECT_OPENVINO_PLUGINS";
constexpr const char* kPlugin = "libopenvino_intel_cpu_plugin.so";

constexpr std::array<std::pair<DType, ov::element::Type_t>, 13> kTypes = {{
    {DType::kBool, ov::element::Type_t::boolean},
    {DType::kI8, ov::element::Type_t::i8},
    {DType::kU8, ov::element::Type_t::u8},
    {DType::kI16, ov::element::Type_t::i16},
    {DType::kU16, ov::element::Type_t::u16},
    {DType::kI32, ov::element::Type_t::i32},
    {DType::kU32, ov::element::Type_t::u32},
    {DType::kI64, ov::element::Type_t::i64},
    {DType::kU64, ov::element::Type_t::u64},
    {DType::kF16, ov::element::Type_t::f16},
    {DType::kBF16, ov::element::Type_t::bf16},
    {DType::kF32, ov::element::Type_t::f32},
    {DType::kF64, ov::element::Type_t::f64},
}};

std::unique_ptr<Cpu> LoadCpu() {
  auto cpu = std::make_unique<Cpu>();
  std::string where = "beside libopenvino";
  try {
    cpu->device = "CPU";
    if (const char* folder = std::getenv(kPluginFolder); folder != nullptr && *folder != '\0') {
      // A name of its own: "CPU" may be taken by a plugin beside libopenvino.
      cpu->device = "MCONNECT_CPU";
      where = (std::filesystem::path(folder) / kPlugin).string();
      cpu->core.register_plugin(where, cpu->device);
    }
    cpu->name = cpu->core.get_property(cpu->device, ov::device::full_name);
    const std::vector<std::string> can = cpu->core.get_property(cpu->device, ov::device::capabilities);
    cpu->bf16 = std::find(can.begin(), can.end(), ov::device::capability::BF16) != can.end();
    return cpu;
  } catch (const std::exception& e) {
    throw Error(ErrorCode::kUnavailable,
                "OpenVINO's CPU plugin, looked for " + where + ", cannot be loaded: " + Explanation(e.what()),
                std::string("set ") + kPluginFolder + " to the folder of " + kPlugin);
  }
}

}  // namespace

Cpu& GetCpu() {
  // Never destroyed: OpenVINO's worker threads may outlive static objects.
  static std::mutex mutex;
  static Cpu* cpu = nullptr;
  std::lock_guard lock(mutex);
  if (cpu == nullptr) cpu = LoadCpu().release();
  return *cpu;
}

const std::string& Version() {
  static const std::string version = [] {
    std::string full = ov::get_openvino_version().buildNumber;  // "2026.4.1-1234-..."
    return full.substr(0, full.find('-'));
  }();
  return version;
}

DType FromOpenVino(ov::element::Type type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (type == theirs) return ours;
  }
  throw Error(ErrorCode::kUnsupported,
              "OpenVINO's type '" + type.get_type_name() + "' has no counterpart in Model Connect");
}

ov::element::Type ToOpenVino(DType dtype) {
  for (const auto& [ours, theirs] : kTypes) {
    if (dtype == ours) return theirs;
  }
  throw Error(ErrorCode::kInvalidArgument, "dtype " + std::to_string(static_cast<int>(dtype)) + " is none of 0 to 12");
}

std::string Explanation(std::string_view what) {
  std::string text;
  while (!what.empty()) {
    const std::size_t end = std::min(what.find('\n'), what.size());
    std::string_view line = what.substr(0, end);
    what.remove_prefix(std::min(end + 1, what.size()));
    const bool location = line.rfind("Exception from ", 0) == 0;
    if (location || line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!text.empty()) text += ' ';
    text += line;
  }
  return text.empty() ? "no reason given" : text;
}

}  // namespace mconnect::openvino
