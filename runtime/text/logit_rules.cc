#include "runtime/text/logit_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

void Require(bool holds, const std::string& name, const std::string& limit, double value) {
  if (holds) return;
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  throw Error(ErrorCode::kInvalidArgument, name + " is " + text + ", but must be " + limit);
}

void Repetition(float penalty, std::span<const TokenId> context, std::span<float> logits) {
  // Read all before the first is written: a token counts once.
  std::vector<float> changed;
  changed.reserve(context.size());
  for (const TokenId id : context) {
    const float logit = logits[static_cast<std::size_t>(id)];
    changed.push_back(logit < 0 ? logit * penalty : logit / penalty);
  }
  for (std::size_t i = 0; i < context.size(); ++i) logits[static_cast<std::size_t>(context[i])] = changed[i];
}

double LogSum(std::span<const float> logits, float greatest) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit} - double{greatest});
  return double{greatest} + std::log(sum);
}

}  // namespace

void ValidateLogitRules(const LogitRules& rules, std::int64_t vocabulary) {
  for (const auto& [id, bias] : rules.bias) {
    Require(id >= 0 && id < vocabulary, "the token id " + std::to_string(id) + " of logit_bias",
            "from 0 to " + std::to_string(vocabulary - 1), id);
    Require(!std::isnan(bias) && bias != INFINITY, "logit_bias of token " + std::to_string(id),
            "a number or minus infinity", bias);
  }
  Require(std::isfinite(rules.repetition_penalty) && rules.repetition_penalty > 0, "repetition_penalty",
          "a number above 0", rules.repetition_penalty);
  Require(std::isfinite(rules.presence_penalty), "presence_penalty", "a finite number", rules.presence_penalty);
  Require(std::isfinite(rules.frequency_penalty), "frequency_penalty", "a finite number", rules.frequency_penalty);
  Require(rules.min_new_tokens >= 0, "min_new_tokens", "0 or more", static_cast<double>(rules.min_new_tokens));
}

void ApplyLogitRules(const LogitRules& rules, std::span<const TokenId> context, std::size_t prompt_tokens,
                     std::span<float> logits) {
  for (const auto& [id, bias] : rules.bias) logits[static_cast<std::size_t>(id)] += bias;
  if (rules.repetition_penalty != 1) Repetition(rules.repetition_penalty, context, logits);
  const std::span<const TokenId> continuation = context.subspan(prompt_tokens);
  if (rules.presence_penalty != 0 || rules.frequency_penalty != 0) {
    std::map<TokenId, int> counts;
    for (const TokenId id : continuation) ++counts[id];
    for (const auto& [id, count] : counts) {
      // The product of a float and a count is exact in double: no compiler can round it in another way.
      const double penalty = double{rules.frequency_penalty} * count + double{rules.presence_penalty};
      logits[static_cast<std::size_t>(id)] = static_cast<float>(double{logits[static_cast<std::size_t>(id)]} - penalty);
    }
  }
  if (static_cast<std::int64_t>(continuation.size()) < rules.min_new_tokens) {
    for (const TokenId id : rules.end_tokens) {
      if (static_cast<std::size_t>(id) < logits.size()) logits[static_cast<std::size_t>(id)] = -INFINITY;
    }
  }
}

std::vector<float> LogSoftmax(std::span<const float> logits) {
  const double sum = LogSum(logits, *std::ranges::max_element(logits));
  std::vector<float> result;
  result.reserve(logits.size());
  for (const float logit : logits) result.push_back(static_cast<float>(double{logit} - sum));
  return result;
}

double LogProbability(std::span<const float> logits, TokenId token) {
  return double{logits[static_cast<std::size_t>(token)]} - LogSum(logits, *std::ranges::max_element(logits));
}

}  // namespace mconnect
