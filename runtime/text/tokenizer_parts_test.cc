// A tokenizer works on a text part by part and remembers parts; the results are those of the whole text.
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "runtime/text/testing.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {
namespace {

Json Added(const std::string& content, TokenId id, bool lstrip, bool normalized, bool special) {
  return {{"id", id},        {"content", content},       {"single_word", false}, {"lstrip", lstrip},
          {"rstrip", false}, {"normalized", normalized}, {"special", special}};
}

Json SentencePieceBpe() {
  const std::string m = "\u2581";
  Json vocab = {{"<unk>", 0}, {"<0x0A>", 1}};
  for (char c = 'A'; c <= 'z'; ++c) {
    if (c <= 'Z' || c >= 'a') vocab[std::string(1, c)] = vocab.size();
  }
  for (const char* c : {"\u2581", ".", ",", ">", "é", "1"}) vocab[c] = vocab.size();
  Json merges = Json::array();
  const std::vector<std::pair<std::string, std::string>> pairs = {{m, m},          {m + m, m}, {m, "a"}, {"b", "c"},
                                                                  {m + "a", "bc"}, {".", ","}, {">", m}, {"a", "b"},
                                                                  {m, "b"},        {"é", "a"}};
  for (const auto& [left, right] : pairs) {
    vocab.emplace(left + right, vocab.size());
    merges.push_back(left + " " + right);
  }
  return {{"version", "1.0"},
          {"added_tokens", Json::array({Added("<s>", 0, false, false, true), Added("<n>", 0, false, true, true)})},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", m}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", m}}}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", merges}}}};
}

Json Unigram(const std::string& scheme) {
  Json vocab = Json::array({Json::array({"<unk>", 0.0})});
  for (const char* token : {"\u2581", "\u2581a", "a", "b", "ab", "\u2581b", ".", "c", "bc", "é", "\u2581abc"}) {
    vocab.push_back(Json::array({token, -1.0 - 0.7 * static_cast<double>(vocab.size() % 5)}));
  }
  return {{"version", "1.0"},
          {"added_tokens", Json::array({Added("<s>", 0, false, false, true)})},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}},
              {{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", "\u2581"}}}}}},
          {"pre_tokenizer",
           {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", scheme}, {"split", true}}},
          {"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}}}};
}

Json Bert() {
  Json vocab = {{"[UNK]", 0}};
  for (const char* token : {"a", "b", "##a", "##b", "##c", "ab", "##bc", ".", ",", "e", "日", "##1", "1", ">"}) {
    vocab[token] = vocab.size();
  }
  return {{"version", "1.0"},
          {"added_tokens", Json::array({Added("<s>", 0, false, false, true), Added("<n>", 20, false, true, false)})},
          {"normalizer",
           {{"type", "BertNormalizer"}, {"clean_text", true}, {"handle_chinese_chars", true}, {"lowercase", true}}},
          {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 9},
            {"vocab", vocab}}}};
}

class PartsTest : public testing::TestWithParam<Json> {};

TEST_P(PartsTest, HaveTheTokensOfTheWhole) {
  const Tokenizer by_parts = Tokenizer::FromJson(GetParam().dump());
  Json whole_json = GetParam();
  // A token that takes the spaces beside it might take those of the part before.
  whole_json["added_tokens"].push_back(Added("\ue000\ue001", 90, /*lstrip=*/true, /*normalized=*/true, false));
  const Tokenizer whole = Tokenizer::FromJson(whole_json.dump());

  static constexpr const char* kParts[] = {" ", " ",  " ",      "  ",     "\n",   "\n",  "\t", "a",  "b",
                                           "c", "ab", "abc",    "bc",     ".",    ",",   ">",  "é",  "1",
                                           "Z", "日", "\u2581", "\u00a0", "<s>",  "<n>", "<",  "aa", "bb",
                                           "😀", "ж",  "\x01",   "\u0301", "\r\n", "\xff"};
  std::mt19937 rng(20261201);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (std::size_t i = rng() % 24; i-- > 0;) text += kParts[rng() % std::size(kParts)];
    EncodeOptions options;
    options.offsets = round % 7 != 0;
    if (round % 5 == 0 && !text.empty()) {
      options.plain_text = {{0, static_cast<std::uint32_t>(rng() % text.size())}};
    }
    const Encoding got = by_parts.Encode(text, options);
    const Encoding expected = whole.Encode(text, options);
    ASSERT_EQ(got.ids, expected.ids) << text;
    ASSERT_EQ(got.byte_offsets, expected.byte_offsets) << text;
    ASSERT_EQ(got.char_offsets, expected.char_offsets) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PartsTest,
                         testing::Values(SentencePieceBpe(), Unigram("always"), Unigram("first"), Unigram("never"),
                                         Bert()));

}  // namespace
}  // namespace mconnect
