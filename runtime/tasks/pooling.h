// From the hidden states of a text's tokens to one vector.
#ifndef MCONNECT_TASKS_POOLING_H_
#define MCONNECT_TASKS_POOLING_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace mconnect {

enum class Pooling { kMean, kCls, kLast };

// "mean", "cls", "last". Throws Error(kCorrupt) for any other text.
Pooling ParsePooling(std::string_view name);

// Pools one row: `hidden` is [tokens, dimension] and `mask` [tokens], 1 for a token and 0 for padding. Writes `out`,
// [dimension]: the mean over the tokens, the first or the last of them; zeros when there is none.
// As in sentence-transformers' Pooling module.
void Pool(Pooling pooling, std::span<const float> hidden, std::span<const std::int64_t> mask, std::span<float> out);

// Scales to Euclidean length 1. A vector shorter than 1e-12 is divided by 1e-12, as torch.nn.functional.normalize does.
void Normalize(std::span<float> vector);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_POOLING_H_
