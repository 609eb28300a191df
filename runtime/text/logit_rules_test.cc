#include "runtime/text/logit_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {
namespace {

using Logits = std::vector<float>;

Logits Apply(const LogitRules& rules, const std::vector<TokenId>& context, std::size_t prompt_tokens, Logits logits) {
  ApplyLogitRules(rules, context, prompt_tokens, logits);
  return logits;
}

TEST(LogitRulesTest, NothingIsChangedByDefault) {
  EXPECT_FALSE(LogitRules().Any());
  EXPECT_EQ(Apply({}, {0, 1}, 1, {1, -2, 3}), (Logits{1, -2, 3}));
}

TEST(LogitRulesTest, RepetitionCountsATokenOnceInPromptAndContinuation) {
  LogitRules rules;
  rules.repetition_penalty = 2;
  EXPECT_EQ(Apply(rules, {0, 1, 1, 0}, 2, {1, -2, 3}), (Logits{0.5f, -4, 3}));
}

TEST(LogitRulesTest, PresenceAndFrequencyCountTheContinuationAlone) {
  LogitRules rules;
  rules.presence_penalty = 0.5f;
  rules.frequency_penalty = 0.25f;
  EXPECT_EQ(Apply(rules, {2, 0, 1, 1}, 1, {1, 1, 1}), (Logits{0.25f, 0, 1}));
}

TEST(LogitRulesTest, TheBiasComesBeforeTheRepetitionPenalty) {
  LogitRules rules;
  rules.bias = {{0, 3.0f}, {2, -INFINITY}};
  rules.repetition_penalty = 2;
  EXPECT_EQ(Apply(rules, {0}, 1, {1, 1, 1}), (Logits{2, 1, -INFINITY}));
}

TEST(LogitRulesTest, EndTokensAreForbiddenInAShortContinuation) {
  LogitRules rules;
  rules.min_new_tokens = 2;
  rules.end_tokens = {1, 7};  // 7 has no logit
  EXPECT_EQ(Apply(rules, {0, 0}, 1, {1, 1, 1}), (Logits{1, -INFINITY, 1}));
  EXPECT_EQ(Apply(rules, {0, 0, 0}, 1, {1, 1, 1}), (Logits{1, 1, 1}));
}

TEST(LogitRulesTest, ProbabilitiesAddUpToOne) {
  double sum = 0;
  const Logits logits = {1000, 999, -1000, 998.5f};
  const Logits logprobs = LogSoftmax(logits);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    sum += std::exp(double{logprobs[i]});
    EXPECT_FLOAT_EQ(static_cast<float>(LogProbability(logits, static_cast<TokenId>(i))), logprobs[i]);
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_EQ(LogSoftmax(Logits{0, -INFINITY})[1], -INFINITY);
}

TEST(LogitRulesTest, NamesTheRuleItsLimitAndItsValue) {
  const auto message = [](auto set) -> std::string {
    LogitRules rules;
    set(rules);
    try {
      ValidateLogitRules(rules, 10);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(message([](auto& r) {
              r.bias = {{10, 1.0f}};
            }),
            "the token id 10 of logit_bias is 10, but must be from 0 to 9");
  EXPECT_EQ(message([](auto& r) {
              r.bias = {{1, NAN}};
            }),
            "logit_bias of token 1 is nan, but must be a number or minus infinity");
  EXPECT_EQ(message([](auto& r) { r.repetition_penalty = 0; }),
            "repetition_penalty is 0, but must be a number above 0");
  EXPECT_EQ(message([](auto& r) { r.presence_penalty = INFINITY; }),
            "presence_penalty is inf, but must be a finite number");
  EXPECT_EQ(message([](auto& r) { r.frequency_penalty = NAN; }),
            "frequency_penalty is nan, but must be a finite number");
  EXPECT_EQ(message([](auto& r) { r.min_new_tokens = -1; }), "min_new_tokens is -1, but must be 0 or more");
}

}  // namespace
}  // namespace mconnect
