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

TEST(ResolveSampling, IsGreedyByDefault) { EXPECT_TRUE(ResolveSampling(Parse("{}"), {}).greedy); }

TEST(ResolveSampling, TakesTheBundlesDefaults) {
  const SamplingOptions s = ResolveSampling(Parse(R"({"temperature": 0.5, "top_k": 4, "greedy": false})"), {});
  EXPECT_FALSE(s.greedy);
  EXPECT_EQ(s.temperature, 0.5);
  EXPECT_EQ(s.top_k, 4);
  EXPECT_EQ(s.top_p, 1.0);
}

TEST(ResolveSampling, TheRequestGoesBeforeTheBundle) {
  const GenerationSettings settings = Parse(R"({"temperature": 0.5, "top_k": 4, "greedy": false})");
  const SamplingOptions s = ResolveSampling(settings, {.temperature = 2.0f, .top_k = 0});
  EXPECT_EQ(s.temperature, 2.0);
  EXPECT_EQ(s.top_k, 0);
  EXPECT_TRUE(ResolveSampling(settings, {.greedy = true, .temperature = 2.0f}).greedy);
}

TEST(ResolveSampling, ASamplingOptionAsksForSampling) {
  EXPECT_FALSE(ResolveSampling(Parse("{}"), {.top_p = 0.9f}).greedy);
  EXPECT_TRUE(ResolveSampling(Parse("{}"), {.repetition_penalty = 1.1f}).greedy);
}

TEST(ResolveSampling, RefusesValuesOutsideTheirLimits) {
  const GenerationSettings s = Parse("{}");
  EXPECT_THROW(ResolveSampling(s, {.temperature = 0.0f}), Error);
  EXPECT_THROW(ResolveSampling(s, {.top_k = -1}), Error);
  EXPECT_THROW(ResolveSampling(s, {.top_p = 1.5f}), Error);
  EXPECT_THROW(ResolveSampling(s, {.min_p = -0.1f}), Error);
}

TEST(ResolveSampling, BeamSearchDoesNotSample) {
  const GenerationSettings sampled = Parse(R"({"greedy": false, "temperature": 0.5})");
  EXPECT_NO_THROW(ResolveSampling(sampled, {.num_beams = 2}));  // what the bundle says is a default
  EXPECT_THROW(ResolveSampling(sampled, {.temperature = 1.0f, .num_beams = 2}), Error);
  EXPECT_THROW(ResolveSampling(sampled, {.greedy = false, .num_beams = 2}), Error);
}

TEST(ResolveRules, TheRequestGoesBeforeTheBundle) {
  const GenerationSettings s = Parse(R"({"repetition_penalty": 1.5})");
  EXPECT_EQ(ResolveRules(s, {}, 10).repetition_penalty, 1.5f);
  EXPECT_EQ(ResolveRules(s, {.repetition_penalty = 1.25f}, 10).repetition_penalty, 1.25f);
  EXPECT_EQ(ResolveRules(s, {.min_new_tokens = 3}, 10).end_tokens, (std::vector<TokenId>{2, 7}));
  EXPECT_THROW(ResolveRules(s, {.repetition_penalty = 0.0f}, 10), Error);
}

std::string OptionError(const GenerateOptions& options) {
  try {
    ValidateOptions(options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.message();
  }
  return "";
}

TEST(ValidateOptions, NamesTheOptionItsLimitAndItsValue) {
  EXPECT_EQ(OptionError({}), "");
  EXPECT_EQ(OptionError({.n = 0}), "n is 0, the limits are 1 and 128");
  EXPECT_EQ(OptionError({.num_beams = 129}), "num_beams is 129, the limits are 1 and 128");
  EXPECT_EQ(OptionError({.n = 3, .num_beams = 2}), "n of beam search is 3, the limits are 1 and 2");
  EXPECT_EQ(OptionError({.top_logprobs = 21}), "top_logprobs is 21, the limits are 0 and 20");
  EXPECT_EQ(OptionError({.stop = {"a"}, .num_beams = 2}), "");
  EXPECT_EQ(OptionError({.stop = {"a", ""}}), "stop string 1 is empty");
  EXPECT_EQ(OptionError({.timeout_seconds = 0.0}), "timeout_seconds is 0.000000, but must be a number above 0");
}

}  // namespace
}  // namespace mconnect
