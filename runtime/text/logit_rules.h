// What a request changes about the logits before the next token is chosen.
#ifndef MCONNECT_TEXT_LOGIT_RULES_H_
#define MCONNECT_TEXT_LOGIT_RULES_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace mconnect {

// Applied in this order, which is that of transformers' generate().
struct LogitRules {
  // Added to the logit of a token; -inf forbids it. As SequenceBiasLogitsProcessor with sequences of one token.
  std::vector<std::pair<TokenId, float>> bias;
  // > 0; logits of tokens in prompt and continuation are divided where positive, else multiplied; 1: none. As
  // RepetitionPenaltyLogitsProcessor.
  float repetition_penalty = 1;
  // Subtracted from the logits of tokens in the continuation: once for each kind, and for each time it is there. From
  // the OpenAI API.
  float presence_penalty = 0;
  float frequency_penalty = 0;
  // End tokens are forbidden in a shorter continuation. As MinNewTokensLengthLogitsProcessor.
  std::int64_t min_new_tokens = 0;
  std::vector<TokenId> end_tokens;

  // Whether there is anything to apply.
  bool Any() const {
    return !bias.empty() || repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0 ||
           min_new_tokens > 0;
  }
};

// Throws Error(kInvalidArgument) naming the rule, its limit and its value. `vocabulary`: the number of logits.
void ValidateLogitRules(const LogitRules& rules, std::int64_t vocabulary);

// Changes `logits`, [vocabulary]. `context` is prompt and continuation, all of it ids of the vocabulary; its first
// `prompt_tokens` are the prompt.
void ApplyLogitRules(const LogitRules& rules, std::span<const TokenId> context, std::size_t prompt_tokens,
                     std::span<float> logits);

// Natural logarithm of the probabilities, softmax in double.
std::vector<float> LogSoftmax(std::span<const float> logits);

// Of one token alone.
double LogProbability(std::span<const float> logits, TokenId token);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_LOGIT_RULES_H_
