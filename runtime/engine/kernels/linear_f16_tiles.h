// The algorithm of LinearF16, for any vector width. Included by one file for each instruction set, which is compiled
// for it: so this header includes nothing that holds inline functions, of which the linker would keep one copy for all.
//
// Isa: kLanes; kTileRows and kDotTileRows, the rows of a panel's and of a dot product's tile that fill the registers;
// Vec; Zero(), Load(const float*), Store(float*, Vec), LoadF16(const uint16_t*), ScalarF16(uint16_t), Broadcast(float),
// Fma(a, b, c) = a * b + c, Prefetch(const void*), Sum4(a, b, c, d, float out[4]), the sum of the lanes of each, and
// TransposeF16(w, stride, out, out_stride): kLanes x kLanes values as f32, column by column.
#ifndef MCONNECT_ENGINE_KERNELS_LINEAR_F16_TILES_H_
#define MCONNECT_ENGINE_KERNELS_LINEAR_F16_TILES_H_

#include <stddef.h>
#include <stdint.h>

namespace mconnect::kernels {
namespace {

#define MCONNECT_INLINE inline __attribute__((always_inline))

constexpr size_t kLineValues = 64 / sizeof(uint16_t);  // weights in a line of the cache

// Few rows: each output is a dot product along the stored row. Up to this many, expanding a panel costs more than it
// saves.
constexpr size_t kDotRows = 48;

// Rows of weights read side by side: their accumulators hide the latency of the multiply-add.
constexpr size_t kDotColumns = 4;

// Bytes of weights that stay in the second-level cache while all rows of x pass over them.
constexpr size_t kDotBlockBytes = 128 << 10;

// Rows of the next tile where `rows` are left and a tile holds `most`: even tiles, since one of few rows waits for
// latency.
MCONNECT_INLINE size_t TileRows(size_t rows, size_t most) {
  const size_t tiles = (rows + most - 1) / most;
  return (rows + tiles - 1) / tiles;
}

// kRows x kColumns outputs. The stored rows are too short for the hardware's own prefetching: where `ahead`, the lines
// of the next tile are asked for here.
template <class Isa, int kRows, int kColumns>
MCONNECT_INLINE void DotTile(const float* x, size_t inputs, const uint16_t* w, size_t outputs, bool ahead, float* y) {
  typename Isa::Vec sums[kRows][kColumns];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n) sums[m][n] = Isa::Zero();
  }
  size_t k = 0;
  for (; k + Isa::kLanes <= inputs; k += Isa::kLanes) {
    typename Isa::Vec weights[kColumns];
#pragma GCC unroll 8
    for (int n = 0; n < kColumns; ++n) {
      if (ahead && k % kLineValues == 0) Isa::Prefetch(w + (n + kColumns) * inputs + k);
      weights[n] = Isa::LoadF16(w + n * inputs + k);
    }
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const typename Isa::Vec values = Isa::Load(x + m * inputs + k);
#pragma GCC unroll 8
      for (int n = 0; n < kColumns; ++n) sums[m][n] = Isa::Fma(values, weights[n], sums[m][n]);
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
    float out[4];
    if constexpr (kColumns == 4) {
      Isa::Sum4(sums[m][0], sums[m][1], sums[m][2], sums[m][3], out);
    } else {
      static_assert(kColumns == 1);
      Isa::Sum4(sums[m][0], Isa::Zero(), Isa::Zero(), Isa::Zero(), out);
    }
    for (int n = 0; n < kColumns; ++n) {
      for (size_t i = k; i < inputs; ++i) out[n] += x[m * inputs + i] * Isa::ScalarF16(w[n * inputs + i]);
      y[m * outputs + n] = out[n];
    }
  }
}

// kRows rows of outputs, columns [begin, end).
template <class Isa, int kRows>
void DotRows(const float* x, size_t inputs, const uint16_t* w, size_t outputs, size_t begin, size_t end, bool ahead,
             float* y) {
  size_t n = begin;
  for (; n + kDotColumns <= end; n += kDotColumns) {
    const bool more = ahead && n + 2 * kDotColumns <= outputs;
    DotTile<Isa, kRows, kDotColumns>(x, inputs, w + n * inputs, outputs, more, y + n);
  }
  for (; n < end; ++n) DotTile<Isa, kRows, 1>(x, inputs, w + n * inputs, outputs, false, y + n);
}

// `rows` rows of outputs, at most kRows.
template <class Isa, int kRows = Isa::kDotTileRows>
MCONNECT_INLINE void DotSomeRows(const float* x, size_t rows, size_t inputs, const uint16_t* w, size_t outputs,
                                 size_t begin, size_t end, bool ahead, float* y) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return DotSomeRows<Isa, kRows - 1>(x, rows, inputs, w, outputs, begin, end, ahead, y);
  }
  DotRows<Isa, kRows>(x, inputs, w, outputs, begin, end, ahead, y);
}

template <class Isa>
void Dot(const float* x, size_t rows, size_t inputs, const uint16_t* w, size_t outputs, size_t begin, size_t end,
         float* y) {
  size_t block = kDotBlockBytes / (inputs * sizeof(uint16_t) + 1) / kDotColumns * kDotColumns;
  if (block < kDotColumns) block = kDotColumns;
  for (size_t n = begin; n < end; n += block) {
    const size_t stop = end - n < block ? end : n + block;
    for (size_t m = 0; m < rows;) {
      const size_t count = TileRows(rows - m, Isa::kDotTileRows);
      DotSomeRows<Isa>(x + m * inputs, count, inputs, w, outputs, n, stop, m == 0, y + m * outputs);
      m += count;
    }
  }
}

// Many rows: a panel of weights, expanded to f32 and transposed, stays in the second-level cache for all of them.
constexpr size_t kPanelInputs = 384;

// One tile of kRows x 2 vectors of outputs, over `inputs` of the panel [inputs, 2 * kLanes]; y has a row stride.
template <class Isa, int kRows>
MCONNECT_INLINE void PanelTile(const float* x, size_t x_stride, size_t inputs, const float* panel, bool first, float* y,
                               size_t y_stride) {
  typename Isa::Vec sums[kRows][2];
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
    sums[m][0] = first ? Isa::Zero() : Isa::Load(y + m * y_stride);
    sums[m][1] = first ? Isa::Zero() : Isa::Load(y + m * y_stride + Isa::kLanes);
  }
  for (size_t k = 0; k < inputs; ++k) {
    const typename Isa::Vec left = Isa::Load(panel + k * 2 * Isa::kLanes);
    const typename Isa::Vec right = Isa::Load(panel + k * 2 * Isa::kLanes + Isa::kLanes);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const typename Isa::Vec value = Isa::Broadcast(x[m * x_stride + k]);
      sums[m][0] = Isa::Fma(value, left, sums[m][0]);
      sums[m][1] = Isa::Fma(value, right, sums[m][1]);
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
    Isa::Store(y + m * y_stride, sums[m][0]);
    Isa::Store(y + m * y_stride + Isa::kLanes, sums[m][1]);
  }
}

// `rows` rows of outputs, at most kRows.
template <class Isa, int kRows = Isa::kTileRows>
MCONNECT_INLINE void PanelSomeRows(const float* x, size_t rows, size_t x_stride, size_t inputs, const float* panel,
                                   bool first, float* y, size_t y_stride) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return PanelSomeRows<Isa, kRows - 1>(x, rows, x_stride, inputs, panel, first, y, y_stride);
  }
  PanelTile<Isa, kRows>(x, x_stride, inputs, panel, first, y, y_stride);
}

template <class Isa>
void PanelRows(const float* x, size_t rows, size_t x_stride, size_t inputs, const float* panel, bool first, float* y,
               size_t y_stride) {
  for (size_t m = 0; m < rows;) {
    const size_t count = TileRows(rows - m, Isa::kTileRows);
    PanelSomeRows<Isa>(x + m * x_stride, count, x_stride, inputs, panel, first, y + m * y_stride, y_stride);
    m += count;
  }
}

// Expands w[0...2 * kLanes, 0...inputs], of row stride `stride`, into panel [inputs, 2 * kLanes]. `ahead`: as for
// DotTile.
template <class Isa>
void FillPanel(const uint16_t* w, size_t stride, size_t inputs, bool ahead, float* panel) {
  constexpr size_t kLanes = Isa::kLanes, kWidth = 2 * kLanes;
  size_t k = 0;
  for (; k + kLanes <= inputs; k += kLanes) {
    if (ahead && k % kLineValues == 0) {
      for (size_t n = 0; n < kWidth; ++n) Isa::Prefetch(w + (n + kWidth) * stride + k);
    }
    Isa::TransposeF16(w + k, stride, panel + k * kWidth, kWidth);
    Isa::TransposeF16(w + kLanes * stride + k, stride, panel + k * kWidth + kLanes, kWidth);
  }
  for (; k < inputs; ++k) {
    for (size_t n = 0; n < kWidth; ++n) panel[k * kWidth + n] = Isa::ScalarF16(w[n * stride + k]);
  }
}

template <class Isa>
void Linear(const float* x, size_t rows, size_t inputs, const uint16_t* w, size_t outputs, size_t begin, size_t end,
            float* y) {
  constexpr size_t kWidth = 2 * Isa::kLanes;
  if (rows > kDotRows) {
    alignas(64) static thread_local float panel[kPanelInputs * kWidth];
    for (; begin + kWidth <= end; begin += kWidth) {
      const bool ahead = begin + 2 * kWidth <= outputs;
      for (size_t k = 0; k < inputs; k += kPanelInputs) {
        const size_t depth = inputs - k < kPanelInputs ? inputs - k : kPanelInputs;
        FillPanel<Isa>(w + begin * inputs + k, inputs, depth, ahead, panel);
        PanelRows<Isa>(x + k, rows, inputs, depth, panel, k == 0, y + begin, outputs);
      }
    }
  }
  Dot<Isa>(x, rows, inputs, w, outputs, begin, end, y);  // few rows, or what is no whole panel wide
}

}  // namespace
}  // namespace mconnect::kernels

#endif  // MCONNECT_ENGINE_KERNELS_LINEAR_F16_TILES_H_
