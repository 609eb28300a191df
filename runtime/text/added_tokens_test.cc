#include "runtime/text/added_tokens.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/text/testing.h"

namespace mconnect {
namespace {

struct Flags {
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
  bool special = false;
};

class AddedTokensTest : public testing::Test {
 protected:
  void Add(const std::string& content, const Flags& flags = {}) {
    json_.push_back({{"id", 0},
                     {"content", content},
                     {"single_word", flags.single_word},
                     {"lstrip", flags.lstrip},
                     {"rstrip", flags.rstrip},
                     {"normalized", flags.normalized},
                     {"special", flags.special}});
  }

  // A model of ten tokens, which knows "known" as 3.
  AddedTokens Make(const Normalizer* normalizer = nullptr) const {
    const auto model = [](std::string_view token) {
      return token == "known" ? std::optional<TokenId>(3) : std::nullopt;
    };
    return AddedTokens(JsonView(json_, "added_tokens"), normalizer, model, 10);
  }

  using Found = std::vector<std::pair<std::string, TokenId>>;

  Found FindRaw(std::string_view text, const std::vector<Span>& plain = {}) const {
    std::vector<Piece> pieces;
    Make().FindRaw(text, plain, &pieces);
    Found found;
    for (const Piece& piece : pieces) found.emplace_back(piece.text.text(), piece.added_token);
    return found;
  }

  Json json_ = Json::array();
};

constexpr TokenId kText = Piece::kText;

TEST_F(AddedTokensTest, HaveTheModelsIdsOrTheNextFreeOnes) {
  Add("<a>");
  Add("known");
  Add("<b>");
  Add("<a>");  // again
  const AddedTokens added = Make();
  EXPECT_EQ(added.Id("<a>"), 10);
  EXPECT_EQ(added.Id("known"), 3);
  EXPECT_EQ(added.Id("<b>"), 11);
  EXPECT_EQ(added.Id("<c>"), std::nullopt);
  EXPECT_EQ(added.size_beyond_model(), 2u);
  EXPECT_EQ(*added.Text(11), "<b>");
  EXPECT_EQ(added.Text(12), nullptr);
}

TEST_F(AddedTokensTest, TheLeftmostLongestIsFound) {
  Add("<a");
  Add("<a>");
  Add("a>x");
  EXPECT_EQ(FindRaw("1<a>x<a<a>"), (Found{{"1", kText}, {"<a>", 11}, {"x", kText}, {"<a", 10}, {"<a>", 11}}));
  EXPECT_EQ(FindRaw(""), Found{});
}

TEST_F(AddedTokensTest, StripTakesTheSpacesBeside) {
  Add("<l>", {.lstrip = true});
  Add("<r>", {.rstrip = true});
  EXPECT_EQ(FindRaw("a \u3000<l> b"), (Found{{"a", kText}, {" \u3000<l>", 10}, {" b", kText}}));
  EXPECT_EQ(FindRaw("a <r> \nb"), (Found{{"a ", kText}, {"<r> \n", 11}, {"b", kText}}));
  EXPECT_EQ(FindRaw("<r> <l>"), (Found{{"<r> ", 11}, {"<l>", 10}}));  // what is taken is gone
}

TEST_F(AddedTokensTest, SingleWordsAreNoPartOfAWord) {
  Add("day", {.single_word = true});
  EXPECT_EQ(FindRaw("day, days, a-day"), (Found{{"day", 10}, {", days, a-", kText}, {"day", 10}}));
  EXPECT_EQ(FindRaw("éday"), (Found{{"éday", kText}}));
}

TEST_F(AddedTokensTest, SpecialOnesMeanNothingInPlainText) {
  Add("<s>", {.special = true});
  Add("<n>");
  EXPECT_EQ(FindRaw("<s><n><s>", {{0, 6}}), (Found{{"<s>", kText}, {"<n>", 11}, {"<s>", 10}}));
  EXPECT_EQ(FindRaw("<s>", {{2, 3}}), (Found{{"<s>", kText}}));  // one byte is enough
}

TEST_F(AddedTokensTest, NormalizedOnesAreFoundInNormalizedText) {
  const Json lowercase = {{"type", "Lowercase"}};
  const auto normalizer = Normalizer::FromJson(JsonView(lowercase, "normalizer"));
  Add("Day", {.normalized = true});
  Add("<S>", {.special = true});
  const AddedTokens added = Make(normalizer.get());
  EXPECT_EQ(*added.Text(10), "day");
  EXPECT_FALSE(added.has_normalized_special());
  std::vector<Piece> pieces;
  added.FindNormalized(AlignedText("a day <S>"), {}, &pieces);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[1].added_token, 10);
  EXPECT_EQ(pieces[2].text.text(), " <S>");
}

TEST_F(AddedTokensTest, SayWhereNormalizedTextCanBeCut) {
  static constexpr std::string_view kSpace[] = {" "};
  Add("a b");  // raw: not asked for
  EXPECT_TRUE(Make().NormalizedEndBefore(kSpace));
  Add(" ab", {.normalized = true});
  EXPECT_TRUE(Make().NormalizedEndBefore(kSpace));
  Add("a b c", {.normalized = true});
  EXPECT_FALSE(Make().NormalizedEndBefore(kSpace));
  json_ = Json::array();
  Add("x", {.rstrip = true, .normalized = true});
  EXPECT_FALSE(Make().NormalizedEndBefore(kSpace));
}

TEST_F(AddedTokensTest, AreAtMost1024BytesLong) {
  Add(std::string(1024, 'x'));
  EXPECT_EQ(FindRaw("ab" + std::string(1024, 'x')).size(), 2u);
  Add(std::string(1025, 'x'));
  EXPECT_EQ(testing_text::ErrorOf([&] { Make(); }),
            "unsupported: added_tokens: the token with id 11 has 1025 bytes; at most 1024 are allowed");
}

TEST_F(AddedTokensTest, RefuseWhatIsNoToken) {
  json_ = {{{"id", 1}, {"content", "x"}}};
  EXPECT_EQ(testing_text::ErrorOf([&] { Make(); }), "corrupt: added_tokens[0]: the key 'single_word' is missing");
}

}  // namespace
}  // namespace mconnect
