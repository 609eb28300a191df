#include "runtime/text/byte_level.h"

#include "runtime/text/unicode.h"

namespace mconnect::byte_level {
namespace {

constexpr std::size_t kAlphabetEnd = 0x144;

constexpr std::array<int, kAlphabetEnd> kByteOfChar = [] {
  std::array<int, kAlphabetEnd> table{};
  for (int& byte : table) byte = -1;
  for (int b = 0; b < 256; ++b) table[kCharOfByte[static_cast<std::size_t>(b)]] = b;
  return table;
}();

}  // namespace

std::optional<std::string> Bytes(std::string_view token) {
  std::string bytes;
  bytes.reserve(token.size());
  for (std::size_t at = 0; at < token.size();) {
    const char32_t c = unicode::Next(token, &at);
    if (c >= kAlphabetEnd || kByteOfChar[c] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kByteOfChar[c]));
  }
  return bytes;
}

}  // namespace mconnect::byte_level
