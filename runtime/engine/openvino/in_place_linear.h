// Linears that read their f16 weights where the bundle stores them.
#ifndef MCONNECT_ENGINE_OPENVINO_IN_PLACE_LINEAR_H_
#define MCONNECT_ENGINE_OPENVINO_IN_PLACE_LINEAR_H_

#include <openvino/core/model.hpp>

namespace mconnect::openvino {

// Replaces each linear x W^T whose W is f16 [outputs, inputs], expanded to f32, by one that runs on the project's own
// kernels (runtime/engine/kernels) and reads W in the memory that the constant points to; returns how many. Does
// nothing on a CPU for which there is no kernel.
//
// OpenVINO would pack W for few rows and once more for many, in private memory, and reads it at less than half the
// memory's speed when there is one row (docs/performance.md).
int ReadLinearsInPlace(ov::Model& model);

}  // namespace mconnect::openvino

#endif  // MCONNECT_ENGINE_OPENVINO_IN_PLACE_LINEAR_H_
