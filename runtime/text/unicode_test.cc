#include "runtime/text/unicode.h"

#include <gtest/gtest.h>

#include <string>

namespace mconnect::unicode {
namespace {

TEST(UnicodeTest, AsciiIsToldAtEveryPlaceOfAText) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::string text(size, '\x7f');
    EXPECT_TRUE(unicode::IsAscii(text));
    for (char& byte : text) {
      byte = '\x80';
      EXPECT_FALSE(unicode::IsAscii(text));
      byte = '\0';
    }
  }
}

TEST(UnicodeTest, WritesAndReadsEveryCodePoint) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    AppendUtf8(c, &text);
    ASSERT_EQ(text.size(), Utf8Size(c));
    ASSERT_FALSE(Repair(text));
    std::size_t at = 0;
    ASSERT_EQ(Next(text, &at), c);
    ASSERT_EQ(at, text.size());
    ASSERT_EQ(Previous(text, &at), c);
    ASSERT_EQ(at, 0u);
  }
}

TEST(UnicodeTest, ReplacesEachMaximalIllFormedPart) {
  EXPECT_EQ(Repair("caf\xC3\xA9"), std::nullopt);
  EXPECT_EQ(Repair("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(Repair("\xE3\x81"), "\uFFFD");                            // one incomplete character
  EXPECT_EQ(Repair("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");            // a surrogate
  EXPECT_EQ(Repair("\xC0\xAF"), "\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(Repair("\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
  EXPECT_EQ(Repair("\xF0\x9F\x98x"), "\uFFFDx");
}

TEST(UnicodeTest, FindsTheIncompleteCharacterAtTheEnd) {
  EXPECT_EQ(IncompleteSuffix(""), 0u);
  EXPECT_EQ(IncompleteSuffix("abc"), 0u);
  EXPECT_EQ(IncompleteSuffix("a\xC3"), 1u);
  EXPECT_EQ(IncompleteSuffix("a\xE3\x81"), 2u);
  EXPECT_EQ(IncompleteSuffix("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(IncompleteSuffix("a\xF0\x9F\x98\x80"), 0u);
  EXPECT_EQ(IncompleteSuffix("a\xED\xA0"), 0u);  // cannot become a character any more
  EXPECT_EQ(IncompleteSuffix("\x80\x80\x80"), 0u);
}

TEST(UnicodeTest, LowersLikeTheReference) {
  std::u32string lower;
  for (const char32_t c : std::u32string(U"A\u0130\u03A3\u1C89")) AppendLowercase(c, &lower);
  EXPECT_EQ(lower, U"ai\u0307\u03C3\u1C8A");
}

TEST(UnicodeTest, LeavesAloneWhatTheReferenceDoesNotKnow) {
  std::u32string parts;
  AppendDecomposition(0x11938, /*compatible=*/false, &parts);  // Unicode 13
  EXPECT_EQ(parts, U"\U00011938");
  EXPECT_EQ(Compose(0x11935, 0x11930), std::nullopt);
  EXPECT_EQ(CombiningClass(0x1ABF), 0);
  EXPECT_EQ(Compose(U'e', 0x301), U'\u00E9');
  EXPECT_EQ(Compose(0x1100, 0x1161), U'\uAC00');
}

TEST(UnicodeTest, StandInsKeepTheirLength) {
  for (char32_t c = 0; c < 0x110000; ++c) ASSERT_EQ(Utf8Size(RegexStandIn(c)), Utf8Size(c));
  EXPECT_NE(RegexStandIn(0x180E), 0x180Eu);
  EXPECT_EQ(RegexStandIn(U'x'), U'x');
}

}  // namespace
}  // namespace mconnect::unicode
