// The engine "openvino": modules on the CPU.
//
// An artifact is an IR (.xml) whose constants point into the weights, at offsets from the weights' beginning. Weights
// are not copied by reading: while OpenVINO packs them, their pages are given back (see residency.h), so that the peak
// is about one copy of the weights.
//
// OpenVINO's CPU plugin is looked for when the first variant is opened: in the folder $MCONNECT_OPENVINO_PLUGINS where
// that is set, else beside libopenvino. Precision "bf16" becomes "f32" on a CPU without bf16 arithmetic; the key/value
// cache has the precision of the arithmetic.
#ifndef MCONNECT_ENGINE_OPENVINO_OPENVINO_ENGINE_H_
#define MCONNECT_ENGINE_OPENVINO_OPENVINO_ENGINE_H_

#include "runtime/engine/engine.h"

namespace mconnect {

const mc_engine_api* OpenVinoEngine() noexcept;

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_OPENVINO_OPENVINO_ENGINE_H_
