#include "runtime/text/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;

// The matched parts.
std::vector<std::string> Matches(const Regex& regex, std::string_view text) {
  Regex::Scratch scratch;
  std::vector<Match> parts;
  regex.Split(text, &scratch, &parts);
  std::vector<std::string> matches;
  std::string all;
  for (const Match& part : parts) {
    all += text.substr(part.begin, part.end - part.begin);
    if (part.matched) matches.emplace_back(text.substr(part.begin, part.end - part.begin));
  }
  EXPECT_EQ(all, text);
  return matches;
}

using Strings = std::vector<std::string>;

TEST(RegexTest, WordsOutsideClassesIncludeLatin1Numbers) {
  EXPECT_EQ(Matches(Regex(R"(\w+)"), "a² b½"), (Strings{"a²", "b½"}));
  EXPECT_EQ(Matches(Regex(R"([\w]+)"), "a² b½"), (Strings{"a", "b"}));
}

TEST(RegexTest, MarksBelongToWords) { EXPECT_EQ(Matches(Regex(R"(\w+\b)"), "e\u0301a"), (Strings{"e\u0301a"})); }

TEST(RegexTest, TheMongolianVowelSeparatorIsNoSpace) {
  EXPECT_EQ(Matches(Regex(R"(\s)"), "a\u180Eb\u2003"), (Strings{"\u2003"}));
}

TEST(RegexTest, LettersOfLaterVersionsOfUnicodeAreLetters) {
  EXPECT_EQ(Matches(Regex(R"(\p{Lu})"), "\u1C89x"), (Strings{"\u1C89"}));
}

TEST(RegexTest, LinesHaveBeginningsAndEnds) { EXPECT_EQ(Matches(Regex("^b$"), "a\nb\nc"), (Strings{"b"})); }

TEST(RegexTest, AnEmptyMatchRightAfterAMatchDoesNotCount) {
  EXPECT_EQ(Matches(Regex("a*"), "baac"), (Strings{"", "aa", ""}));
}

TEST(RegexTest, LiteralsMatchThemselves) { EXPECT_EQ(Matches(Regex::Literal("a.(b"), "a.(b axb"), (Strings{"a.(b"})); }

TEST(RegexTest, HexDigits) { EXPECT_EQ(Matches(Regex(R"(\h+[\hx])"), "g12x"), (Strings{"12x"})); }

TEST(RegexTest, RefusesWhatMeansSomethingElseForPcre) {
  EXPECT_EQ(ErrorOf([] { Regex("a{1,3}+"); }),
            "unsupported: the regular expression 'a{1,3}+' has '+' after an interval at byte 5");
  EXPECT_EQ(ErrorOf([] { Regex("[a&&b]"); }),
            "unsupported: the regular expression '[a&&b]' has an intersection of classes at byte 2");
  EXPECT_EQ(ErrorOf([] { Regex("[a[b]]"); }),
            "unsupported: the regular expression '[a[b]]' has a class inside a class at byte 2");
  EXPECT_EQ(ErrorOf([] { Regex(R"(\R)"); }), R"(unsupported: the regular expression '\R' has '\R' at byte 0)");
  EXPECT_EQ(ErrorOf([] { Regex("\\"); }),
            R"(unsupported: the regular expression '\' has a '\' with nothing after it at byte 0)");
}

TEST(RegexTest, NamesThePlaceOfASyntaxError) {
  EXPECT_EQ(ErrorOf([] { Regex("a(b"); }),
            "corrupt: 'a(b' is not a regular expression: missing closing parenthesis at byte 3");
}

TEST(RegexTest, GivesUpOnEndlessBacktracking) {
  const std::string text(40, 'a');
  EXPECT_EQ(ErrorOf([&] { Matches(Regex("(a|a)*(a|a)*(a|a)*(?=[bc])"), text); }).substr(0, 18), "resource-exhausted");
}

}  // namespace
}  // namespace mconnect
