#include "runtime/text/unicode_segmentation.h"

#include <array>
#include <cstdint>
#include <span>

#include "runtime/text/unicode.h"
#include "runtime/text/unicode_segmentation_tables.h"

namespace mconnect::unicode {
namespace {

// The numbers up to kConsonant are those of the table.
enum Class : std::uint8_t {
  kOther,
  kControl,
  kExtend,
  kZwj,
  kLinker,  // extends, and links consonants of Indic scripts
  kSpacingMark,
  kPrepend,
  kPictographic,
  kConsonant,
  kCr,
  kLf,
  kRegional,
  kLeading,  // Hangul: leading consonants, vowels, trailing consonants, and syllables
  kVowel,
  kTrailing,
  kSyllableLv,
  kSyllableLvt,
};

// A map of code points below kDense to classes, from sorted (begin, end, class) triples.
class ClassMap {
 public:
  explicit ClassMap(std::span<const char32_t> triples) : triples_(triples) {
    for (std::size_t i = 0; i < triples.size(); i += 3) {
      for (char32_t c = triples[i]; c < triples[i + 1] && c < kDense; ++c) {
        dense_[c] = static_cast<std::uint8_t>(triples[i + 2]);
      }
    }
  }

  std::uint8_t operator()(char32_t c) const {
    if (c < kDense) return dense_[c];
    for (std::size_t i = triples_.size(); i > 0; i -= 3) {  // few lie above
      if (c >= triples_[i - 3]) return c < triples_[i - 2] ? static_cast<std::uint8_t>(triples_[i - 1]) : 0;
    }
    return 0;
  }

 private:
  static constexpr char32_t kDense = 0x20000;
  std::span<const char32_t> triples_;
  std::array<std::uint8_t, kDense> dense_ = {};
};

Class HangulClass(char32_t c) {
  if (c >= 0xAC00 && c < 0xD7A4) return (c - 0xAC00) % 28 == 0 ? kSyllableLv : kSyllableLvt;
  if ((c >= 0x1100 && c < 0x1160) || (c >= 0xA960 && c < 0xA97D)) return kLeading;
  if ((c >= 0x1160 && c < 0x11A8) || (c >= 0xD7B0 && c < 0xD7C7)) return kVowel;
  if ((c >= 0x11A8 && c < 0x1200) || (c >= 0xD7CB && c < 0xD7FC)) return kTrailing;
  return kOther;
}

Class ClassOf(char32_t c) {
  static const ClassMap& classes = *new ClassMap(unicode_tables::kClusterClass);
  if (c == U'\r') return kCr;
  if (c == U'\n') return kLf;
  if (c >= 0x1F1E6 && c < 0x1F200) return kRegional;
  const auto known = static_cast<Class>(classes(c));
  return known == kOther ? HangulClass(c) : known;
}

// What a cluster has seen that decides whether it goes on.
struct Seen {
  Class last;
  bool emoji;   // a pictographic and extends
  bool joined;  // and then a ZWJ
  bool indic;   // a consonant and extends
  bool linked;  // with a linker among them
  bool flag;    // an odd number of regional indicators
};

bool GoesOn(const Seen& seen, Class next) {
  switch (seen.last) {
    case kCr:
      return next == kLf;
    case kLf:
    case kControl:
      return false;
    default:
      break;
  }
  switch (next) {
    case kCr:
    case kLf:
    case kControl:
      return false;
    case kExtend:
    case kZwj:
    case kLinker:
    case kSpacingMark:
      return true;
    default:
      break;
  }
  if (seen.last == kPrepend) return true;
  if (seen.last == kLeading && (next == kLeading || next == kVowel || next == kSyllableLv || next == kSyllableLvt)) {
    return true;
  }
  if ((seen.last == kSyllableLv || seen.last == kVowel) && (next == kVowel || next == kTrailing)) return true;
  if ((seen.last == kSyllableLvt || seen.last == kTrailing) && next == kTrailing) return true;
  if (next == kConsonant && seen.linked) return true;
  if (next == kPictographic && seen.joined) return true;
  return next == kRegional && seen.flag;
}

Seen Next(const Seen& seen, Class next) {
  const bool extends = next == kExtend || next == kZwj || next == kLinker;
  return {.last = next,
          .emoji = next == kPictographic || (seen.emoji && next == kExtend) || (seen.emoji && next == kLinker),
          .joined = seen.emoji && next == kZwj,
          .indic = next == kConsonant || (seen.indic && extends),
          .linked = seen.indic && extends && (seen.linked || next == kLinker),
          .flag = next == kRegional && !seen.flag};
}

}  // namespace

std::size_t ClusterEnd(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  Seen seen = Next(Seen{}, ClassOf(Next(text, &end)));
  while (end < text.size()) {
    std::size_t at = end;
    const Class next = ClassOf(Next(text, &at));
    if (!GoesOn(seen, next)) break;
    seen = Next(seen, next);
    end = at;
  }
  return end;
}

int Script(char32_t c) {
  static const ClassMap& scripts = *new ClassMap(unicode_tables::kScript);
  return scripts(c);
}

}  // namespace mconnect::unicode
