#include "runtime/text/precompiled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += at + i > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63];
    }
  }
  return text;
}

std::string Field(const std::vector<std::uint32_t>& units, std::string_view replacements) {
  std::string bytes;
  const auto append = [&bytes](std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xFF);
  };
  append(static_cast<std::uint32_t>(units.size() * 4));
  for (const std::uint32_t unit : units) append(unit);
  return Base64(bytes.append(replacements));
}

// A trie with one key; its value is `value`.
std::vector<std::uint32_t> Trie(std::string_view key, std::uint32_t value = 0) {
  std::vector<std::uint32_t> units(256 * (key.size() + 2));
  units[0] = 256 << 10;
  for (std::uint32_t depth = 0; depth < key.size(); ++depth) {
    const auto byte = static_cast<unsigned char>(key[depth]);
    const std::uint32_t at = (256 * (depth + 1)) ^ byte;
    units[at] = (at ^ (256 * (depth + 2))) << 10 | (depth + 1 == key.size() ? 0x100 : 0) | byte;
  }
  units[256 * (key.size() + 1)] = 0x80000000 | value;
  return units;
}

std::string Definition(const std::string& field) {
  return R"({"type": "Precompiled", "precompiled_charsmap": ")" + field + "\"}";
}

std::string Normalize(const std::string& field, std::string_view text) {
  return testing_text::Normalized(Definition(field), text);
}

TEST(PrecompiledTest, ReplacesKeys) {
  const std::string field = Field(Trie("é"), std::string_view("EE\0", 3));
  EXPECT_EQ(Normalize(field, "caféé!"), "cafEEEE!");
  EXPECT_EQ(Normalize(field, "plain"), "plain");
  EXPECT_EQ(Normalize(field, ""), "");
}

TEST(PrecompiledTest, AShortClusterGoesAsAWholeALongOneByCodePoints) {
  const std::string field = Field(Trie("a"), std::string_view("X\0", 2));
  EXPECT_EQ(Normalize(field, "a\u0301b"), "Xb");
  EXPECT_EQ(Normalize(field, "a\u0301\u0302\u0303b"), "X\u0301\u0302\u0303b");
}

TEST(PrecompiledTest, ReplacementsEndAtNulOrTheEnd) {
  EXPECT_EQ(Normalize(Field(Trie("a", 3), std::string_view("no\0yes", 6)), "a"), "yes");
  EXPECT_EQ(Normalize(Field(Trie("a", 2), std::string_view("no\0yes", 6)), "a-"), "-");
}

TEST(PrecompiledTest, KnowsWhereTextComesFrom) {
  const Json json = ParseJson(Definition(Field(Trie("é"), "EE")), "normalizer");
  TextScratch scratch;
  const AlignedText text = PrecompiledNormalizer(JsonView(json, "normalizer")).Normalize(AlignedText("xéy"), &scratch);
  ASSERT_EQ(text.text(), "xEEy");
  EXPECT_EQ(text.Original(1, 2), (Span{1, 3}));
  EXPECT_EQ(text.Original(2, 3), (Span{1, 3}));
  EXPECT_EQ(text.Original(3, 4), (Span{3, 4}));
}

TEST(PrecompiledTest, RefusesDamagedTables) {
  const auto error = [](const std::string& field, std::string_view text = "") {
    return ErrorOf([&] { Normalize(field, text); });
  };
  EXPECT_EQ(error("a*=="), "corrupt: normalizer: precompiled_charsmap: is not base64");
  EXPECT_EQ(error("abc"), "corrupt: normalizer: precompiled_charsmap: is not base64");
  EXPECT_EQ(error(""), "corrupt: normalizer: precompiled_charsmap: has 0 bytes, which do not begin with a trie of 0");
  EXPECT_EQ(error(Base64(std::string_view("\x08\0\0\0abcd", 8))),
            "corrupt: normalizer: precompiled_charsmap: has 8 bytes, which do not begin with a trie of 8");
  EXPECT_EQ(error(Field(Trie("a"), "\xFF")),
            "corrupt: normalizer: precompiled_charsmap: has replacements that are not UTF-8");
  EXPECT_EQ(error(Field(Trie("é", 9), "x"), "é"),
            "corrupt: the precompiled_charsmap of tokenizer.json leads to no replacement");
  EXPECT_EQ(error(Field(Trie("é", 1), "é"), "é"),
            "corrupt: the precompiled_charsmap of tokenizer.json leads to no replacement");
  EXPECT_EQ(error(Field({0xFFFFFFFF}, "x"), "é"), "no error");  // a trie without keys
}

}  // namespace
}  // namespace mconnect
