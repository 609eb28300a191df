// Compiled with -mavx512f -mavx512dq -mfma -mf16c: nothing here may run before the CPU was asked for them.
#include <immintrin.h>

#include "runtime/engine/kernels/linear_f16.h"
#include "runtime/engine/kernels/linear_f16_tiles.h"

namespace mconnect::kernels {
namespace {

struct Avx512 {
  using Vec = __m512;
  static constexpr size_t kLanes = 16;
  static constexpr int kTileRows = 12;  // 24 accumulators, 2 vectors of weights and a broadcast of 32 registers
  static constexpr int kDotTileRows = 6;

  MCONNECT_INLINE static Vec Zero() { return _mm512_setzero_ps(); }
  MCONNECT_INLINE static Vec Load(const float* p) { return _mm512_loadu_ps(p); }
  MCONNECT_INLINE static void Store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
  MCONNECT_INLINE static Vec LoadF16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  MCONNECT_INLINE static float ScalarF16(uint16_t v) { return _cvtsh_ss(v); }
  MCONNECT_INLINE static Vec Broadcast(float v) { return _mm512_set1_ps(v); }
  MCONNECT_INLINE static Vec Fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  MCONNECT_INLINE static void Prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

  MCONNECT_INLINE static void Sum4(Vec a, Vec b, Vec c, Vec d, float* out) {
    const Vec ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const Vec cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    const Vec all = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
                                  _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    _mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
  }

  // Pairs of rows are interleaved by elements, then by pairs of elements, then by blocks of four, twice.
  MCONNECT_INLINE static void TransposeF16(const uint16_t* w, size_t stride, float* out, size_t out_stride) {
    Vec a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) a[i] = LoadF16(w + i * stride);
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
      b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
      b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      const __m512d low0 = _mm512_castps_pd(b[i]), low1 = _mm512_castps_pd(b[i + 2]);
      const __m512d high0 = _mm512_castps_pd(b[i + 1]), high1 = _mm512_castps_pd(b[i + 3]);
      a[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(low0, low1));
      a[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low0, low1));
      a[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high0, high1));
      a[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high0, high1));
    }
    // a[4 i + j]: columns j, j + 4, j + 8, j + 12 of rows 4 i ... 4 i + 3.
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const Vec low0 = _mm512_shuffle_f32x4(a[j], a[4 + j], 0x44),
                low1 = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0x44);
      const Vec high0 = _mm512_shuffle_f32x4(a[j], a[4 + j], 0xee),
                high1 = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0xee);
      Store(out + j * out_stride, _mm512_shuffle_f32x4(low0, low1, 0x88));
      Store(out + (j + 4) * out_stride, _mm512_shuffle_f32x4(low0, low1, 0xdd));
      Store(out + (j + 8) * out_stride, _mm512_shuffle_f32x4(high0, high1, 0x88));
      Store(out + (j + 12) * out_stride, _mm512_shuffle_f32x4(high0, high1, 0xdd));
    }
  }
};

}  // namespace

void LinearF16Avx512(const float* x, std::size_t rows, std::size_t inputs, const std::uint16_t* w, std::size_t outputs,
                     std::size_t begin, std::size_t end, float* y) {
  Linear<Avx512>(x, rows, inputs, w, outputs, begin, end, y);
}

}  // namespace mconnect::kernels
