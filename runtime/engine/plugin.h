// Engines that live in a library of their own.
#ifndef MCONNECT_ENGINE_PLUGIN_H_
#define MCONNECT_ENGINE_PLUGIN_H_

#include <filesystem>

#include "runtime/engine/engine.h"

namespace mconnect {

// Loads an engine library, for the rest of the process. Throws Error(kNotFound) when the file is not there, and
// Error(kUnavailable) when the system cannot load it, it exports no mc_engine_entry, or it serves another ABI version.
const mc_engine_api* LoadEnginePlugin(const std::filesystem::path& library);

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_PLUGIN_H_
