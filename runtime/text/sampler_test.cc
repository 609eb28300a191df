#include "runtime/text/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/logit_rules.h"

namespace mconnect {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const std::vector<float> kLogits = {2.0f, -1.0f, 0.5f, 3.0f, -4.0f, 0.0f, 1.0f, 2.5f};

// kLogits after a repetition penalty of 1.3 for the tokens 0, 1 and 3.
std::vector<float> PenalizedLogits() {
  LogitRules rules;
  rules.repetition_penalty = 1.3f;
  std::vector<float> logits = kLogits;
  ApplyLogitRules(rules, std::vector<TokenId>{0, 1, 3, 3}, 4, logits);
  return logits;
}

std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
  return "no error";
}

// Pearson's statistic of many draws against the probabilities; tokens of probability 0 must not be drawn.
double ChiSquare(const SamplingOptions& options, const std::vector<double>& probabilities) {
  constexpr int kDraws = 40000;
  Sampler sampler(options);
  const std::vector<float> logits = PenalizedLogits();
  std::vector<int> counts(probabilities.size());
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(sampler.Sample(logits))];
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * kDraws;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
    } else {
      sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
  }
  return sum;
}

// The probabilities below are those of transformers' logits processors (repetition penalty 1.3, temperature 0.7, ...).
SamplingOptions Warm() {
  SamplingOptions options;
  options.temperature = 0.7;
  options.seed = 7;
  return options;
}

TEST(SamplerTest, DrawsByPenaltyAndTemperatureLikeTheReference) {
  const std::vector<double> reference = {1.1403e-01, 1.9769e-03, 2.5867e-02, 3.4219e-01,
                                         4.1769e-05, 1.2663e-02, 5.2839e-02, 4.5039e-01};
  EXPECT_LT(ChiSquare(Warm(), reference), 24.3);  // 7 degrees of freedom, p = 0.001
}

TEST(SamplerTest, TopKTopPAndMinPKeepWhatTheReferenceKeeps) {
  const std::vector<double> reference = {0.125778, 0, 0, 0.377443, 0, 0, 0, 0.496779};
  SamplingOptions top_k = Warm(), top_p = Warm(), min_p = Warm(), all = Warm();
  top_k.top_k = 3;
  top_p.top_p = 0.8;
  min_p.min_p = 0.2;
  all.top_k = 5;
  all.top_p = 0.9;
  all.min_p = 0.1;
  for (const SamplingOptions& options : {top_k, top_p, min_p, all}) {
    EXPECT_LT(ChiSquare(options, reference), 13.8);  // 2 degrees of freedom, p = 0.001
  }
}

TEST(SamplerTest, GreedyTakesTheBest) {
  SamplingOptions options;
  options.greedy = true;
  EXPECT_EQ(Sampler(options).Sample(kLogits), 3);
  EXPECT_EQ(Sampler(options).Sample(PenalizedLogits()), 7);
}

TEST(SamplerTest, TopKOfOneIsGreedyWhateverTheSeed) {
  SamplingOptions options;
  options.top_k = 1;
  for (options.seed = 0; options.seed < 50; ++options.seed) EXPECT_EQ(Sampler(options).Sample(kLogits), 3);
}

TEST(SamplerTest, EqualLogitsAreOrderedById) {
  SamplingOptions options;
  options.greedy = true;
  EXPECT_EQ(Sampler(options).Sample(std::vector<float>{1, 5, 5, 5}), 1);
  options.greedy = false;
  options.top_p = 1e-9;
  EXPECT_EQ(Sampler(options).Sample(std::vector<float>{1, 5, 5, 5}), 1);
}

TEST(SamplerTest, TheSameSeedDrawsTheSameTokensOnEveryMachine) {
  SamplingOptions options;
  options.seed = 42;
  Sampler sampler(options);
  std::vector<TokenId> drawn;
  for (int i = 0; i < 12; ++i) drawn.push_back(sampler.Sample(std::vector<float>(1000, 0.0f)));
  EXPECT_EQ(drawn, (std::vector<TokenId>{612, 987, 825, 729, 326, 314, 225, 358, 548, 266, 524, 327}));
}

TEST(SamplerTest, NeverDrawsMinusInfinity) {
  SamplingOptions options;
  Sampler sampler(options);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampler.Sample(std::vector<float>{-kInf, 0, -kInf}), 1);
}

TEST(SamplerTest, NamesTheTokenWithABadLogit) {
  Sampler sampler({});
  EXPECT_EQ(MessageOf([&] { sampler.Sample(std::vector<float>{0, NAN}); }), "the logit of token 1 is NaN");
  EXPECT_EQ(MessageOf([&] { sampler.Sample(std::vector<float>{kInf, 0}); }), "the logit of token 0 is +inf");
  EXPECT_EQ(MessageOf([&] { sampler.Sample(std::vector<float>{-kInf, -kInf}); }), "none of the 2 logits is finite");
}

TEST(SamplerTest, SamplesOfOneSeedDiffer) {
  SamplingOptions options;
  std::vector<TokenId> drawn;
  for (std::uint32_t sample = 0; sample < 4; ++sample) {
    drawn.push_back(Sampler(options, sample).Sample(std::vector<float>(100'000, 0.0f)));
  }
  std::ranges::sort(drawn);
  EXPECT_EQ(std::ranges::adjacent_find(drawn), drawn.end());
}

TEST(SamplerTest, TheOrderOfWorkDoesNotMatter) {
  // Top-p cuts a sorted list and top-k does not: where both keep all tokens, the draws are the same.
  std::vector<float> logits(5000);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7919 % 5000) / 1000;
  SamplingOptions plain, sorted, partitioned;
  sorted.top_p = 0.9999999999999999;
  partitioned.top_k = 4999;
  logits[3] = -40;  // never drawn, and the one that top_k leaves out
  for (plain.seed = 0; plain.seed < 100; ++plain.seed) {
    sorted.seed = partitioned.seed = plain.seed;
    const TokenId want = Sampler(plain).Sample(logits);
    EXPECT_EQ(Sampler(sorted).Sample(logits), want);
    EXPECT_EQ(Sampler(partitioned).Sample(logits), want);
  }
}

TEST(SamplerTest, NamesTheOptionItsLimitAndItsValue) {
  const auto message = [](auto set) {
    SamplingOptions options;
    set(options);
    return MessageOf([&] { ValidateSampling(options); });
  };
  EXPECT_EQ(message([](auto& o) { o.temperature = 0; }), "temperature is 0, but must be a number above 0");
  EXPECT_EQ(message([](auto& o) { o.temperature = NAN; }), "temperature is nan, but must be a number above 0");
  EXPECT_EQ(message([](auto& o) { o.top_k = -1; }), "top_k is -1, but must be 0 (all tokens) or more");
  EXPECT_EQ(message([](auto& o) { o.top_p = 0; }), "top_p is 0, but must be above 0 and at most 1");
  EXPECT_EQ(message([](auto& o) { o.min_p = 1.5; }), "min_p is 1.5, but must be from 0 to 1");
}

}  // namespace
}  // namespace mconnect
