// The normalizer "Precompiled": SentencePiece's table of replacements.
#ifndef MCONNECT_TEXT_PRECOMPILED_H_
#define MCONNECT_TEXT_PRECOMPILED_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/normalizer.h"

namespace mconnect {

// The strings to replace are in a double-array trie (darts-clone) that leads to their replacements.
class PrecompiledNormalizer : public Normalizer {
 public:
  // Reads "precompiled_charsmap", in base64: the trie's size in bytes as 32 bits, its units of 32 bits, all
  // little-endian, and the replacements, each with a NUL after it. Throws Error(kCorrupt).
  explicit PrecompiledNormalizer(const JsonView& json);

  // As in the reference, a grapheme cluster of fewer than six bytes that a key begins becomes that key's replacement
  // as a whole; of other clusters each code point is looked up.
  AlignedText Normalize(const AlignedText& text, TextScratch* scratch) const override;

 private:
  // The replacement of the shortest key that `text` begins with.
  std::optional<std::string_view> Find(std::string_view text) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
  std::array<bool, 128> ascii_stays_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_PRECOMPILED_H_
