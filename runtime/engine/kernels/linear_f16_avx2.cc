// Compiled with -mavx2 -mfma -mf16c: nothing here may run before the CPU was asked for them.
#include <immintrin.h>

#include "runtime/engine/kernels/linear_f16.h"
#include "runtime/engine/kernels/linear_f16_tiles.h"

namespace mconnect::kernels {
namespace {

struct Avx2 {
  using Vec = __m256;
  static constexpr size_t kLanes = 8;
  static constexpr int kTileRows = 6;  // 12 accumulators, 2 vectors of weights and a broadcast of 16 registers
  static constexpr int kDotTileRows = 2;

  MCONNECT_INLINE static Vec Zero() { return _mm256_setzero_ps(); }
  MCONNECT_INLINE static Vec Load(const float* p) { return _mm256_loadu_ps(p); }
  MCONNECT_INLINE static void Store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
  MCONNECT_INLINE static Vec LoadF16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  MCONNECT_INLINE static float ScalarF16(uint16_t v) { return _cvtsh_ss(v); }
  MCONNECT_INLINE static Vec Broadcast(float v) { return _mm256_set1_ps(v); }
  MCONNECT_INLINE static Vec Fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  MCONNECT_INLINE static void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

  MCONNECT_INLINE static void Sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
    const Vec all = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
  }

  // Interleaved by elements, then by pairs, then the halves are exchanged.
  MCONNECT_INLINE static void TransposeF16(const uint16_t* w, size_t stride, float* out, size_t out_stride) {
    Vec a[8], b[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) a[i] = LoadF16(w + i * stride);
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
      b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
      b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
      a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
      a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
      a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Store(out + j * out_stride, _mm256_permute2f128_ps(a[j], a[4 + j], 0x20));
      Store(out + (j + 4) * out_stride, _mm256_permute2f128_ps(a[j], a[4 + j], 0x31));
    }
  }
};

}  // namespace

void LinearF16Avx2(const float* x, std::size_t rows, std::size_t inputs, const std::uint16_t* w, std::size_t outputs,
                   std::size_t begin, std::size_t end, float* y) {
  Linear<Avx2>(x, rows, inputs, w, outputs, begin, end, y);
}

}  // namespace mconnect::kernels
