#include "runtime/text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/text/stream_decoder.h"
#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using Ids = std::vector<TokenId>;
using Spans = std::vector<Span>;

constexpr std::string_view kBert = R"({"version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 5, "content": "[CLS]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
    {"id": 6, "content": "[SEP]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true},
    {"id": 7, "content": "<m>", "single_word": false, "lstrip": true, "rstrip": false, "normalized": true, "special": false},
    {"id": 8, "content": "<r>", "single_word": false, "lstrip": false, "rstrip": true, "normalized": true, "special": false},
    {"id": 9, "content": "Day", "single_word": true, "lstrip": false, "rstrip": false, "normalized": true, "special": false}],
  "normalizer": {"type": "Lowercase"},
  "pre_tokenizer": {"type": "WhitespaceSplit"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [5], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [6], "tokens": ["[SEP]"]}}},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
    "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "日": 4}}})";

EncodeOptions Plain() {
  EncodeOptions options;
  options.add_special_tokens = false;
  return options;
}

TEST(TokenizerTest, EncodesWithSpecialTokensMasksAndOffsets) {
  const Encoding encoding = Tokenizer::FromJson(kBert).Encode("日 Unaffable x");
  EXPECT_EQ(encoding.ids, (Ids{5, 4, 1, 2, 3, 0, 6}));
  EXPECT_EQ(encoding.byte_offsets, (Spans{{0, 0}, {0, 3}, {4, 6}, {6, 9}, {9, 13}, {14, 15}, {0, 0}}));
  EXPECT_EQ(encoding.char_offsets, (Spans{{0, 0}, {0, 1}, {2, 4}, {4, 7}, {7, 11}, {12, 13}, {0, 0}}));
  EXPECT_EQ(encoding.special_tokens_mask, (std::vector<std::int32_t>{1, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(encoding.attention_mask, std::vector<std::int32_t>(7, 1));
}

TEST(TokenizerTest, GivesTheFurtherWindowsOfATextThatIsCut) {
  const Tokenizer tokenizer = Tokenizer::FromJson(kBert);
  EncodeOptions options;
  options.max_tokens = 5;
  options.stride = 1;
  const Encoding encoding = tokenizer.Encode("日 Unaffable x", options);  // 4 1 2 3 0
  EXPECT_EQ(encoding.ids, (Ids{5, 4, 1, 2, 6}));
  ASSERT_EQ(encoding.overflowing.size(), 1u);
  EXPECT_EQ(encoding.overflowing[0].ids, (Ids{5, 2, 3, 0, 6}));
  EXPECT_EQ(encoding.overflowing[0].byte_offsets, (Spans{{0, 0}, {6, 9}, {9, 13}, {14, 15}, {0, 0}}));
  EXPECT_EQ(encoding.overflowing[0].char_offsets, (Spans{{0, 0}, {4, 7}, {7, 11}, {12, 13}, {0, 0}}));
  EXPECT_TRUE(tokenizer.Encode("日", options).overflowing.empty());
  options.stride.reset();
  EXPECT_TRUE(tokenizer.Encode("日 Unaffable x", options).overflowing.empty());
  options.stride = 3;
  EXPECT_EQ(ErrorOf([&] { tokenizer.Encode("日 Unaffable x", options); }),
            "invalid-argument: stride is 3, but a window has 3 tokens without special ones");
  EXPECT_EQ(ErrorOf([&] { tokenizer.Encode("a", "b", options); }),
            "invalid-argument: stride is for one text, not for a pair of texts");
}

TEST(TokenizerTest, EncodesPairs) {
  const Encoding encoding = Tokenizer::FromJson(kBert).Encode("un", "日 un");
  EXPECT_EQ(encoding.ids, (Ids{5, 1, 6, 4, 1, 6}));
  EXPECT_EQ(encoding.type_ids, (std::vector<std::int32_t>{0, 0, 0, 1, 1, 1}));
}

TEST(TokenizerTest, AddedTokensStripSpacesAndKeepToWords) {
  const Encoding encoding = Tokenizer::FromJson(kBert).Encode("un  <M> un<r>  day days un [SEP]", Plain());
  EXPECT_EQ(encoding.ids, (Ids{1, 7, 1, 8, 9, 0, 1, 6}));
  EXPECT_EQ(encoding.byte_offsets, (Spans{{0, 2}, {2, 7}, {8, 10}, {10, 15}, {15, 18}, {19, 23}, {24, 26}, {27, 32}}));
}

// "[SEP]" at bytes 3 to 8 and 12 to 17.
constexpr std::string_view kTwice = "un [SEP] un [SEP]";

Ids IdsWithPlain(std::string_view text, std::vector<Span> plain) {
  EncodeOptions options = Plain();
  options.plain_text = std::move(plain);
  return Tokenizer::FromJson(kBert).Encode(text, options).ids;
}

TEST(TokenizerTest, SpecialTokensInPlainTextAreText) {
  EXPECT_EQ(IdsWithPlain(kTwice, {}), (Ids{1, 6, 1, 6}));
  EXPECT_EQ(IdsWithPlain(kTwice, {{0, 17}}), (Ids{1, 0, 1, 0}));
  EXPECT_EQ(IdsWithPlain(kTwice, {{3, 8}}), (Ids{1, 0, 1, 6}));
  EXPECT_EQ(IdsWithPlain(kTwice, {{0, 3}, {8, 12}}), (Ids{1, 6, 1, 6}));  // beside a range is not inside
}

TEST(TokenizerTest, SpecialTokensAcrossABorderOfPlainTextAreText) {
  for (std::uint32_t border = 4; border < 8; ++border) {
    EXPECT_EQ(IdsWithPlain(kTwice, {{0, border}}), (Ids{1, 0, 1, 6})) << border;
    EXPECT_EQ(IdsWithPlain(kTwice, {{border, 10}}), (Ids{1, 0, 1, 6})) << border;
  }
  EXPECT_EQ(IdsWithPlain(kTwice, {{5, 5}}), (Ids{1, 6, 1, 6}));  // nothing is not inside
}

TEST(TokenizerTest, PlainTextCannotSwallowTheTokensBesideIt) {
  EXPECT_EQ(IdsWithPlain("[SEP[SEP]", {{0, 4}}), (Ids{0, 6}));
  EXPECT_EQ(IdsWithPlain("[SEP]SEP]", {{5, 9}}), (Ids{6, 0}));
}

TEST(TokenizerTest, OtherAddedTokensInPlainTextAreTokens) { EXPECT_EQ(IdsWithPlain("un <M>", {{0, 6}}), (Ids{1, 7})); }

TEST(TokenizerTest, PlainTextIsMadeWellFormedByItself) {
  EXPECT_EQ(IdsWithPlain("\xFF\xFF[SEP] [SEP]", {{2, 7}}), (Ids{0, 6}));
  EXPECT_EQ(IdsWithPlain("\xFF\xFF[SEP] [SEP]", {{0, 2}}), (Ids{0, 6, 6}));
}

TEST(TokenizerTest, RefusesPlainTextThatIsNotRangesOfOneText) {
  const auto tokenizer = Tokenizer::FromJson(kBert);
  EncodeOptions options;
  options.plain_text = {{0, 3}};
  EXPECT_EQ(ErrorOf([&] { tokenizer.Encode("un", options); }),
            "invalid-argument: plain_text has the range [0, 3) after byte 0 of a text of 2 bytes");
  EXPECT_EQ(ErrorOf([&] { tokenizer.Encode("un un", "un", options); }),
            "invalid-argument: plain_text is for one text, not for a pair of texts");
  EXPECT_EQ(ErrorOf([&] { tokenizer.EncodeBatch(std::vector<std::string>{"un un"}, options); }),
            "invalid-argument: plain_text is for one text, not for a batch");
  options.plain_text = {{2, 3}, {1, 4}};
  EXPECT_EQ(ErrorOf([&] { tokenizer.Encode("un un", options); }),
            "invalid-argument: plain_text has the range [1, 4) after byte 3 of a text of 5 bytes");
}

TEST(TokenizerTest, LeavesOutOffsetsOnRequest) {
  EncodeOptions options;
  options.offsets = false;
  const Encoding encoding = Tokenizer::FromJson(kBert).Encode("un", "", options);
  EXPECT_EQ(encoding.ids, (Ids{5, 1, 6, 6}));
  EXPECT_TRUE(encoding.byte_offsets.empty());
  EXPECT_TRUE(encoding.char_offsets.empty());
}

TEST(TokenizerTest, CutsTheLongerTextFirst) {
  EncodeOptions options;
  options.max_tokens = 7;
  const auto tokenizer = Tokenizer::FromJson(kBert);
  EXPECT_EQ(tokenizer.Encode("un", "日 日 日 日 日", options).ids, (Ids{5, 1, 6, 4, 4, 4, 6}));
  EXPECT_EQ(tokenizer.Encode("un un un un", "日 日 日", options).ids, (Ids{5, 1, 1, 6, 4, 4, 6}));
  EXPECT_EQ(tokenizer.Encode("un un un un un un", options).ids, (Ids{5, 1, 1, 1, 1, 1, 6}));
}

TEST(TokenizerTest, RefusesALimitBelowTheSpecialTokens) {
  EncodeOptions options;
  options.max_tokens = 1;
  EXPECT_EQ(ErrorOf([&] { Tokenizer::FromJson(kBert).Encode("un", options); }),
            "invalid-argument: max_tokens is 1, but the special tokens alone are 2");
}

TEST(TokenizerTest, PadsABatchToTheLongest) {
  EncodeOptions options = Plain();
  options.padding = Padding{Padding::To::kLongest, 0, 4, /*left=*/true, 9, 3};
  const std::vector<std::string> texts = {"un", "un un 日", ""};
  const auto batch = Tokenizer::FromJson(kBert).EncodeBatch(texts, options);
  EXPECT_EQ(batch[0].ids, (Ids{9, 9, 9, 1}));
  EXPECT_EQ(batch[0].attention_mask, (std::vector<std::int32_t>{0, 0, 0, 1}));
  EXPECT_EQ(batch[0].type_ids, (std::vector<std::int32_t>{3, 3, 3, 0}));
  EXPECT_EQ(batch[2].ids, (Ids{9, 9, 9, 9}));
  EXPECT_EQ(batch[2].byte_offsets, Spans(4));
}

TEST(TokenizerTest, RepairsIllFormedText) {
  const auto tokenizer = Tokenizer::FromJson(kBert);
  EXPECT_EQ(tokenizer.Encode("un\xFF un", Plain()).ids, tokenizer.Encode("un\uFFFD un", Plain()).ids);
}

TEST(TokenizerTest, DecodesAndLooksUp) {
  const auto tokenizer = Tokenizer::FromJson(kBert);
  const Ids ids = {5, 1, 2, 4, 6, 99, -1};
  EXPECT_EQ(tokenizer.Decode(ids), "unaff 日");
  EXPECT_EQ(tokenizer.Decode(ids, /*skip_special_tokens=*/false), "[CLS] unaff 日 [SEP]");
  EXPECT_EQ(tokenizer.TokenToId("[SEP]"), 6);
  EXPECT_EQ(tokenizer.IdToToken(2), "##aff");
  EXPECT_EQ(tokenizer.IdToToken(99), std::nullopt);
  EXPECT_TRUE(tokenizer.IsSpecial(5));
  EXPECT_FALSE(tokenizer.IsSpecial(7));
  EXPECT_EQ(tokenizer.vocab_size(), 10u);
  EXPECT_EQ(tokenizer.num_special_tokens(), 2u);
  EXPECT_EQ(tokenizer.num_special_tokens(/*pair=*/true), 3u);
}

TEST(StreamDecoderTest, StartsAnewAfterFinish) {
  const auto tokenizer = Tokenizer::FromJson(kBert);
  StreamDecoder decoder(tokenizer);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(decoder.Put(5), "");
    EXPECT_EQ(decoder.Put(1), "un");
    EXPECT_EQ(decoder.Put(2), "aff");
    EXPECT_EQ(decoder.Put(1), " un");
    EXPECT_EQ(decoder.Finish(), "");
  }
}

TEST(TokenizerTest, ThreadsShareOne) {
  const auto tokenizer = Tokenizer::FromJson(kBert);
  const Ids expected = tokenizer.Encode("Unaffable 日 un").ids;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) count += tokenizer.Encode("Unaffable 日 un").ids != expected;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

TEST(TokenizerTest, NamesWhatIsWrongWithTheFile) {
  EXPECT_EQ(ErrorOf([] { Tokenizer::FromJson("{}"); }), "corrupt: tokenizer.json: the key 'model' is missing");
  EXPECT_EQ(ErrorOf([] { Tokenizer::FromJson(R"({"version": "2.0"})"); }),
            "unsupported: tokenizer.json: version: '2.0' is not 1.0");
}

// Every damaged file is refused with an Error or makes a tokenizer that works.
TEST(TokenizerTest, SurvivesDamagedFiles) {
  std::mt19937 rng(3);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text(kBert);
    for (unsigned i = 0; i < 1 + rng() % 3; ++i) {
      const std::size_t at = rng() % text.size();
      switch (rng() % 4) {
        case 0:
          text[at] = static_cast<char>(rng());
          break;
        case 1:
          text.erase(at, rng() % 20);
          break;
        case 2:
          text.insert(at, text.substr(rng() % text.size(), rng() % 30));
          break;
        default:
          text[at] = "0123456789{}[]\",:-"[rng() % 18];
      }
    }
    try {
      const auto tokenizer = Tokenizer::FromJson(text);
      const Encoding encoding = tokenizer.Encode("日 Unaffable <m> x", "[SEP] un");
      tokenizer.Decode(encoding.ids);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1500);
}

}  // namespace
}  // namespace mconnect
