#include "runtime/text/stop_strings.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {
namespace {

// What is given out piece by piece; the last entry is Finish().
std::vector<std::string> Stream(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopStrings matcher(std::move(stops));
  std::vector<std::string> out;
  for (const std::string& piece : pieces) out.push_back(matcher.Put(piece));
  out.push_back(matcher.Finish());
  return out;
}

using Strings = std::vector<std::string>;

TEST(StopStringsTest, EndsBeforeAStopStringAcrossPieces) {
  EXPECT_EQ(Stream({"\n\n"}, {"one\n", "\ntwo", "three"}), (Strings{"one", "", "", ""}));
}

TEST(StopStringsTest, GivesOutWhatTurnsOutNotToBeAStopString) {
  EXPECT_EQ(Stream({"<end>"}, {"a<en", "x<e", "nd"}), (Strings{"a", "<enx", "", "<end"}));
}

TEST(StopStringsTest, TheMatchThatEndsFirstWins) {
  StopStrings matcher({"abcd", "bc"});
  EXPECT_EQ(matcher.Put("xabcd"), "xa");
  ASSERT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "bc");
}

TEST(StopStringsTest, OfMatchesThatEndTogetherTheLongestWins) {
  StopStrings matcher({"c", "abc", "bc"});
  EXPECT_EQ(matcher.Put("xabc"), "x");
  EXPECT_EQ(matcher.matched(), "abc");
}

TEST(StopStringsTest, FindsAStopStringThatOverlapsItself) {
  EXPECT_EQ(Stream({"aab"}, {"a", "a", "a", "b"}), (Strings{"", "", "a", "", ""}));
}

TEST(StopStringsTest, HoldsBackWholeCharactersOnly) {
  EXPECT_EQ(Stream({"é!"}, {"café", "?"}), (Strings{"caf", "é?", ""}));
  EXPECT_EQ(Stream({"日本"}, {"今日", "本", "語"}), (Strings{"今", "", "", ""}));
}

TEST(StopStringsTest, NoStopStringsLetAllTextPass) { EXPECT_EQ(Stream({}, {"a", "b"}), (Strings{"a", "b", ""})); }

TEST(StopStringsTest, RefusesAnEmptyStopString) {
  try {
    StopStrings({"a", ""});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "stop string 1 is empty");
  }
}

TEST(StopStringsTest, PiecesDoNotMatter) {
  std::mt19937 rng(1);
  for (int round = 0; round < 2000; ++round) {
    const auto word = [&](unsigned size) {
      std::string text;
      for (unsigned i = 0; i < size; ++i) text += "ab"[rng() % 2];
      return text;
    };
    Strings stops;
    for (unsigned i = 0; i < 1 + rng() % 3; ++i) stops.push_back(word(1 + rng() % 5));
    const std::string text = word(rng() % 20);
    StopStrings matcher(stops);
    std::string got;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + rng() % 3;
      got += matcher.Put(text.substr(at, size));
      at += size;
    }
    got += matcher.Finish();
    std::size_t end = 0, begin = text.size();
    for (end = 0; end <= text.size() && begin == text.size(); ++end) {
      for (const std::string& stop : stops) {
        if (std::string_view(text).substr(0, end).ends_with(stop)) begin = std::min(begin, end - stop.size());
      }
    }
    EXPECT_EQ(got, text.substr(0, begin)) << text;
  }
}

}  // namespace
}  // namespace mconnect
