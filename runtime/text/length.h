// The length of encodings: "truncation" and "padding" of tokenizer.json.
#ifndef MCONNECT_TEXT_LENGTH_H_
#define MCONNECT_TEXT_LENGTH_H_

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

Truncation TruncationFromJson(const JsonView& json);
Padding PaddingFromJson(const JsonView& json);

// How many of the `first` tokens of a text and the `second` ones of its pair (0: it has none) remain, so that together
// with `special` tokens they keep to `truncation`. Throws Error(kInvalidArgument) when its strategy cannot do that.
std::pair<std::size_t, std::size_t> KeptTokens(const Truncation& truncation, std::size_t first, std::size_t second,
                                               bool pair, std::size_t special);

// The ranges [begin, end) of the windows of `size` tokens: of `limit` tokens each but the last one, which share
// `stride` tokens with their neighbours. The first one is at the end of the text if `left`. Throws
// Error(kInvalidArgument) unless the stride is less than the limit.
std::vector<std::pair<std::size_t, std::size_t>> Windows(std::size_t size, std::size_t limit, std::size_t stride,
                                                         bool left);

// Brings the encodings, and what is overflowing of them, to one length; `offsets`: they have some.
void Pad(const Padding& padding, bool offsets, std::span<Encoding> encodings);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_LENGTH_H_
