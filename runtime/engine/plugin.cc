#include "runtime/engine/plugin.h"

#include <dlfcn.h>

#include <string>

#include "mconnect/error.h"

namespace mconnect {

const mc_engine_api* LoadEnginePlugin(const std::filesystem::path& library) {
  const std::string name = "engine library " + library.string();
  if (!std::filesystem::exists(library)) throw Error(ErrorCode::kNotFound, name + " does not exist");
  void* handle = ::dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(ErrorCode::kUnavailable, name + " cannot be loaded: " + ::dlerror());
  const auto entry = reinterpret_cast<mc_engine_entry_fn>(::dlsym(handle, "mc_engine_entry"));
  const mc_engine_api* api = entry ? entry(MC_ENGINE_ABI) : nullptr;
  if (api != nullptr && api->abi == MC_ENGINE_ABI && api->struct_size >= sizeof(mc_engine_api)) return api;
  const std::string why = entry == nullptr
                              ? " exports no mc_engine_entry"
                              : " does not serve version " + std::to_string(MC_ENGINE_ABI) + " of the engine ABI";
  ::dlclose(handle);
  throw Error(ErrorCode::kUnavailable, name + why, "build it against this version of Model Connect");
}

}  // namespace mconnect
