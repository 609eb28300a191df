// The alphabet of byte-level vocabularies: a printable code point for each byte (GPT-2, `bytes_to_unicode`).
#ifndef MCONNECT_TEXT_BYTE_LEVEL_H_
#define MCONNECT_TEXT_BYTE_LEVEL_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mconnect::byte_level {

// The code point that stands for a byte: itself where printable, else one of U+0100 to U+0143.
inline constexpr std::array<char32_t, 256> kCharOfByte = [] {
  std::array<char32_t, 256> table{};
  char32_t next = 0x100;
  for (char32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    table[b] = printable ? b : next++;
  }
  return table;
}();

inline constexpr char32_t kSpace = kCharOfByte[' '];

// The bytes that the code points of `token` stand for; nothing if one of them stands for none.
std::optional<std::string> Bytes(std::string_view token);

}  // namespace mconnect::byte_level

#endif  // MCONNECT_TEXT_BYTE_LEVEL_H_
