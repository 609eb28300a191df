#include "runtime/engine/selection.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {
namespace {

bool IsGpu(std::string_view id) { return id == "gpu" || id.substr(0, 4) == "gpu:"; }

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void CheckDevice(std::string_view device) {
  if (device == "auto" || device == "cpu" || device == "gpu") return;
  if (device.substr(0, 4) == "gpu:" && IsDigits(device.substr(4))) return;
  throw Error(ErrorCode::kInvalidArgument, "there is no device '" + std::string(device) + "'",
              "devices are 'auto', 'cpu', 'gpu' and 'gpu:<n>'");
}

bool Fits(std::string_view id, std::string_view wanted) {
  return wanted == "auto" || id == wanted || (wanted == "gpu" && IsGpu(id));
}

// "2026.4.1" → {2026, 4, 1}; what does not begin with a number ends it.
std::vector<int> VersionNumbers(std::string_view version) {
  std::vector<int> numbers;
  while (!version.empty()) {
    int number = 0;
    const auto result = std::from_chars(version.data(), version.data() + version.size(), number);
    if (result.ec != std::errc()) break;
    numbers.push_back(number);
    version.remove_prefix(static_cast<std::size_t>(result.ptr - version.data()));
    if (version.empty() || version.front() != '.') break;
    version.remove_prefix(1);
  }
  return numbers;
}

// Why the engine does not meet what the variant requires; empty when it does.
std::string Unmet(const Variant& variant, const mc_engine_api& engine) {
  for (const auto& [key, value] : variant.requirements) {
    if (key != "version") return "requires '" + key + "', which this build does not know";
    const std::vector<int> needed = VersionNumbers(value), have = VersionNumbers(engine.version());
    if (needed.empty()) return "requires version '" + value + "', which is not a version";
    if (have < needed) return "requires version " + value + " or newer, this build has " + engine.version();
  }
  return "";
}

std::span<const mc_engine_device> Devices(const mc_engine_api& engine) {
  const mc_engine_device* devices = nullptr;
  std::size_t count = 0;
  if (engine.devices(&devices, &count) != 0) return {};
  return {devices, count};
}

// Every device that the engines know, for messages: "openvino: cpu".
std::string Offered(std::span<const mc_engine_api* const> engines) {
  std::string text;
  for (const mc_engine_api* engine : engines) {
    for (const mc_engine_device& d : Devices(*engine)) {
      text += (text.empty() ? "" : ", ") + std::string(engine->name) + ": " + d.id;
      if (!d.available) text += " (" + std::string(d.reason) + ")";
    }
  }
  return text.empty() ? "no engine offers any" : text;
}

}  // namespace

Selection SelectVariant(std::string_view name, const Module& module, std::span<const mc_engine_api* const> engines,
                        std::string_view device) {
  CheckDevice(device);
  std::optional<Selection> best;
  std::string reasons;
  bool offered = device == "auto";  // whether some engine has the device, ready to use
  for (const mc_engine_api* engine : engines) {
    for (const mc_engine_device& d : Devices(*engine)) offered |= d.available && Fits(d.id, device);
  }
  for (const Variant& variant : module.variants) {
    const auto reject = [&](const std::string& why) { reasons += "\n  " + variant.path + ": " + why; };
    const auto engine =
        std::find_if(engines.begin(), engines.end(), [&](const auto* e) { return variant.engine == e->name; });
    if (engine == engines.end()) {
      reject("the engine '" + variant.engine + "' is not part of this build");
      continue;
    }
    std::string why = Unmet(variant, **engine);
    if (why.empty()) {
      why = "the engine '" + variant.engine + "' does not offer the device '" + std::string(device) + "'";
      for (const mc_engine_device& d : Devices(**engine)) {
        if (!Fits(d.id, device)) continue;
        if (!d.available) {
          why = std::string(d.id) + " is not available: " + d.reason;
          continue;
        }
        why.clear();
        if (!best || (IsGpu(d.id) && !IsGpu(best->device))) best = Selection{&variant, *engine, d.id};
        break;
      }
    }
    if (!why.empty()) reject(why);
  }
  if (best) return *best;
  if (!offered) {
    throw Error(ErrorCode::kUnavailable,
                "the device '" + std::string(device) + "' is not available here; there is " + Offered(engines),
                "use device 'auto' or one of these");
  }
  throw Error(ErrorCode::kUnsupported, "no variant of module '" + std::string(name) +
                                           "' runs here:" + (reasons.empty() ? " it has none" : reasons));
}

}  // namespace mconnect
