// assets/text-generation.json, and what a request makes of it.
#ifndef MCONNECT_TASKS_GENERATION_SETTINGS_H_
#define MCONNECT_TASKS_GENERATION_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mconnect/text_generation.h"
#include "runtime/text/logit_rules.h"
#include "runtime/text/sampler.h"

namespace mconnect {

struct GenerationSettings {
  std::optional<TokenId> bos_token_id;
  std::vector<TokenId> eos_token_ids;
  std::int64_t max_tokens;  // the context
  TokenId pad_token_id;
  struct {
    std::optional<bool> greedy;
    std::optional<std::int64_t> top_k;
    std::optional<double> temperature, top_p, min_p, repetition_penalty;
  } defaults;
};

// Throws Error(kCorrupt) that names the key.
GenerationSettings ParseGenerationSettings(std::string_view json);

// How a request is sampled: the request's values, else the bundle's, else greedy. Throws Error(kInvalidArgument) naming
// the option, its limit and its value.
SamplingOptions ResolveSampling(const GenerationSettings& settings, const GenerateOptions& options);

// What a request changes about the logits. Throws as above. `vocabulary`: the number of logits.
LogitRules ResolveRules(const GenerationSettings& settings, const GenerateOptions& options, std::int64_t vocabulary);

// Checks what has nothing to do with the bundle: n, num_beams, top_logprobs, timeout_seconds, and what excludes what.
void ValidateOptions(const GenerateOptions& options);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_GENERATION_SETTINGS_H_
