// Linear layers on f16 weights that stay as the checkpoint stores them: nothing is repacked, nothing is copied.
//
// An engine that packs weights into a layout of its own holds them once more in private memory, and does so at every
// start. These kernels read the rows [outputs, inputs] of a mapped safetensors file as they are: the memory is the
// file's own pages, shared by all processes that map it.
#ifndef MCONNECT_ENGINE_KERNELS_LINEAR_F16_H_
#define MCONNECT_ENGINE_KERNELS_LINEAR_F16_H_

#include <cstddef>
#include <cstdint>

namespace mconnect::kernels {

// y[m, n] = sum over k of x[m, k] * w[n, k], accumulated in f32, for all m and for n in [begin, end).
//
// x: f32 [rows, inputs]. w: f16 (IEEE binary16) [outputs, inputs], all of it, 2-byte aligned. y: f32 [rows, outputs];
// columns outside [begin, end) are neither read nor written, so that threads may share the outputs among them.
// The sum's order depends on the CPU's vector width and on whether rows is above 8, never on begin and end.
using LinearF16 = void (*)(const float* x, std::size_t rows, std::size_t inputs, const std::uint16_t* w,
                           std::size_t outputs, std::size_t begin, std::size_t end, float* y);

// The best kernel that this CPU runs (AVX-512, or AVX2 with FMA and F16C); null where it has neither.
LinearF16 BestLinearF16() noexcept;

// Each by name, for tests; calling one that the CPU lacks is an illegal instruction.
void LinearF16Avx2(const float* x, std::size_t rows, std::size_t inputs, const std::uint16_t* w, std::size_t outputs,
                   std::size_t begin, std::size_t end, float* y);
void LinearF16Avx512(const float* x, std::size_t rows, std::size_t inputs, const std::uint16_t* w, std::size_t outputs,
                     std::size_t begin, std::size_t end, float* y);

}  // namespace mconnect::kernels

#endif  // MCONNECT_ENGINE_KERNELS_LINEAR_F16_H_
