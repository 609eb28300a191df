#include "runtime/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "runtime/text/unicode_tables.h"

namespace mconnect::unicode {
namespace {

// Membership in sorted half-open ranges begin, end, begin, end, ...: an odd number of borders lies at or before a
// member.
template <std::size_t N>
bool Contains(const char32_t (&borders)[N], char32_t c) {
  return (std::upper_bound(std::begin(borders), std::end(borders), c) - std::begin(borders)) % 2 == 1;
}

// Length of the maximal well-formed part of one code point at text[0], and whether it is complete (Unicode 15, table
// 3-7).
struct Part {
  std::size_t size;
  bool complete;
};

Part ScanOne(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (std::size_t i = 1; i < size; ++i) {
    if (i >= text.size() || byte(i) < (i == 1 ? low : 0x80) || byte(i) > (i == 1 ? high : 0xBF)) return {i, false};
  }
  return {size, true};
}

}  // namespace

char32_t Next(std::string_view text, std::size_t* position) {
  const auto byte = [&](std::size_t i) -> char32_t { return static_cast<unsigned char>(text[*position + i]); };
  const char32_t lead = byte(0);
  char32_t c;
  std::size_t size;
  if (lead < 0x80) {
    c = lead, size = 1;
  } else if (lead < 0xE0) {
    c = (lead & 0x1F) << 6 | (byte(1) & 0x3F), size = 2;
  } else if (lead < 0xF0) {
    c = (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), size = 3;
  } else {
    c = (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F), size = 4;
  }
  *position += size;
  return c;
}

char32_t Previous(std::string_view text, std::size_t* position) {
  do {
    --*position;
  } while (IsContinuationByte(text[*position]));
  std::size_t copy = *position;
  return Next(text, &copy);
}

void AppendUtf8(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | c >> 6));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | c >> 12));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out->push_back(static_cast<char>(0xF0 | c >> 18));
    out->push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out->push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

std::size_t CountChars(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char b) { return !IsContinuationByte(b); }));
}

bool IsAscii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080;
  std::uint64_t any = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t bytes;
    std::memcpy(&bytes, text.data(), 8);
    any |= bytes;
  }
  for (const char b : text) any |= static_cast<unsigned char>(b);
  return (any & kHighBits) == 0;
}

std::size_t IncompleteSuffix(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(3, text.size()); ++size) {
    const std::string_view suffix = text.substr(text.size() - size);
    if (IsContinuationByte(suffix[0])) continue;
    const Part part = ScanOne(suffix);
    const bool begins = static_cast<unsigned char>(suffix[0]) >= 0xC2 && static_cast<unsigned char>(suffix[0]) <= 0xF4;
    return begins && !part.complete && part.size == size ? size : 0;
  }
  return 0;
}

std::optional<std::string> Repair(std::string_view text) {
  if (IsAscii(text)) return std::nullopt;
  std::size_t position = 0;
  while (position < text.size()) {
    if (static_cast<unsigned char>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const Part part = ScanOne(text.substr(position));
    if (!part.complete) break;
    position += part.size;
  }
  if (position == text.size()) return std::nullopt;
  std::string repaired(text.substr(0, position));
  while (position < text.size()) {
    const Part part = ScanOne(text.substr(position));
    repaired += part.complete ? text.substr(position, part.size) : std::string_view("\uFFFD");
    position += part.size;
  }
  return repaired;
}

bool IsWhitespace(char32_t c) {
  if (c < 0x85) return c == ' ' || (c >= '\t' && c <= '\r');
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsPunctuation(char32_t c) { return Contains(unicode_tables::kPunctuation, c); }
bool IsNumeric(char32_t c) { return Contains(unicode_tables::kNumeric, c); }
bool IsWord(char32_t c) { return Contains(unicode_tables::kWord, c); }
bool IsControl(char32_t c) { return Contains(unicode_tables::kControl, c); }
bool IsNonspacingMark(char32_t c) { return c >= 0x300 && Contains(unicode_tables::kNonspacingMark, c); }
bool IsCombiningMark(char32_t c) { return c >= 0x300 && Contains(unicode_tables::kCombiningMark, c); }

bool IsCjk(char32_t c) {
  return c >= 0x3400 && ((c >= 0x4E00 && c <= 0x9FFF) || c <= 0x4DBF || (c >= 0x20000 && c <= 0x2A6DF) ||
                         (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
                         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F));
}

void AppendLowercase(char32_t c, std::u32string* out) {
  if (c < 0x80) {
    out->push_back(c >= 'A' && c <= 'Z' ? c + 0x20 : c);
    return;
  }
  if (c == 0x130) {  // LATIN CAPITAL LETTER I WITH DOT ABOVE
    *out += {U'i', 0x307};
    return;
  }
  const auto& differences = unicode_tables::kLowercase;
  for (std::size_t i = 0; i < std::size(differences); i += 3) {
    if (c >= static_cast<char32_t>(differences[i]) && c <= static_cast<char32_t>(differences[i + 1])) {
      out->push_back(c + static_cast<char32_t>(differences[i + 2]));
      return;
    }
  }
  out->push_back(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

int CombiningClass(char32_t c) {
  if (c < 0x300) return 0;
  const int combining_class = utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class;
  return combining_class != 0 && Contains(unicode_tables::kNotNormalized, c) ? 0 : combining_class;
}

void AppendDecomposition(char32_t c, bool compatible, std::u32string* out) {
  if (c < 0xA0 || Contains(unicode_tables::kNotNormalized, c)) {
    out->push_back(c);
    return;
  }
  std::array<utf8proc_int32_t, 32> buffer;  // the longest, of U+FDFA, has 18
  const int options = UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0);
  const utf8proc_ssize_t size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), buffer.data(), buffer.size(),
                              static_cast<utf8proc_option_t>(options), /*last_boundclass=*/nullptr);
  for (utf8proc_ssize_t i = 0; i < size; ++i)
    out->push_back(static_cast<char32_t>(buffer[static_cast<std::size_t>(i)]));
}

std::optional<char32_t> Compose(char32_t first, char32_t second) {
  if (second < 0x300) return std::nullopt;
  std::array<utf8proc_int32_t, 3> buffer = {static_cast<utf8proc_int32_t>(first),
                                            static_cast<utf8proc_int32_t>(second)};  // the third takes a terminator
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  if (utf8proc_normalize_utf32(buffer.data(), 2, options) != 1) return std::nullopt;
  const auto composite = static_cast<char32_t>(buffer[0]);
  return Contains(unicode_tables::kNotNormalized, composite) ? std::nullopt : std::optional(composite);
}

bool IsInertForNfc(char32_t c) {
  // Latin, Cyrillic without historic letters and marks, kana without voiced marks, Han, Hangul syllables (whose vowels
  // and finals, U+1161 to U+11C2, are not inert).
  return c < 0x300 || (c >= 0x400 && c < 0x482) || (c >= 0x5D0 && c < 0x5EB) || (c >= 0x621 && c < 0x640) ||
         (c >= 0xE00 && c < 0xE2F) || (c >= 0x1E00 && c < 0x1E9B) || (c >= 0x2010 && c < 0x2028) ||
         (c >= 0x3000 && c < 0x302A) || (c >= 0x3041 && c < 0x3097) || (c >= 0x30A1 && c < 0x30FF) ||
         (c >= 0x3400 && c < 0xA000) || (c >= 0xAC00 && c < 0xD7A4) || (c >= 0xFF00 && c < 0xFFEF) ||
         (c >= 0x1F300 && c < 0x1FA00);
}

char32_t RegexStandIn(char32_t c) {
  struct Range {
    char32_t begin, end, stand_in;
  };
  static constexpr auto kRanges = [] {
    std::array<Range, std::size(unicode_tables::kRegexStandIns) / 3> ranges{};
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const char32_t* triple = unicode_tables::kRegexStandIns + 3 * i;
      ranges[i] = {triple[0], triple[1], triple[2]};
    }
    return ranges;
  }();
  const auto after = std::ranges::upper_bound(kRanges, c, {}, &Range::begin);
  return after != kRanges.begin() && c < std::prev(after)->end ? std::prev(after)->stand_in : c;
}

}  // namespace mconnect::unicode
