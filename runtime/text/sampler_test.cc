#include "runtime/text/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const std::vector<float> kLogits = {2.0f, -1.0f, 0.5f, 3.0f, -4.0f, 0.0f, 1.0f, 2.5f};
const std::vector<TokenId> kContext = {0, 1, 3, 3};

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
  std::vector<int> counts(probabilities.size());
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(sampler.Sample(kLogits, kContext))];
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
SamplingOptions Penalized() {
  SamplingOptions options;
  options.repetition_penalty = 1.3;
  options.temperature = 0.7;
  options.seed = 7;
  return options;
}

TEST(SamplerTest, DrawsByPenaltyAndTemperatureLikeTheReference) {
  const std::vector<double> reference = {1.1403e-01, 1.9769e-03, 2.5867e-02, 3.4219e-01,
                                         4.1769e-05, 1.2663e-02, 5.2839e-02, 4.5039e-01};
  EXPECT_LT(ChiSquare(Penalized(), reference), 24.3);  // 7 degrees of freedom, p = 0.001
}

TEST(SamplerTest, TopKTopPAndMinPKeepWhatTheReferenceKeeps) {
  const std::vector<double> reference = {0.125778, 0, 0, 0.377443, 0, 0, 0, 0.496779};
  SamplingOptions top_k = Penalized(), top_p = Penalized(), min_p = Penalized(), all = Penalized();
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

TEST(SamplerTest, GreedyTakesTheBestAfterThePenalty) {
  SamplingOptions options;
  options.greedy = true;
  EXPECT_EQ(Sampler(options).Sample(kLogits, kContext), 3);
  options.repetition_penalty = 1.3;
  EXPECT_EQ(Sampler(options).Sample(kLogits, kContext), 7);
}

TEST(SamplerTest, TopKOfOneIsGreedyWhateverTheSeed) {
  SamplingOptions options;
  options.top_k = 1;
  for (options.seed = 0; options.seed < 50; ++options.seed) EXPECT_EQ(Sampler(options).Sample(kLogits, {}), 3);
}

TEST(SamplerTest, EqualLogitsAreOrderedById) {
  SamplingOptions options;
  options.greedy = true;
  EXPECT_EQ(Sampler(options).Sample(std::vector<float>{1, 5, 5, 5}, {}), 1);
  options.greedy = false;
  options.top_p = 1e-9;
  EXPECT_EQ(Sampler(options).Sample(std::vector<float>{1, 5, 5, 5}, {}), 1);
}

TEST(SamplerTest, TheSameSeedDrawsTheSameTokensOnEveryMachine) {
  SamplingOptions options;
  options.seed = 42;
  Sampler sampler(options);
  std::vector<TokenId> drawn;
  for (int i = 0; i < 12; ++i) drawn.push_back(sampler.Sample(std::vector<float>(1000, 0.0f), {}));
  EXPECT_EQ(drawn, (std::vector<TokenId>{761, 448, 959, 796, 480, 709, 24, 894, 703, 104, 273, 669}));
}

TEST(SamplerTest, NeverDrawsMinusInfinity) {
  SamplingOptions options;
  Sampler sampler(options);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampler.Sample(std::vector<float>{-kInf, 0, -kInf}, {}), 1);
}

TEST(SamplerTest, NamesTheTokenWithABadLogit) {
  Sampler sampler({});
  EXPECT_EQ(MessageOf([&] { sampler.Sample(std::vector<float>{0, NAN}, {}); }), "the logit of token 1 is NaN");
  EXPECT_EQ(MessageOf([&] { sampler.Sample(std::vector<float>{kInf, 0}, {}); }), "the logit of token 0 is +inf");
  EXPECT_EQ(MessageOf([&] { sampler.Sample(std::vector<float>{-kInf, -kInf}, {}); }), "none of the 2 logits is finite");
}

TEST(SamplerTest, RefusesAContextBeyondTheLogits) {
  SamplingOptions options;
  options.repetition_penalty = 2;
  EXPECT_EQ(MessageOf([&] {
              Sampler(options).Sample(std::vector<float>{0, 0}, std::vector<TokenId>{5});
            }),
            "token 5 of the context is not one of the 2 that have logits");
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
  EXPECT_EQ(message([](auto& o) { o.repetition_penalty = -1; }),
            "repetition_penalty is -1, but must be a number above 0");
}

}  // namespace
}  // namespace mconnect
