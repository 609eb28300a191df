// Keeping OpenVINO from a fusion that costs more than it saves.
#ifndef MCONNECT_ENGINE_OPENVINO_GATED_LINEAR_H_
#define MCONNECT_ENGINE_OPENVINO_GATED_LINEAR_H_

#include <openvino/core/model.hpp>

namespace mconnect::openvino {

// Separates the linear from the activation in each act(x W^T) * y (SwiGLU, GeGLU) with f32 weights; returns how many.
//
// With an activation fused into it, OpenVINO's CPU plugin runs an f32 linear by oneDNN and no longer by MLAS. oneDNN
// packs the weights once for every range of row counts, so that a decoder holds them twice after its first prompt, and
// a prompt of 128 tokens takes 1.1 times as long (docs/performance.md). The Reshape put between changes no value.
int KeepGatesApart(ov::Model& model);

}  // namespace mconnect::openvino

#endif  // MCONNECT_ENGINE_OPENVINO_GATED_LINEAR_H_
