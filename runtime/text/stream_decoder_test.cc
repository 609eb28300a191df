#include "runtime/text/stream_decoder.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "runtime/text/testing.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

using Ids = std::vector<TokenId>;

// Bytes of "é" and "日" by themselves, and a special token.
constexpr std::string_view kBytes = R"({"version": "1.0",
  "added_tokens": [{"id": 7, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
  "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false},
  "model": {"type": "BPE", "vocab": {"a": 0, "Ã": 1, "©": 2, "æ": 3, "Ĺ": 4, "¥": 5, "Ġ": 6}, "merges": []}})";

std::vector<std::string> Stream(const Tokenizer& tokenizer, const Ids& ids, bool skip_special_tokens = true) {
  StreamDecoder decoder(tokenizer, skip_special_tokens);
  std::vector<std::string> texts;
  for (const TokenId id : ids) texts.push_back(decoder.Put(id));
  texts.push_back(decoder.Finish());
  return texts;
}

TEST(StreamDecoderTest, HoldsACharacterBackUntilItIsWhole) {
  const Tokenizer tokenizer = Tokenizer::FromJson(kBytes);
  EXPECT_EQ(Stream(tokenizer, {0, 1, 2, 0}), (std::vector<std::string>{"a", "", "é", "a", ""}));
  EXPECT_EQ(Stream(tokenizer, {3, 4, 5}), (std::vector<std::string>{"", "", "日", ""}));
}

TEST(StreamDecoderTest, WhatNeverBecomesACharacterIsReplaced) {
  const Tokenizer tokenizer = Tokenizer::FromJson(kBytes);
  EXPECT_EQ(Stream(tokenizer, {3, 4}), (std::vector<std::string>{"", "", "\uFFFD"}));
  EXPECT_EQ(Stream(tokenizer, {1, 0}), (std::vector<std::string>{"", "\uFFFDa", ""}));
}

TEST(StreamDecoderTest, SkipsSpecialTokensWhereAsked) {
  const Tokenizer tokenizer = Tokenizer::FromJson(kBytes);
  EXPECT_EQ(Stream(tokenizer, {0, 7, 99}), (std::vector<std::string>{"a", "", "", ""}));
  EXPECT_EQ(Stream(tokenizer, {0, 7}, false), (std::vector<std::string>{"a", "<s>", ""}));
}

TEST(StreamDecoderTest, IsAsNewOnceFinished) {
  const Tokenizer tokenizer = Tokenizer::FromJson(kBytes);
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.Put(1), "");
  EXPECT_EQ(decoder.Finish(), "\uFFFD");
  EXPECT_EQ(decoder.Finish(), "");
  EXPECT_EQ(decoder.Put(0), "a");
}

TEST(StreamDecoderTest, GivesTheTextOfDecodeInWholeCharacters) {
  const Tokenizer tokenizer = Tokenizer::FromJson(kBytes);
  std::mt19937 rng(1);
  for (int round = 0; round < 2000; ++round) {
    Ids ids(rng() % 12);
    for (TokenId& id : ids) id = static_cast<TokenId>(rng() % 8);
    std::string all;
    for (const std::string& text : Stream(tokenizer, ids)) {
      EXPECT_FALSE(unicode::Repair(text)) << text;
      all += text;
    }
    ASSERT_EQ(all, tokenizer.Decode(ids));
  }
}

}  // namespace
}  // namespace mconnect
