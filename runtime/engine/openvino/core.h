// The process's OpenVINO: core, CPU plugin and conversions.
#ifndef MCONNECT_ENGINE_OPENVINO_CORE_H_
#define MCONNECT_ENGINE_OPENVINO_CORE_H_

#include <openvino/runtime/core.hpp>
#include <string>
#include <string_view>

#include "mconnect/dtype.h"

namespace mconnect::openvino {

struct Cpu {
  ov::Core core;
  std::string device;  // the name under which the CPU plugin is registered
  std::string name;    // the processor's
  bool bf16 = false;   // has arithmetic for it
};

// Loads the CPU plugin at the first call. Throws Error(kUnavailable) that says where it was looked for; a later call
// tries again.
Cpu& GetCpu();

// "2026.4.1". Needs no plugin.
const std::string& Version();

// Throw Error(kUnsupported) for a type that the other side does not have.
DType FromOpenVino(ov::element::Type type);
ov::element::Type ToOpenVino(DType dtype);

// What OpenVINO says in `what()`, without the lines that name its source files.
std::string Explanation(std::string_view what);

}  // namespace mconnect::openvino

#endif  // MCONNECT_ENGINE_OPENVINO_CORE_H_
