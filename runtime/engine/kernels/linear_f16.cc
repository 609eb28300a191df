#include "runtime/engine/kernels/linear_f16.h"

namespace mconnect::kernels {

LinearF16 BestLinearF16() noexcept {
  // The compiler's tests include what the operating system saves of the registers.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) return LinearF16Avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c")) {
    return LinearF16Avx2;
  }
  return nullptr;
}

}  // namespace mconnect::kernels
