#include "runtime/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {
namespace {

using std::string_view_literals::operator""sv;

// Longer marks first: that of UTF-32, little-endian, begins with that of UTF-16.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kMarks = {
    {{"\xFF\xFE\0\0"sv, "UTF-32"}, {"\0\0\xFE\xFF"sv, "UTF-32"}, {"\xFF\xFE"sv, "UTF-16"}, {"\xFE\xFF"sv, "UTF-16"}}};

std::string Remedy(std::string_view text) {
  for (const auto& [mark, encoding] : kMarks) {
    if (!text.starts_with(mark)) continue;
    return "its byte order mark is that of " + std::string(encoding) + ": convert it first with: iconv -f " +
           std::string(encoding) + " -t UTF-8";
  }
  return "convert it first; if it is Latin-1, for example, with: iconv -f LATIN1 -t UTF-8";
}

}  // namespace

std::size_t InvalidUtf8Offset(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                               : lead >= 0xE0 && lead <= 0xEF ? 3
                               : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                              : 0;
    if (length == 0 || i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      // The second byte also excludes overlong forms (E0, F0), surrogates (ED) and code points over U+10FFFF (F4).
      const unsigned low = k > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
      const unsigned high = k > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
      if (next < low || next > high) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

std::string TextPlace(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

void RequireUtf8(std::string_view text, std::string_view name) {
  const std::size_t offset = InvalidUtf8Offset(text);
  if (offset == std::string_view::npos) return;
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[offset]));
  throw Error(ErrorCode::kInvalidArgument,
              std::string(name) + " is not UTF-8: byte " + byte + " at " + TextPlace(text, offset) + " (offset " +
                  std::to_string(offset) + ")",
              Remedy(text));
}

}  // namespace mconnect
