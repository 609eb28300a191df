// Which variant of a module runs here, with which engine and on which device.
#ifndef MCONNECT_ENGINE_SELECTION_H_
#define MCONNECT_ENGINE_SELECTION_H_

#include <span>
#include <string>
#include <string_view>

#include "runtime/bundle/manifest.h"
#include "runtime/engine/engine.h"

namespace mconnect {

struct Selection {
  const Variant* variant;  // of the manifest's module
  const mc_engine_api* engine;
  std::string device;  // the engine's id of it
};

// Scores each variant against the engines and takes the best: a GPU before a CPU; of equals, the first in the manifest.
// `device`: "auto", "cpu", "gpu" (the first that is available), "gpu:<n>". Never falls back from the device asked for.
//
// Throws Error: kInvalidArgument (not a device), kUnavailable (no engine offers the device asked for), kUnsupported (no
// variant runs on it: one line for each says why).
Selection SelectVariant(std::string_view name, const Module& module, std::span<const mc_engine_api* const> engines,
                        std::string_view device);

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_SELECTION_H_
