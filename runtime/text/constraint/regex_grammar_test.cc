#include "runtime/text/constraint/regex_grammar.h"

#include <gtest/gtest.h>

#include <random>
#include <regex>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/constraint/constraint_testing.h"

namespace mconnect {
namespace {

Automaton Compile(const std::string& pattern, bool search = false) {
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  RegexUse use;
  use.search = search;
  builder.Define(rule, RegexFragment(pattern, builder, use));
  return Automaton(builder.Finish(rule));
}

struct Case {
  std::string pattern;
  std::vector<std::string> yes, no;
};

TEST(RegexGrammarTest, MatchesFromEndToEnd) {
  const std::vector<Case> cases = {
      {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
      {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
      {"(ab)*c+d?", {"c", "abcc", "ababcd"}, {"", "abab", "cdd"}},
      {"a{2,3}b{2}c{1,}d{,1}", {"aabbc", "aaabbccd"}, {"abbc", "aaaabbc", "aabbbc", "aabbcdd"}},
      {"[a-c^-]+", {"abc", "^-"}, {"d", ""}},
      {"[^a-z]", {"A", "\xC3\xA9", "\xF0\x9F\x98\x80", "\n"}, {"a", "AA", "\xC3"}},
      {"[]x]+", {"]x]"}, {"["}},
      {R"(\d+\.\d{2}\s\w+)", {"12.34 a_1"}, {"12.3 a", "12.34a"}},
      {R"([\d\-x]+)", {"1-x"}, {"y"}},
      {".", {"x", "\xE6\xBC\xA2"}, {"\n", "", "xy", "\xED\xA0\x80"}},
      {R"(\x41é\u{1F600}\n\/\[)", {"A\xC3\xA9\xF0\x9F\x98\x80\n/["}, {"A"}},
      {"^(?:a|b)$|^c$", {"a", "c"}, {"^a$"}},
      {"(?P<x>a)(?<y>b)", {"ab"}, {"a"}},
      {"a*?b+?", {"b", "aab"}, {"a"}},
      {"x{y}{1", {"x{y}{1"}, {"x"}},
      {"[\xC3\x80-\xC3\xBF\xE4\xB8\x80-\xE9\xBF\xBF]",
       {"\xC3\x80", "\xC3\xBF", "\xE4\xB8\x80", "\xE6\xBC\xA2"},
       {"\xC5\x80", "a"}},
  };
  for (const Case& c : cases) {
    Automaton automaton = Compile(c.pattern);
    for (const std::string& text : c.yes) EXPECT_TRUE(Matches(automaton, text)) << c.pattern << " on " << text;
    for (const std::string& text : c.no) EXPECT_FALSE(Matches(automaton, text)) << c.pattern << " on " << text;
  }
}

TEST(RegexGrammarTest, SearchesAnywhereButAtAnchors) {
  Automaton open = Compile("b", true), begins = Compile("^b", true), both = Compile("^a$|b$", true);
  EXPECT_TRUE(Matches(open, "abc"));
  EXPECT_FALSE(Matches(open, "ac"));
  EXPECT_TRUE(Matches(begins, "bc"));
  EXPECT_FALSE(Matches(begins, "abc"));
  EXPECT_TRUE(Matches(both, "a") && Matches(both, "xb"));
  EXPECT_FALSE(Matches(both, "ax") || Matches(both, "bx"));
}

TEST(RegexGrammarTest, WhatItAdmitsTheStandardLibraryMatches) {
  std::mt19937 random(1);
  for (const char* pattern :
       {"(a|bc)*d{2,5}", "[a-f0-9]{8}(-[a-f0-9]{4}){3}", "(x(y(z|a){1,3})?)+", "-?(0|[1-9][0-9]*)(\\.[0-9]+)?"}) {
    Automaton automaton = Compile(pattern);
    const std::regex reference(pattern, std::regex::ECMAScript);
    for (int i = 0; i < 100; ++i) {
      const std::string text = RandomText(automaton, random, 40);
      EXPECT_TRUE(std::regex_match(text, reference)) << pattern << " on " << text;
    }
  }
}

TEST(RegexGrammarTest, CoversEveryCharacterOnce) {
  Automaton automaton = Compile("[^x]");
  int count = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string text;
    if (c < 0x80) {
      text = {static_cast<char>(c)};
    } else if (c < 0x800) {
      text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
    } else if (c < 0x10000) {
      text = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
              static_cast<char>(0x80 | (c & 63))};
    } else {
      text = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
              static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
    count += Matches(automaton, text);
  }
  EXPECT_EQ(count, 0x110000 - 0x800 - 1);
}

TEST(RegexGrammarTest, NamesWhatIsWrongAndWhere) {
  const auto message = [](const std::string& pattern) -> std::string {
    try {
      Compile(pattern);
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code())) + ": " + error.message();
    }
    return "";
  };
  EXPECT_EQ(message("a(b"), "invalid-argument: the regular expression 'a(b', offset 3: '(' without ')'");
  EXPECT_EQ(message("a)"), "invalid-argument: the regular expression 'a)', offset 1: ')' without '('");
  EXPECT_EQ(message("[a"), "invalid-argument: the regular expression '[a', offset 2: '[' without ']'");
  EXPECT_EQ(message("*"), "invalid-argument: the regular expression '*', offset 0: nothing to repeat");
  EXPECT_EQ(message("[z-a]"),
            "invalid-argument: the regular expression '[z-a]', offset 2: this is not a range of characters");
  EXPECT_EQ(message("a{3,2}"),
            "invalid-argument: the regular expression 'a{3,2}', offset 1: the counts are in the wrong order");
  EXPECT_EQ(message("a(?=b)"), "unsupported: the regular expression 'a(?=b)', offset 3: look-around is not supported");
  EXPECT_EQ(message(R"((a)\1)"), R"(unsupported: the regular expression '(a)\1', offset 3: '\1' is not supported)");
  EXPECT_EQ(message(R"(\bx)"), R"(unsupported: the regular expression '\bx', offset 0: '\b' is not supported)");
  EXPECT_EQ(
      message("a^b"),
      "unsupported: the regular expression 'a^b' has ^ or $ inside; only the ends of an alternative can have them");
  EXPECT_EQ(message("a{99999}"), "unsupported: the regular expression 'a{99999}', offset 1: a count is above 10000");
  EXPECT_EQ(message("((a{1000}){1000}){1000}"), "resource-exhausted: the output format needs more than 400000 states");
  EXPECT_EQ(message("[^\\d\\D]"), "invalid-argument: the output format admits no text");
  EXPECT_EQ(message(std::string(1000, '(')).find("nest deeper than 200") != std::string::npos, true);
}

}  // namespace
}  // namespace mconnect
