#include "runtime/text/unicode_segmentation.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace mconnect::unicode {
namespace {

using Strings = std::vector<std::string>;

Strings Clusters(std::string_view text) {
  Strings clusters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = ClusterEnd(text, at);
    clusters.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return clusters;
}

TEST(ClusterTest, ControlsStandAlone) {
  EXPECT_EQ(Clusters("a\r\n\r\u0301\n\n"), (Strings{"a", "\r\n", "\r", "\u0301", "\n", "\n"}));
}

TEST(ClusterTest, MarksJoinWhatTheyModify) {
  EXPECT_EQ(Clusters("e\u0301\u0302x"), (Strings{"e\u0301\u0302", "x"}));
  EXPECT_EQ(Clusters("\u0915\u093Ea"), (Strings{"\u0915\u093E", "a"}));  // spacing
  EXPECT_EQ(Clusters("\u06001"), (Strings{"\u06001"}));                  // prepended
}

TEST(ClusterTest, HangulSyllables) {
  EXPECT_EQ(Clusters("\u1100\u1161\u11A8\u1100"), (Strings{"\u1100\u1161\u11A8", "\u1100"}));
  EXPECT_EQ(Clusters("\uAC00\u11A8\uAC01\u1161"), (Strings{"\uAC00\u11A8", "\uAC01", "\u1161"}));
}

TEST(ClusterTest, EmojiAndFlags) {
  EXPECT_EQ(Clusters("👩‍👧👍🏽"), (Strings{"👩‍👧", "👍🏽"}));
  EXPECT_EQ(Clusters("🇩🇪🇫🇷🇮"), (Strings{"🇩🇪", "🇫🇷", "🇮"}));
  EXPECT_EQ(Clusters("a\u200D☃"), (Strings{"a\u200D", "☃"}));  // joined by ZWJ only behind a pictograph
}

TEST(ClusterTest, IndicConjuncts) {
  EXPECT_EQ(Clusters("\u0915\u094D\u0937\u0915"), (Strings{"\u0915\u094D\u0937", "\u0915"}));
}

TEST(ScriptTest, KanaAreHanAndSpacesAreOfAllScripts) {
  EXPECT_EQ(Script(U'ー'), Script(U'漢'));
  EXPECT_EQ(Script(U'カ'), Script(U'漢'));
  EXPECT_EQ(Script(U' '), 0);
  EXPECT_NE(Script(U'a'), Script(U'д'));
  EXPECT_EQ(Script(U'a'), Script(U'z'));
}

}  // namespace
}  // namespace mconnect::unicode
