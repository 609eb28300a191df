#include "runtime/text/length.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {
namespace {

constexpr std::int64_t kMaxLength = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMaxPadding = std::int64_t{1} << 22;  // tokens: what a file may make of the shortest text
constexpr std::size_t kMaxWindowed = std::size_t{1} << 24;   // tokens of all windows of a text

bool IsLeft(const JsonView& json) {
  const auto direction = json.Find("direction");
  if (!direction || direction->String() == "Right") return false;
  if (direction->String() != "Left") direction->Fail("unknown direction '" + direction->String() + "'");
  return true;
}

// Lengths of two texts of `first` and `second` tokens that together have `limit`: the longer one is cut first.
std::pair<std::size_t, std::size_t> LongestFirst(std::size_t first, std::size_t second, std::size_t limit) {
  std::size_t shorter = std::min(first, second);
  std::size_t longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

template <typename T>
void PadVector(std::size_t count, bool left, T value, std::vector<T>* values) {
  values->insert(left ? values->begin() : values->end(), count, value);
}

}  // namespace

Truncation TruncationFromJson(const JsonView& json) {
  Truncation truncation;
  truncation.max_tokens = static_cast<std::size_t>(json["max_length"].Int(0, kMaxLength));
  if (const auto stride = json.Find("stride")) truncation.stride = static_cast<std::size_t>(stride->Int(0, kMaxLength));
  truncation.left = IsLeft(json);
  const std::string& strategy = json["strategy"].String();
  if (strategy == "OnlyFirst") {
    truncation.strategy = Truncation::Strategy::kOnlyFirst;
  } else if (strategy == "OnlySecond") {
    truncation.strategy = Truncation::Strategy::kOnlySecond;
  } else if (strategy != "LongestFirst") {
    json["strategy"].Fail("unknown strategy '" + strategy + "'");
  }
  return truncation;
}

Padding PaddingFromJson(const JsonView& json) {
  Padding padding;
  const JsonView strategy = json["strategy"];
  if (strategy.json().is_string() && strategy.String() == "BatchLongest") {
    padding.to = Padding::To::kLongest;
  } else {
    padding.to = Padding::To::kFixed;
    padding.length = static_cast<std::size_t>(strategy["Fixed"].Int(0, kMaxPadding));
  }
  if (const auto multiple = json.Find("pad_to_multiple_of"); multiple && !multiple->IsNull()) {
    padding.multiple_of = static_cast<std::size_t>(multiple->Int(0, kMaxPadding));
  }
  padding.left = IsLeft(json);
  padding.id = static_cast<TokenId>(json["pad_id"].Int(0, kMaxLength));
  padding.type_id = static_cast<std::int32_t>(json["pad_type_id"].Int(0, kMaxLength));
  return padding;
}

std::pair<std::size_t, std::size_t> KeptTokens(const Truncation& truncation, std::size_t first, std::size_t second,
                                               bool pair, std::size_t special) {
  if (special > truncation.max_tokens) {
    throw Error(ErrorCode::kInvalidArgument,
                "max_tokens is " + std::to_string(truncation.max_tokens) + ", but the special tokens alone are " +
                    std::to_string(special),
                "allow more tokens, or encode without special tokens");
  }
  const std::size_t limit = truncation.max_tokens - special;
  if (first + second <= limit) return {first, second};
  if (truncation.strategy == Truncation::Strategy::kLongestFirst || limit == 0) {
    return pair ? LongestFirst(first, second, limit) : std::pair(limit, std::size_t{0});
  }
  const bool second_cut = truncation.strategy == Truncation::Strategy::kOnlySecond;
  const std::size_t cut_size = second_cut ? second : first;
  const std::size_t excess = first + second - limit;
  if (cut_size <= excess) {
    throw Error(ErrorCode::kInvalidArgument,
                "to keep to " + std::to_string(truncation.max_tokens) + " tokens, " + std::to_string(excess) +
                    " would have to go from the " + (second_cut ? "second" : "first") + " text alone, which has " +
                    std::to_string(cut_size),
                "allow more tokens, or shorten the other text");
  }
  return second_cut ? std::pair(first, second - excess) : std::pair(first - excess, second);
}

std::vector<std::pair<std::size_t, std::size_t>> Windows(std::size_t size, std::size_t limit, std::size_t stride,
                                                         bool left) {
  if (stride >= limit) {
    throw Error(ErrorCode::kInvalidArgument,
                "stride is " + std::to_string(stride) + ", but a window has " + std::to_string(limit) +
                    " tokens without special ones",
                "give a stride that is less");
  }
  const std::size_t count = size > limit ? (size - limit + limit - stride - 1) / (limit - stride) + 1 : 1;
  if (count > kMaxWindowed / limit) {
    throw Error(ErrorCode::kResourceExhausted,
                "a stride of " + std::to_string(stride) + " makes " + std::to_string(count) + " windows of " +
                    std::to_string(limit) + " tokens; at most " + std::to_string(kMaxWindowed) + " tokens are allowed",
                "give a smaller stride, or the text in parts");
  }
  std::vector<std::pair<std::size_t, std::size_t>> windows;
  windows.reserve(count);
  for (std::size_t done = 0;; done += limit - stride) {
    const std::size_t end = std::min(done + limit, size);
    windows.emplace_back(left ? std::pair(size - end, size - done) : std::pair(done, end));
    if (end == size) return windows;
  }
}

void Pad(const Padding& padding, bool offsets, std::span<Encoding> encodings) {
  if (padding.to == Padding::To::kNone || encodings.empty()) return;
  std::size_t length = padding.length;
  if (padding.to == Padding::To::kLongest) {
    length = 0;
    for (const Encoding& encoding : encodings) length = std::max(length, encoding.size());
  }
  if (padding.multiple_of > 0) length = (length + padding.multiple_of - 1) / padding.multiple_of * padding.multiple_of;
  for (Encoding& encoding : encodings) {
    Padding same = padding;  // of the windows
    same.to = Padding::To::kFixed;
    same.length = length;
    Pad(same, offsets, encoding.overflowing);
    if (encoding.size() >= length) continue;
    const std::size_t count = length - encoding.size();
    PadVector(count, padding.left, padding.id, &encoding.ids);
    PadVector(count, padding.left, padding.type_id, &encoding.type_ids);
    PadVector(count, padding.left, 0, &encoding.attention_mask);
    PadVector(count, padding.left, 1, &encoding.special_tokens_mask);
    if (!offsets) continue;
    PadVector(count, padding.left, Span{}, &encoding.byte_offsets);
    PadVector(count, padding.left, Span{}, &encoding.char_offsets);
  }
}

}  // namespace mconnect
