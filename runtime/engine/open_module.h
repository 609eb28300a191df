// Opening a module with an engine.
#ifndef MCONNECT_ENGINE_OPEN_MODULE_H_
#define MCONNECT_ENGINE_OPEN_MODULE_H_

#include <filesystem>
#include <memory>
#include <string>

#include "mconnect/module.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/input_limits.h"

namespace mconnect {

struct ModuleFiles {
  std::filesystem::path artifact;
  std::filesystem::path weights;  // empty: none
};

struct EngineOptions {
  std::string precision = "f32";
  int threads = 0;
};

// `info` says what the manifest promises; its `precision` is what the engine made of the one asked for. Throws the
// engine's Error, and Error(kCorrupt) when the artifact's inputs and outputs are not those of `info`. Runs refuse
// inputs beyond `limits`.
LoadedModule OpenModule(const mc_engine_api& engine, const ModuleFiles& files, const EngineOptions& options,
                        ModuleInfo info, InputLimits limits = {});

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_OPEN_MODULE_H_
