#include "runtime/text/model/unigram.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

using testing_text::ErrorOf;
using Tokens = std::vector<std::pair<TokenId, std::uint32_t>>;

std::unique_ptr<const TokenModel> Make(const std::string& vocab, const std::string& more = R"(, "unk_id": 0)") {
  const Json json = ParseJson(R"({"type": "Unigram", "vocab": )" + vocab + more + "}", "model");
  return TokenModel::FromJson(JsonView(json, "model"), /*reads_bytes=*/false);
}

Tokens Tokenize(const TokenModel& model, std::string_view piece) {
  std::vector<PieceToken> tokens;
  model.Tokenize(piece, &tokens);
  Tokens result;
  for (const PieceToken& token : tokens) result.emplace_back(token.id, token.size);
  return result;
}

TEST(UnigramTest, TakesTheMostProbableWay) {
  const auto model = Make(R"([["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["bc", -3], ["c", -2]])");
  EXPECT_EQ(Tokenize(*model, "ab"), (Tokens{{3, 2}}));
  EXPECT_EQ(Tokenize(*model, "abc"), (Tokens{{3, 2}, {5, 1}}));
  EXPECT_EQ(Tokenize(*model, "bbc"), (Tokens{{2, 1}, {4, 2}}));  // b and c are as probable as bc
  EXPECT_EQ(Tokenize(*model, std::string(300, 'c')), Tokens(300, {5, 1}));
}

TEST(UnigramTest, FusesUnknownCharacters) {
  const auto model = Make(R"([["<unk>", 0], ["a", -1]])");
  EXPECT_EQ(Tokenize(*model, "éxaz"), (Tokens{{0, 3}, {1, 1}, {0, 1}}));
}

TEST(UnigramTest, FallsBackToBytesThatCoverTheWholeRun) {
  const auto model =
      Make(R"([["<unk>", 0], ["<0xC3>", -1], ["<0xA9>", -1], ["a", -1]])", R"(, "unk_id": 0, "byte_fallback": true)");
  std::vector<PieceToken> tokens;
  model->Tokenize("aéa", &tokens);
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ((Tokens{{tokens[1].id, tokens[1].size}, {tokens[2].id, tokens[2].size}}), (Tokens{{1, 2}, {2, 2}}));
  EXPECT_EQ(tokens[1].step, 0u);
  EXPECT_EQ(tokens[2].step, 2u);
  EXPECT_EQ(Tokenize(*model, "ü"), (Tokens{{0, 2}}));  // C3 BC: not all bytes have tokens
}

TEST(UnigramTest, NamesWhatIsWrong) {
  EXPECT_EQ(ErrorOf([] { Make(R"([["a"]])"); }),
            R"(corrupt: model: vocab: entry 0, ["a"], is not a token and a score)");
  EXPECT_EQ(ErrorOf([] { Make(R"({"a": 1})"); }), "corrupt: model: vocab: must be an array of tokens and scores");
  EXPECT_NE(ErrorOf([] { Make(R"([["a", 0]])", R"(, "unk_id": 1)"); }).find("unk_id"), std::string::npos);
  EXPECT_EQ(ErrorOf([] { Tokenize(*Make(R"([["a", 0]])", ""), "b"); }),
            "corrupt: a character is not in the vocabulary, and the model has no unk_id");
}

}  // namespace
}  // namespace mconnect
