// Places where a text can be cut so that its parts, tokenized one by one, have the tokens of the whole.
#ifndef MCONNECT_TEXT_SAFE_CUTS_H_
#define MCONNECT_TEXT_SAFE_CUTS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"
#include "runtime/text/normalizer.h"

namespace mconnect {

// Words recur, so that the tokens of a part can be looked up. All rules follow from tokenizer.json:
//
// * A text may be cut before a space behind a "solid" character (a letter, mark, digit or punctuation; ASCII: all that
// is
//   visible): no pattern of byte-level tokenizers goes from such a one to a space, pre-tokenizers for words cut there,
//   SentencePiece's pieces begin there, and no merge of its BPE joins the two (which the list of merges shows).
// * Byte-level and SentencePiece's BPE: also behind a single line feed between a solid character and an ASCII letter.
//
// What is not known to keep to these rules has none.
class SafeCuts {
 public:
  // `json`: the tokenizer.json; `normalizer`: what it describes, or null.
  static std::optional<SafeCuts> Of(const JsonView& json, const Normalizer* normalizer);

  // The first place behind `at` where the text can be cut: its end at last.
  std::size_t Next(std::string_view text, std::size_t at) const;

  // What a part begins with in normalized text, which no added token may go across.
  std::span<const std::string_view> starts() const;

  // Null: the tokenizer's normalizer normalizes all parts. Else the one for all but the first part, in front of which
  // the tokenizer's puts something.
  const Normalizer* inner_normalizer() const noexcept { return inner_.get(); }

  // Where normalization may move or drop the end of a part: did it leave that in place in `normalized`, which is the
  // part of the original that ends at `end`?
  bool EndStays(const AlignedText& normalized, std::size_t end) const;

 private:
  enum class Kind { kBytes, kWords, kSentencePieceBpe, kMetaspace };

  SafeCuts(Kind kind, const JsonView& json, const Normalizer* normalizer);

  bool IsSolidBefore(std::string_view text, std::size_t at) const;
  bool Forbid(const JsonView& model);  // false: no rule
  static const std::bitset<0x10000>& SolidChars();

  Kind kind_;
  bool at_line_feed_ = false;      // may a part begin with a line feed, as with a space?
  bool behind_line_feed_ = false;  // may a part begin behind a line feed?
  std::array<bool, 128> solid_ = {};
  std::shared_ptr<const Normalizer> inner_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_SAFE_CUTS_H_
