#include "runtime/text/model/model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using Tokens = std::vector<std::pair<TokenId, std::uint32_t>>;

std::unique_ptr<const TokenModel> Make(std::string_view text, bool reads_bytes = false) {
  const Json json = ParseJson(text, "model");
  return TokenModel::FromJson(JsonView(json, "model"), reads_bytes);
}

Tokens Tokenize(const TokenModel& model, std::string_view piece) {
  std::vector<PieceToken> tokens;
  model.Tokenize(piece, &tokens);
  Tokens result;
  for (const PieceToken& token : tokens) result.emplace_back(token.id, token.size);
  return result;
}

std::string Bpe(const std::string& more) {
  return R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "c": 3, "<unk>": 4, "abc": 5}, "merges": ["a b", ["ab", "c"]])" +
         more + "}";
}

constexpr std::string_view kWordPiece =
    R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
  "max_input_chars_per_word": 10, "vocab": {"[UNK]": 0, "un": 1, "##aff": 2, "##able": 3, "日": 4}})";

TEST(BpeTest, MergesInTheOrderOfTraining) {
  const auto model = Make(Bpe(R"(, "unk_token": "<unk>")"));
  EXPECT_EQ(Tokenize(*model, "abc"), (Tokens{{5, 3}}));
  EXPECT_EQ(Tokenize(*model, "xab"), (Tokens{{4, 1}, {2, 2}}));
}

TEST(BpeTest, UnknownCharactersAreSingleFusedOrDropped) {
  EXPECT_EQ(Tokenize(*Make(Bpe(R"(, "unk_token": "<unk>")")), "abxyc"), (Tokens{{2, 2}, {4, 1}, {4, 1}, {3, 1}}));
  EXPECT_EQ(Tokenize(*Make(Bpe(R"(, "unk_token": "<unk>", "fuse_unk": true)")), "abxyc"),
            (Tokens{{2, 2}, {4, 2}, {3, 1}}));
  EXPECT_EQ(Tokenize(*Make(Bpe("")), "abxyc"), (Tokens{{5, 3}}));
}

TEST(BpeTest, IgnoreMergesTakesWholePieces) {
  constexpr std::string_view kJson =
      R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [], "ignore_merges": true})";
  EXPECT_EQ(Tokenize(*Make(kJson), "ab"), (Tokens{{2, 2}}));
  EXPECT_EQ(Tokenize(*Make(kJson), "aba"), (Tokens{{0, 1}, {1, 1}, {0, 1}}));
}

TEST(BpeTest, PrefixAndSuffix) {
  const auto model = Make(R"({"type": "BPE", "vocab": {"a</w>": 0, "b": 1, "##a</w>": 2, "ba</w>": 3},
    "merges": [["b", "##a</w>"]], "continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"})");
  EXPECT_EQ(Tokenize(*model, "ba"), (Tokens{{3, 2}}));
  EXPECT_EQ(Tokenize(*model, "a"), (Tokens{{0, 1}}));
}

TEST(BpeTest, FallsBackToBytes) {
  const auto model = Make(R"({"type": "BPE", "vocab": {"<0xC3>": 0, "<0xA9>": 1, "<unk>": 2}, "merges": [],
    "unk_token": "<unk>", "byte_fallback": true})");
  EXPECT_EQ(Tokenize(*model, "é"), (Tokens{{0, 1}, {1, 1}}));
  EXPECT_EQ(Tokenize(*model, "x"), (Tokens{{2, 1}}));
}

TEST(BpeTest, LongPiecesMergeLikeShortOnes) {
  const auto model = Make(R"({"type": "BPE", "vocab": {"a": 0, "aa": 1, "aaaa": 2, "b": 3, "ab": 4},
    "merges": ["a b", "a a", "aa aa"]})");
  for (std::size_t size = 1; size < 200; ++size) {
    // Pairs from the left, then pairs of pairs; the last a goes with the b.
    Tokens expected(size / 4, {2, 4});
    if (size % 4 >= 2) expected.emplace_back(1, 2);
    if (size % 2 == 1) expected.emplace_back(0, 1);
    expected.emplace_back(4, 2);
    ASSERT_EQ(Tokenize(*model, std::string(size + 1, 'a') + "b"), expected) << size;
  }
}

TEST(BpeTest, RefusesWhatItCannotHonour) {
  EXPECT_EQ(ErrorOf([] { Make(Bpe(R"(, "dropout": 0.5)")); }), "unsupported: model: dropout 0.5 is for training");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const std::string json = R"({"type": "BPE", "byte_fallback": true, "vocab": {}, "merges": [], ")";
    EXPECT_EQ(
        ErrorOf([&] { Make(json + affix + R"(": "</w>"})"); }),
        "unsupported: model: byte_fallback beside continuing_subword_prefix or end_of_word_suffix is not supported");
    EXPECT_EQ(ErrorOf([&] { Make(json + affix + R"(": ""})"); }), "no error");
  }
  EXPECT_EQ(ErrorOf([] { Make(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a x"]})"); }),
            R"(corrupt: model: merges: merge 0, "a x", needs a token that is not in the vocabulary)");
  EXPECT_EQ(ErrorOf([] { Make(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"); }),
            "corrupt: model: vocab: the id of 'a' must be an integer from 0 to 16777215, not -1");
}

TEST(WordPieceTest, TakesTheLongestToken) {
  const auto model = Make(kWordPiece);
  EXPECT_EQ(Tokenize(*model, "unaffable"), (Tokens{{1, 2}, {2, 3}, {3, 4}}));
  EXPECT_EQ(Tokenize(*model, "日"), (Tokens{{4, 3}}));
}

TEST(WordPieceTest, AWordIsKnownInFullOrNotAtAll) {
  const auto model = Make(kWordPiece);
  EXPECT_EQ(Tokenize(*model, "unx"), (Tokens{{0, 3}}));
  EXPECT_EQ(Tokenize(*model, "unaffableaff"), (Tokens{{0, 12}}));  // 12 characters, more than 10
}

TEST(ModelTest, NamesAnUnknownType) {
  EXPECT_EQ(ErrorOf([] { Make(R"({"type": "Markov", "vocab": {}})"); }),
            "unsupported: model: the model 'Markov' is not supported");
}

TEST(WordLevelTest, KnowsWholePiecesOnly) {
  const auto model = Make(R"({"type": "WordLevel", "vocab": {"[UNK]": 0, "ab": 1}, "unk_token": "[UNK]"})");
  EXPECT_EQ(Tokenize(*model, "ab"), (Tokens{{1, 2}}));
  EXPECT_EQ(Tokenize(*model, "abé"), (Tokens{{0, 4}}));
  EXPECT_EQ(ErrorOf([] { Tokenize(*Make(R"({"type": "WordLevel", "vocab": {}, "unk_token": "?"})"), "a"); }),
            "corrupt: a word is not in the vocabulary, and neither is its unk_token '?'");
}

}  // namespace
}  // namespace mconnect
