#include "runtime/text/length.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using Kept = std::pair<std::size_t, std::size_t>;

Truncation To(std::size_t tokens, Truncation::Strategy strategy = Truncation::Strategy::kLongestFirst) {
  Truncation truncation;
  truncation.max_tokens = tokens;
  truncation.strategy = strategy;
  return truncation;
}

TEST(LengthTest, ATextIsCutToWhatTheSpecialTokensLeave) {
  EXPECT_EQ(KeptTokens(To(10), 8, 0, false, 2), (Kept{8, 0}));
  EXPECT_EQ(KeptTokens(To(10), 9, 0, false, 2), (Kept{8, 0}));
  EXPECT_EQ(KeptTokens(To(2), 9, 0, false, 2), (Kept{0, 0}));
}

TEST(LengthTest, OfAPairTheLongerIsCutFirst) {
  EXPECT_EQ(KeptTokens(To(10), 9, 3, true, 0), (Kept{7, 3}));
  EXPECT_EQ(KeptTokens(To(10), 3, 9, true, 0), (Kept{3, 7}));
  EXPECT_EQ(KeptTokens(To(7), 9, 9, true, 0), (Kept{3, 4}));
}

TEST(LengthTest, OneTextIsCutWhereThatIsTheStrategy) {
  EXPECT_EQ(KeptTokens(To(10, Truncation::Strategy::kOnlyFirst), 9, 3, true, 0), (Kept{7, 3}));
  EXPECT_EQ(KeptTokens(To(10, Truncation::Strategy::kOnlySecond), 3, 9, true, 0), (Kept{3, 7}));
  EXPECT_EQ(ErrorOf([] { KeptTokens(To(10, Truncation::Strategy::kOnlySecond), 30, 9, true, 0); }),
            "invalid-argument: to keep to 10 tokens, 29 would have to go from the second text alone, which has 9");
}

TEST(LengthTest, SpecialTokensMustHaveRoom) {
  EXPECT_EQ(ErrorOf([] { KeptTokens(To(1), 9, 0, false, 2); }),
            "invalid-argument: max_tokens is 1, but the special tokens alone are 2");
}

TEST(LengthTest, WindowsShareTheStrideAndTheLastOneEndsTheText) {
  using Ranges = std::vector<Kept>;
  EXPECT_EQ(Windows(10, 4, 0, false), (Ranges{{0, 4}, {4, 8}, {8, 10}}));
  EXPECT_EQ(Windows(10, 4, 1, false), (Ranges{{0, 4}, {3, 7}, {6, 10}}));
  EXPECT_EQ(Windows(10, 4, 2, true), (Ranges{{6, 10}, {4, 8}, {2, 6}, {0, 4}}));
  EXPECT_EQ(Windows(9, 4, 1, true), (Ranges{{5, 9}, {2, 6}, {0, 3}}));
  EXPECT_EQ(Windows(4, 4, 1, false), (Ranges{{0, 4}}));
  EXPECT_EQ(Windows(16385, 1024, 1023, false).size(), 15362u);
  EXPECT_EQ(
      ErrorOf([] { Windows(20000, 1024, 1023, false); }),
      "resource-exhausted: a stride of 1023 makes 18977 windows of 1024 tokens; at most 16777216 tokens are allowed");
  EXPECT_EQ(ErrorOf([] { Windows(10, 4, 4, false); }),
            "invalid-argument: stride is 4, but a window has 4 tokens without special ones");
}

TEST(LengthTest, PadsToTheLongestOrToALengthInMultiples) {
  std::vector<Encoding> encodings(2);
  encodings[0].ids = {1, 2, 3};
  encodings[1].ids = {4};
  for (Encoding& encoding : encodings) {
    encoding.type_ids.resize(encoding.size());
    encoding.attention_mask.assign(encoding.size(), 1);
    encoding.special_tokens_mask.resize(encoding.size());
  }
  Padding padding;
  padding.to = Padding::To::kLongest;
  padding.multiple_of = 4;
  padding.left = true;
  padding.id = 9;
  Pad(padding, /*offsets=*/false, encodings);
  EXPECT_EQ(encodings[0].ids, (std::vector<TokenId>{9, 1, 2, 3}));
  EXPECT_EQ(encodings[1].ids, (std::vector<TokenId>{9, 9, 9, 4}));
  EXPECT_EQ(encodings[1].attention_mask, (std::vector<std::int32_t>{0, 0, 0, 1}));
  EXPECT_EQ(encodings[1].special_tokens_mask, (std::vector<std::int32_t>{1, 1, 1, 0}));
  padding = Padding{};
  padding.to = Padding::To::kFixed;
  padding.length = 5;
  Pad(padding, /*offsets=*/false, encodings);
  EXPECT_EQ(encodings[0].ids, (std::vector<TokenId>{9, 1, 2, 3, 0}));
}

TEST(LengthTest, ReadsTokenizerJson) {
  const Json truncation =
      ParseJson(R"({"max_length": 7, "strategy": "OnlyFirst", "direction": "Left", "stride": 3})", "t");
  const Truncation read = TruncationFromJson(JsonView(truncation, "t"));
  EXPECT_EQ(read.max_tokens, 7u);
  EXPECT_EQ(read.stride, 3u);
  EXPECT_EQ(read.strategy, Truncation::Strategy::kOnlyFirst);
  EXPECT_TRUE(read.left);
  const Json unknown = ParseJson(R"({"max_length": 7, "strategy": "Both"})", "t");
  EXPECT_EQ(ErrorOf([&] { TruncationFromJson(JsonView(unknown, "t")); }),
            "corrupt: t: strategy: unknown strategy 'Both'");
}

TEST(LengthTest, AFileCannotAskForPaddingWithoutBound) {
  const auto read = [](const std::string& strategy, const std::string& multiple) {
    const Json json =
        ParseJson("{\"strategy\": " + strategy + ", \"direction\": \"Right\", \"pad_to_multiple_of\": " + multiple +
                      ", \"pad_id\": 0, \"pad_type_id\": 0}",
                  "p");
    return ErrorOf([&] { PaddingFromJson(JsonView(json, "p")); });
  };
  EXPECT_EQ(read(R"({"Fixed": 4194304})", "4194304"), "no error");
  EXPECT_EQ(read(R"({"Fixed": 2147483647})", "8"),
            "corrupt: p: strategy.Fixed: expected an integer from 0 to 4194304, found 2147483647");
  EXPECT_EQ(read(R"("BatchLongest")", "4194305"),
            "corrupt: p: pad_to_multiple_of: expected an integer from 0 to 4194304, found 4194305");
}

}  // namespace
}  // namespace mconnect
