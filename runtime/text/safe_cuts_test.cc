#include "runtime/text/safe_cuts.h"

#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "runtime/text/testing.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

using testing_text::Pieces;

constexpr const char* kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kO200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kDeepSeek = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
                              "\r\n"
                              R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
                              "\r\n"
                              R"(]*|\s*[)"
                              "\r\n"
                              R"(]+|\s+(?!\S)|\s+)";

Json Split(const std::string& pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

Json ByteLevel(bool use_regex, bool add_prefix_space = false) {
  return {
      {"type", "ByteLevel"}, {"add_prefix_space", add_prefix_space}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

Json Sequence(std::vector<Json> parts) { return {{"type", "Sequence"}, {"pretokenizers", std::move(parts)}}; }

std::optional<SafeCuts> CutsOf(const Json& json) {
  const JsonView view(json, "tokenizer.json");
  const auto normalizer = view.Find("normalizer");
  std::unique_ptr<const Normalizer> made;
  if (normalizer && !normalizer->IsNull()) made = Normalizer::FromJson(*normalizer);
  return SafeCuts::Of(view, made.get());
}

Json WithSplits(Json pre_tokenizer) {
  return {{"normalizer", nullptr}, {"pre_tokenizer", std::move(pre_tokenizer)}, {"model", {{"type", "BPE"}}}};
}

// Text of all kinds, with many borders of words.
std::string RandomText(std::mt19937* rng) {
  static constexpr const char* kParts[] = {
      " ",      " ",      " ",       "  ",     "\n",     "\n",     "\n\n",      "\r\n", "\t",     "\u00a0", "\u3000",
      "\u2028", "\u0085", "a",       "Word",   "it's",   "'S",     "'ll",       "42",   "1234",   "½",      "Ж",
      "日本",   "한국어", "e\u0301", "\u0301", "\u0903", ".",      ",",         "/",    "//",     "...",    "-",
      "(",      "\"",     "$",       "€",      "😀",      "\u200d", "\u200b",    "\x01", "\u180e", "\ufeff", "\u0600",
      "\u0d4e", "\u2581", "ǅ",       "ʰ",      "_",      "ﬁ",      "\U0001d7d8"};
  std::string text;
  for (std::size_t i = (*rng)() % 14; i-- > 0;) {
    if ((*rng)() % 8 == 0) {
      const char32_t c = (*rng)() % 0x3400 + 1;
      unicode::AppendUtf8(c, &text);
    } else {
      text += kParts[(*rng)() % std::size(kParts)];
    }
  }
  return text;
}

std::vector<std::size_t> Ends(const SafeCuts& cuts, std::string_view text) {
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < text.size(); at = ends.back()) ends.push_back(cuts.Next(text, at));
  return ends;
}

class PatternTest : public testing::TestWithParam<Json> {};

TEST_P(PatternTest, PartsHaveThePiecesOfTheWhole) {
  const auto cuts = CutsOf(WithSplits(GetParam()));
  ASSERT_TRUE(cuts);
  const std::string pre_tokenizer = GetParam().dump();
  std::mt19937 rng(20261201);
  std::size_t cut = 0;
  for (int round = 0; round < 2000; ++round) {
    // One text of many: the pre-tokenizer is made once for each.
    std::string text;
    for (int i = 0; i < 20; ++i) text += RandomText(&rng);
    const std::vector<std::size_t> ends = Ends(*cuts, text);
    cut += ends.size();
    const JsonView view(GetParam(), "pre_tokenizer");
    bool bytes_stay = true;
    const auto made = PreTokenizer::FromJson(view, &bytes_stay);
    TextScratch scratch;
    const auto pieces_of = [&](const AlignedText& part, Pieces* all) {
      std::vector<Piece> pieces = {{part, Piece::kText}};
      made->Split(&pieces, &scratch);
      for (const Piece& piece : pieces) {
        all->emplace_back(piece.text.text(), piece.text.Original(0, piece.text.text().size()));
      }
    };
    Pieces expected, got;
    pieces_of(AlignedText(text), &expected);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      pieces_of(AlignedText(text).Slice(begin, end), &got);
      begin = end;
    }
    ASSERT_EQ(got, expected) << pre_tokenizer << "\n" << text;
  }
  EXPECT_GT(cut, std::size_t{2000 * 5});
}

INSTANTIATE_TEST_SUITE_P(
    All, PatternTest,
    testing::Values(ByteLevel(true), ByteLevel(true, true), Sequence({Split(kGpt2), ByteLevel(false)}),
                    Sequence({Split(kLlama3), ByteLevel(false)}), Sequence({Split(kQwen2), ByteLevel(false)}),
                    Sequence({Split(kO200k), ByteLevel(false)}), Sequence({Split(kTekken), ByteLevel(false)}),
                    Sequence({Split(R"(\p{N}{1,3})"), Split("[一-龥\u3040-ゟ゠-ヿ]+"), Split(kDeepSeek),
                              ByteLevel(false)}),
                    Sequence({Json{{"type", "Digits"}, {"individual_digits", true}}, ByteLevel(true)}),
                    Sequence({Json{{"type", "Digits"}, {"individual_digits", false}}, ByteLevel(true)}),
                    Sequence({Split(kLlama3), ByteLevel(false, true)}), Json{{"type", "BertPreTokenizer"}},
                    Json{{"type", "Whitespace"}}, Json{{"type", "WhitespaceSplit"}}));

TEST(SafeCutsTest, CutsBeforeSpacesAndBehindLineFeeds) {
  const auto cuts = CutsOf(WithSplits(ByteLevel(true)));
  const auto parts = [&](const std::string& text) {
    std::vector<std::string> result;
    std::size_t begin = 0;
    for (const std::size_t end : Ends(*cuts, text)) {
      result.push_back(text.substr(begin, end - begin));
      begin = end;
    }
    return result;
  };
  EXPECT_EQ(parts("one two,  three"), (std::vector<std::string>{"one", " two,", "  three"}));
  EXPECT_EQ(parts("end.\nBegin\n\nx\n 1"), (std::vector<std::string>{"end.\n", "Begin\n\nx\n 1"}));
  EXPECT_EQ(parts("日本 語"), (std::vector<std::string>{"日本", " 語"}));
  EXPECT_EQ(parts("a\u3000 b"), (std::vector<std::string>{"a\u3000 b"}));
  EXPECT_EQ(parts("\u0d4e b"), (std::vector<std::string>{"\u0d4e b"}));  // one cluster
}

TEST(SafeCutsTest, WhatIsNotKnownHasNone) {
  EXPECT_FALSE(CutsOf(WithSplits(nullptr)));
  EXPECT_FALSE(CutsOf(WithSplits(Split("a b|."))));
  EXPECT_FALSE(CutsOf(WithSplits(Sequence({Split(kLlama3), Split("x y")}))));
  EXPECT_FALSE(CutsOf(WithSplits(Sequence({ByteLevel(false), Split(kLlama3)}))));  // which sees no spaces
  EXPECT_FALSE(CutsOf(WithSplits(ByteLevel(false))));
  Json inverted = Split(kLlama3);
  inverted["invert"] = true;
  EXPECT_FALSE(CutsOf(WithSplits(Sequence({inverted, ByteLevel(false)}))));
  Json stripped = WithSplits(ByteLevel(true));
  stripped["normalizer"] = {{"type", "StripAccents"}};  // may leave two spaces side by side
  EXPECT_FALSE(CutsOf(stripped));
}

Json SentencePiece(std::vector<std::string> merges) {
  Json vocab = {{"<unk>", 0}, {"\u2581", 1}};
  for (const std::string& merge : merges) vocab[merge] = vocab.size();
  return {{"normalizer", {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}},
          {"pre_tokenizer", nullptr},
          {"model", {{"type", "BPE"}, {"unk_token", "<unk>"}, {"vocab", vocab}, {"merges", merges}}}};
}

TEST(SafeCutsTest, MergesForbidCuts) {
  const std::string text = "a> b a";
  EXPECT_EQ(Ends(*CutsOf(SentencePiece({"\u2581 a", "\u2581 \u2581"})), text), (std::vector<std::size_t>{2, 4, 6}));
  EXPECT_EQ(Ends(*CutsOf(SentencePiece({"> \u2581a"})), text), (std::vector<std::size_t>{4, 6}));
  EXPECT_FALSE(CutsOf(SentencePiece({"é \u2581a"})));
  EXPECT_FALSE(CutsOf(SentencePiece({"<0x41> a"})));
  EXPECT_FALSE(CutsOf(SentencePiece({"a <unk>"})));
  Json suffixed = SentencePiece({"\u2581 a"});
  suffixed["model"]["end_of_word_suffix"] = "</w>";
  EXPECT_FALSE(CutsOf(suffixed));
  Json whole = SentencePiece({"\u2581 a"});
  whole["model"]["ignore_merges"] = true;
  EXPECT_FALSE(CutsOf(whole));
  Json unknown = SentencePiece({"\u2581 a"});
  unknown["model"]["vocab"].erase("\u2581");
  EXPECT_FALSE(CutsOf(unknown));
}

TEST(SafeCutsTest, OnlyWhatIsBehindTheFirstPartGoesWithoutThePrefix) {
  Json json = SentencePiece({"\u2581 a"});
  EXPECT_EQ(CutsOf(json)->inner_normalizer(), nullptr);
  json["normalizer"] = {{"type", "Sequence"},
                        {"normalizers", {{{"type", "Prepend"}, {"prepend", "\u2581"}}, json["normalizer"]}}};
  const auto cuts = CutsOf(json);
  ASSERT_TRUE(cuts && cuts->inner_normalizer() != nullptr);
  TextScratch scratch;
  EXPECT_EQ(cuts->inner_normalizer()->Normalize(AlignedText(" a"), &scratch).text(), "\u2581a");
}

}  // namespace
}  // namespace mconnect
