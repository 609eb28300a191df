#include "runtime/text/template/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "runtime/text/template/case_tables.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

utf8proc_category_t Category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

// Membership in sorted half-open ranges: an odd number of borders lies at or before a member.
template <std::size_t N>
bool Contains(const char32_t (&borders)[N], char32_t c) {
  return (std::upper_bound(std::begin(borders), std::end(borders), c) - std::begin(borders)) % 2 == 1;
}

template <std::size_t N>
const case_tables::Expansion* Find(const case_tables::Expansion (&table)[N], char32_t c) {
  const auto* found = std::ranges::lower_bound(table, c, {}, &case_tables::Expansion::from);
  return found != std::end(table) && found->from == c ? found : nullptr;
}

constexpr char32_t kSigma = 0x3A3;

// Case_Ignorable, but for characters that stand beside no sigma.
bool IsCaseIgnorable(char32_t c) {
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      constexpr std::u32string_view kMidWord =
          U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A";
      return kMidWord.find(c) != kMidWord.npos;
  }
}

// Does the sigma at `begin` end a word (Unicode's Final_Sigma)?
bool IsFinalSigma(const std::string& text, std::size_t begin, std::size_t end) {
  char32_t c = 0;
  do {
    if (begin == 0) return false;
    c = unicode::Previous(text, &begin);
  } while (IsCaseIgnorable(c));
  if (!IsCased(c)) return false;
  while (end < text.size()) {
    c = unicode::Next(text, &end);
    if (!IsCaseIgnorable(c)) return !IsCased(c);
  }
  return true;
}

void AppendExpansion(const case_tables::Expansion& expansion, std::string* out) {
  for (const char32_t c : expansion.to) {
    if (c != 0) unicode::AppendUtf8(c, out);
  }
}

}  // namespace

std::size_t ByteOffset(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  for (; index > 0 && at < text.size(); --index) {
    do {
      ++at;
    } while (at < text.size() && unicode::IsContinuationByte(text[at]));
  }
  return at;
}

std::vector<std::size_t> CharBorders(std::string_view text) {
  std::vector<std::size_t> borders;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!unicode::IsContinuationByte(text[at])) borders.push_back(at);
  }
  borders.push_back(text.size());
  return borders;
}

bool IsSpace(char32_t c) {
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsLineEnd(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool IsPrintable(char32_t c) {
  if (c == ' ') return true;
  switch (Category(c)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool IsAlpha(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDecimal(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_ND; }
bool IsDigit(char32_t c) { return IsDecimal(c) || Contains(case_tables::kOtherDigits, c); }
bool IsAlnum(char32_t c) {
  const utf8proc_category_t category = Category(c);
  return IsAlpha(c) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}
bool IsUpper(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LU || Contains(case_tables::kOtherUpper, c); }
bool IsLower(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LL || Contains(case_tables::kOtherLower, c); }
bool IsTitle(char32_t c) { return Category(c) == UTF8PROC_CATEGORY_LT; }
bool IsCased(char32_t c) { return IsUpper(c) || IsLower(c) || IsTitle(c); }

void AppendCase(const Text& text, std::size_t begin, std::size_t end, Case to, Text* out) {
  for (std::size_t at = begin; at < end;) {
    const std::size_t from = at;
    const char32_t c = unicode::Next(text.bytes(), &at);
    std::string mapped;
    if (to == Case::kLower) {
      if (c == kSigma) {
        unicode::AppendUtf8(IsFinalSigma(text.bytes(), from, at) ? U'\u03C2' : U'\u03C3', &mapped);
      } else if (c == 0x130) {
        mapped = "i\u0307";
      } else {
        unicode::AppendUtf8(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), &mapped);
      }
    } else if (const auto* expansion =
                   to == Case::kUpper ? Find(case_tables::kUpper, c) : Find(case_tables::kTitle, c)) {
      AppendExpansion(*expansion, &mapped);
    } else {
      const auto point = static_cast<utf8proc_int32_t>(c);
      unicode::AppendUtf8(static_cast<char32_t>(to == Case::kUpper ? utf8proc_toupper(point) : utf8proc_totitle(point)),
                          &mapped);
    }
    out->Append(mapped, text.IsUser(from));
  }
}

Text ToCase(const Text& text, Case to) {
  Text result;
  AppendCase(text, 0, text.size(), to, &result);
  result.set_markup(text.markup());
  return result;
}

}  // namespace mconnect::jinja
