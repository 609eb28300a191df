// An engine library of another ABI version, for the loader's tests.
#include "runtime/engine/engine.h"

extern "C" const mc_engine_api* mc_engine_entry(uint32_t) {
  static const mc_engine_api api = [] {
    mc_engine_api a = {};
    a.abi = MC_ENGINE_ABI + 1;
    a.struct_size = sizeof(mc_engine_api);
    return a;
  }();
  return &api;
}
