// The engines of this process.
#ifndef MCONNECT_API_ENGINES_H_
#define MCONNECT_API_ENGINES_H_

#include <vector>

#include "runtime/engine/engine.h"

namespace mconnect {

// OpenVINO, which is built in, then the engine libraries that $MCONNECT_ENGINES names (paths separated by ':'). Each
// library is loaded once. Throws the Error of one that cannot be: who names an engine wants it.
std::vector<const mc_engine_api*> Engines();

}  // namespace mconnect

#endif  // MCONNECT_API_ENGINES_H_
