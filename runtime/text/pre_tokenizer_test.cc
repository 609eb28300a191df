#include "runtime/text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using testing_text::Pieces;
using testing_text::PreTokenized;

std::string Split(const std::string& behavior) {
  return R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + R"(", "invert": false})";
}

TEST(PreTokenizerTest, SplitBehaviors) {
  constexpr std::string_view kText = "the-final--countdown";
  EXPECT_EQ(PreTokenized(Split("Removed"), kText),
            (Pieces{{"the", {0, 3}}, {"final", {4, 9}}, {"countdown", {11, 20}}}));
  EXPECT_EQ(PreTokenized(Split("Isolated"), kText), (Pieces{{"the", {0, 3}},
                                                            {"-", {3, 4}},
                                                            {"final", {4, 9}},
                                                            {"-", {9, 10}},
                                                            {"-", {10, 11}},
                                                            {"countdown", {11, 20}}}));
  EXPECT_EQ(PreTokenized(Split("MergedWithPrevious"), kText),
            (Pieces{{"the-", {0, 4}}, {"final-", {4, 10}}, {"-", {10, 11}}, {"countdown", {11, 20}}}));
  EXPECT_EQ(PreTokenized(Split("MergedWithNext"), kText),
            (Pieces{{"the", {0, 3}}, {"-final", {3, 9}}, {"-", {9, 10}}, {"-countdown", {10, 20}}}));
  EXPECT_EQ(PreTokenized(Split("Contiguous"), kText),
            (Pieces{{"the", {0, 3}}, {"-", {3, 4}}, {"final", {4, 9}}, {"--", {9, 11}}, {"countdown", {11, 20}}}));
}

TEST(PreTokenizerTest, InvertedSplit) {
  EXPECT_EQ(PreTokenized(R"({"type": "Split", "pattern": {"Regex": "\\w+"}, "behavior": "Removed", "invert": true})",
                         "a b-c"),
            (Pieces{{"a", {0, 1}}, {"b", {2, 3}}, {"c", {4, 5}}}));
}

TEST(PreTokenizerTest, ByteLevel) {
  EXPECT_EQ(PreTokenized(R"({"type": "ByteLevel", "add_prefix_space": true})", "it's é 12"),
            (Pieces{{"Ġit", {0, 2}}, {"'s", {2, 4}}, {"ĠÃ©", {4, 7}}, {"Ġ12", {7, 10}}}));
}

TEST(PreTokenizerTest, Metaspace) {
  EXPECT_EQ(PreTokenized(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true})",
                         "Hi you  all"),
            (Pieces{{"▁Hi", {0, 2}}, {"▁you", {2, 6}}, {"▁", {6, 7}}, {"▁all", {7, 11}}}));
}

TEST(PreTokenizerTest, ByKindsOfCharacters) {
  EXPECT_EQ(PreTokenized(R"({"type": "Digits", "individual_digits": true})", "a12³b"),
            (Pieces{{"a", {0, 1}}, {"1", {1, 2}}, {"2", {2, 3}}, {"³", {3, 5}}, {"b", {5, 6}}}));
  EXPECT_EQ(PreTokenized(R"({"type": "Digits", "individual_digits": false})", "a12³b"),
            (Pieces{{"a", {0, 1}}, {"12³", {1, 5}}, {"b", {5, 6}}}));
  EXPECT_EQ(PreTokenized(R"({"type": "Whitespace"})", "a_b! ?é\u0301x"),
            (Pieces{{"a_b", {0, 3}}, {"!", {3, 4}}, {"?", {5, 6}}, {"é\u0301x", {6, 11}}}));
  EXPECT_EQ(PreTokenized(R"({"type": "BertPreTokenizer"})", "Hey, you£!"),
            (Pieces{{"Hey", {0, 3}}, {",", {3, 4}}, {"you£", {5, 10}}, {"!", {10, 11}}}));
}

TEST(PreTokenizerTest, UnicodeScriptsCutsWhereTheScriptChanges) {
  EXPECT_EQ(PreTokenized(R"({"type": "UnicodeScripts"})", "ab カナ漢ーд"),
            (Pieces{{"ab ", {0, 3}}, {"カナ漢ー", {3, 15}}, {"д", {15, 17}}}));
  EXPECT_EQ(PreTokenized(R"({"type": "UnicodeScripts"})", "  a"), (Pieces{{"a", {2, 3}}}));  // as in the reference
}

TEST(PreTokenizerTest, FixedLengthCountsCodePoints) {
  EXPECT_EQ(PreTokenized(R"({"type": "FixedLength", "length": 2})", "aébcd"),
            (Pieces{{"aé", {0, 3}}, {"bc", {3, 5}}, {"d", {5, 6}}}));
  EXPECT_EQ(PreTokenized(R"({"type": "FixedLength"})", "abcdef"), (Pieces{{"abcde", {0, 5}}, {"f", {5, 6}}}));
  EXPECT_NE(ErrorOf([] { PreTokenized(R"({"type": "FixedLength", "length": 0})", "a"); }).find("pre_tokenizer: length"),
            std::string::npos);
}

TEST(PreTokenizerTest, CharDelimiterSplitRemovesTheDelimiter) {
  EXPECT_EQ(PreTokenized(R"({"type": "CharDelimiterSplit", "delimiter": "▁"})", "a▁▁b"),
            (Pieces{{"a", {0, 1}}, {"b", {7, 8}}}));
  EXPECT_EQ(ErrorOf([] { PreTokenized(R"({"type": "CharDelimiterSplit", "delimiter": "ab"})", "a"); }),
            "corrupt: pre_tokenizer: delimiter: must be one character");
}

TEST(PreTokenizerTest, NamesAnUnknownType) {
  EXPECT_EQ(ErrorOf([] { PreTokenized(R"({"type": "Sentences"})", ""); }),
            "unsupported: pre_tokenizer: the pre-tokenizer 'Sentences' is not supported");
}

}  // namespace
}  // namespace mconnect
