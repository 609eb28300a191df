#include "runtime/tasks/generation_settings.h"

#include <gtest/gtest.h>

#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

std::string Asset(const std::string& defaults) {
  return R"({"bos_token_id": null, "eos_token_ids": [2, 7], "max_tokens": 64, "pad_token_id": 0, "defaults": )" +
         defaults + "}";
}

GenerationSettings Parse(const std::string& defaults) { return ParseGenerationSettings(Asset(defaults)); }

std::string MessageOf(const std::string& json) {
  try {
    ParseGenerationSettings(json);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kCorrupt);
    return e.message();
  }
  ADD_FAILURE() << json;
  return "";
}

TEST(GenerationSettings, ReadsTheAsset) {
  const GenerationSettings s = Parse(R"({"temperature": 0.5, "top_k": 4, "greedy": false})");
  EXPECT_FALSE(s.bos_token_id);
  EXPECT_EQ(s.eos_token_ids, (std::vector<TokenId>{2, 7}));
  EXPECT_EQ(s.max_tokens, 64);
  EXPECT_EQ(*s.defaults.temperature, 0.5);
  EXPECT_EQ(*s.defaults.top_k, 4);
  EXPECT_EQ(*s.defaults.greedy, false);
  EXPECT_FALSE(s.defaults.top_p);
}

TEST(GenerationSettings, RefusesUnknownAndMissingKeysByName) {
  EXPECT_NE(MessageOf(Asset(R"({"temprature": 1})")).find("temprature"), std::string::npos);
  EXPECT_NE(
      MessageOf(R"({"eos_token_ids": [], "max_tokens": 1, "pad_token_id": 0, "defaults": {}})").find("bos_token_id"),
      std::string::npos);
  EXPECT_NE(MessageOf(Asset(R"({"top_k": -1})")).find("top_k"), std::string::npos);
}

TEST(ResolveSampling, IsGreedyByDefault) { EXPECT_TRUE(ResolveSampling(Parse("{}"), {}, 0).greedy); }

TEST(ResolveSampling, TakesTheBundlesDefaults) {
  const SamplingOptions s = ResolveSampling(Parse(R"({"temperature": 0.5, "top_k": 4, "greedy": false})"), {}, 0);
  EXPECT_FALSE(s.greedy);
  EXPECT_EQ(s.temperature, 0.5);
  EXPECT_EQ(s.top_k, 4);
  EXPECT_EQ(s.top_p, 1.0);
}

TEST(ResolveSampling, TheRequestGoesBeforeTheBundle) {
  const GenerationSettings settings = Parse(R"({"temperature": 0.5, "top_k": 4, "greedy": false})");
  const SamplingOptions s = ResolveSampling(settings, {.temperature = 2.0f, .top_k = 0}, 0);
  EXPECT_EQ(s.temperature, 2.0);
  EXPECT_EQ(s.top_k, 0);
  EXPECT_TRUE(ResolveSampling(settings, {.greedy = true, .temperature = 2.0f}, 0).greedy);
}

TEST(ResolveSampling, ASamplingOptionAsksForSampling) {
  EXPECT_FALSE(ResolveSampling(Parse("{}"), {.top_p = 0.9f}, 0).greedy);
  EXPECT_TRUE(ResolveSampling(Parse("{}"), {.repetition_penalty = 1.1f}, 0).greedy);
}

TEST(ResolveSampling, RowsHaveSeedsOfTheirOwn) { EXPECT_EQ(ResolveSampling(Parse("{}"), {.seed = 5}, 3).seed, 8u); }

TEST(ResolveSampling, RefusesValuesOutsideTheirLimits) {
  const GenerationSettings s = Parse("{}");
  EXPECT_THROW(ResolveSampling(s, {.temperature = 0.0f}, 0), Error);
  EXPECT_THROW(ResolveSampling(s, {.top_k = -1}, 0), Error);
  EXPECT_THROW(ResolveSampling(s, {.top_p = 1.5f}, 0), Error);
  EXPECT_THROW(ResolveSampling(s, {.min_p = -0.1f}, 0), Error);
  EXPECT_THROW(ResolveSampling(s, {.repetition_penalty = 0.0f}, 0), Error);
}

}  // namespace
}  // namespace mconnect
