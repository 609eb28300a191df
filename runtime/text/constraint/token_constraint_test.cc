#include "runtime/text/constraint/token_constraint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/constraint/constraint_testing.h"
#include "runtime/text/constraint/json_schema.h"
#include "runtime/text/constraint/regex_grammar.h"

namespace mconnect {
namespace {

Grammar Regex(const std::string& pattern) {
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  builder.Define(rule, RegexFragment(pattern, builder));
  return builder.Finish(rule);
}

std::shared_ptr<const VocabularyTrie> Tokens(std::vector<std::string> bytes) {
  return std::make_shared<const VocabularyTrie>(TokenBytes{std::move(bytes), false});
}

std::vector<TokenId> Allowed(const ConstraintMatcher& matcher, const std::vector<TokenId>& ends, std::size_t size) {
  std::vector<float> logits(size, 1.0f);
  matcher.Mask(ends, logits);
  std::vector<TokenId> ids;
  for (std::size_t id = 0; id < size; ++id) {
    if (logits[id] != -INFINITY) ids.push_back(static_cast<TokenId>(id));
  }
  return ids;
}

TEST(TokenConstraintTest, AdmitsTokensThatLeadToAWholeText) {
  // 6 and 0 have the same bytes; 5 is special; 7 is the end of text.
  const auto tokens = Tokens({"a", "ab", "abc", "b", "c", "", "a", ""});
  ConstraintMatcher matcher(std::make_shared<const TokenConstraint>(Regex("abc|abb"), tokens));
  const std::vector<TokenId> ends = {7};
  EXPECT_EQ(Allowed(matcher, ends, 8), (std::vector<TokenId>{0, 1, 2, 6}));
  ConstraintMatcher copy = matcher;
  matcher.Accept(1);
  EXPECT_EQ(Allowed(matcher, ends, 8), (std::vector<TokenId>{3, 4}));
  EXPECT_FALSE(matcher.MustEnd());
  matcher.Accept(4);
  EXPECT_TRUE(matcher.MustEnd());
  EXPECT_EQ(Allowed(matcher, ends, 8), ends);
  EXPECT_EQ(Allowed(copy, ends, 8), (std::vector<TokenId>{0, 1, 2, 6}));
}

TEST(TokenConstraintTest, TheTextMayEndBeforeItMust) {
  ConstraintMatcher matcher(std::make_shared<const TokenConstraint>(Regex("a+"), Tokens({"a", ""})));
  EXPECT_EQ(Allowed(matcher, {{1}}, 2), (std::vector<TokenId>{0}));
  matcher.Accept(0);
  EXPECT_EQ(Allowed(matcher, {{1}}, 2), (std::vector<TokenId>{0, 1}));
  EXPECT_FALSE(matcher.MustEnd());
}

TEST(TokenConstraintTest, LogitsBeyondTheVocabularyAreNeverChosen) {
  ConstraintMatcher matcher(std::make_shared<const TokenConstraint>(Regex("a+"), Tokens({"a"})));
  EXPECT_EQ(Allowed(matcher, {}, 100), (std::vector<TokenId>{0}));
}

TEST(TokenConstraintTest, AVocabularyThatLacksBytesIsNamed) {
  ConstraintMatcher matcher(std::make_shared<const TokenConstraint>(Regex("b"), Tokens({"a", ""})));
  std::vector<float> logits(2, 0.0f);
  EXPECT_THROW(matcher.Mask(std::vector<TokenId>{1}, logits), Error);
}

// Every token alone, against walking its bytes.
TEST(TokenConstraintTest, TheTrieAgreesWithTheTokensOneByOne) {
  std::mt19937 random(3);
  std::vector<std::string> bytes;
  for (int i = 0; i < 3000; ++i) {
    std::string token;
    for (unsigned n = random() % 6; n > 0; --n) token += "{}[]\",:0123atrue \\n\xC3\xA9"[random() % 23];
    bytes.push_back(token);
  }
  const VocabularyTrie trie(TokenBytes{bytes, false});
  Automaton automaton(
      JsonSchemaGrammar(R"({"type":"object","properties":{"a":{"type":"array"},"t":{"type":"string"}}})"));
  for (int round = 0; round < 20; ++round) {
    Automaton::State state = automaton.start();
    const std::string text = RandomText(automaton, random);
    for (const char c : text.substr(0, random() % text.size()))
      state = automaton.Next(state, static_cast<unsigned char>(c));
    const TokenMask mask = trie.Allowed(automaton, state);
    for (std::size_t id = 0; id < bytes.size(); ++id) {
      Automaton::State at = state;
      for (const char c : bytes[id]) at = automaton.Next(at, static_cast<unsigned char>(c));
      EXPECT_EQ((mask[id / 64] >> (id % 64) & 1) != 0, !bytes[id].empty() && at != Automaton::kDead) << bytes[id];
    }
  }
}

nlohmann::json TokenizerJson(const nlohmann::json& vocabulary, const nlohmann::json& decoder) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"normalizer", nullptr},
          {"added_tokens",
           {{{"id", 0},
             {"content", "</s>"},
             {"single_word", false},
             {"lstrip", false},
             {"rstrip", false},
             {"normalized", false},
             {"special", true}}}},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", decoder},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr},
            {"fuse_unk", false},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocabulary},
            {"merges", nlohmann::json::array()}}}};
}

TEST(TokenBytesTest, ByteLevelTokensAreTheirBytes) {
  const std::string json =
      TokenizerJson({{"</s>", 0}, {"a", 1}, {"\u0120b", 2}, {"\u00C3", 3}},
                    {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}})
          .dump();
  const TokenBytes tokens = ReadTokenBytes(Tokenizer::FromJson(json), json, 6);
  EXPECT_EQ(tokens.bytes, (std::vector<std::string>{"", "a", " b", "\xC3", "", ""}));
  EXPECT_FALSE(tokens.skips_space);
}

TEST(TokenBytesTest, SentencePieceTokensAreReadAsTheirDecoderWritesThem) {
  const nlohmann::json decoder = {{"type", "Sequence"},
                                  {"decoders",
                                   {{{"type", "Replace"}, {"pattern", {{"String", "\u2581"}}}, {"content", " "}},
                                    {{"type", "ByteFallback"}},
                                    {{"type", "Fuse"}},
                                    {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  const std::string json =
      TokenizerJson({{"</s>", 0}, {"\u2581a\u2581b", 1}, {"<0xC3>", 2}, {"<0xZ>", 3}}, decoder).dump();
  const TokenBytes tokens = ReadTokenBytes(Tokenizer::FromJson(json), json, 4);
  EXPECT_EQ(tokens.bytes, (std::vector<std::string>{"", " a b", "\xC3", "<0xZ>"}));
  EXPECT_TRUE(tokens.skips_space);
}

}  // namespace
}  // namespace mconnect
