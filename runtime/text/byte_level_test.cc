#include "runtime/text/byte_level.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "runtime/text/unicode.h"

namespace mconnect::byte_level {
namespace {

TEST(ByteLevelTest, EveryByteHasACharacterOfItsOwn) {
  EXPECT_EQ(std::set<char32_t>(kCharOfByte.begin(), kCharOfByte.end()).size(), 256u);
  for (std::size_t b = 0; b < 256; ++b) {
    std::string text;
    unicode::AppendUtf8(kCharOfByte[b], &text);
    EXPECT_EQ(Bytes(text), std::string(1, static_cast<char>(b)));
  }
}

TEST(ByteLevelTest, IsTheAlphabetOfGpt2) {
  EXPECT_EQ(Bytes("ĠHello"), " Hello");
  EXPECT_EQ(Bytes("Ċ"), "\n");
  EXPECT_EQ(Bytes("Ã©"), "é");
  EXPECT_EQ(Bytes("Ń"), "\xAD");
  EXPECT_EQ(kSpace, U'Ġ');
}

TEST(ByteLevelTest, OtherCharactersStandForNothing) {
  EXPECT_EQ(Bytes("a b"), std::nullopt);
  EXPECT_EQ(Bytes("日"), std::nullopt);
  EXPECT_EQ(Bytes("ń"), std::nullopt);  // the one behind the last
  EXPECT_EQ(Bytes(""), "");
}

}  // namespace
}  // namespace mconnect::byte_level
