// The "normalizer" of tokenizer.json.
#ifndef MCONNECT_TEXT_NORMALIZER_H_
#define MCONNECT_TEXT_NORMALIZER_H_

#include <memory>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"
#include "runtime/text/regex.h"

namespace mconnect {

// What one thread needs to normalize and split a text. Results point into `arena`.
struct TextScratch {
  TextArena arena;
  Regex::Scratch regex;
  std::vector<Change> changes;
  std::vector<Match> matches;
  std::vector<Piece> pieces;
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual AlignedText Normalize(const AlignedText& text, TextScratch* scratch) const = 0;

  // Throws Error(kUnsupported) naming a type that is not BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD,
  // Nmt, Precompiled, Prepend, Replace, Sequence, Strip or StripAccents.
  static std::unique_ptr<const Normalizer> FromJson(const JsonView& json);
};

// The "pattern" of Replace and Split: {"String": ...} or {"Regex": ...}.
Regex RegexFromJson(const JsonView& pattern);

// Every byte as the printable character that byte-level vocabularies write it with.
AlignedText ByteLevelText(const AlignedText& text, TextScratch* scratch);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_NORMALIZER_H_
