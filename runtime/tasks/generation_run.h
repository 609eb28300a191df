// One request of text generation at work on a batch.
#ifndef MCONNECT_TASKS_GENERATION_RUN_H_
#define MCONNECT_TASKS_GENERATION_RUN_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "mconnect/text_generation.h"
#include "runtime/tasks/decoder_batch.h"
#include "runtime/text/constraint/token_constraint.h"
#include "runtime/text/logit_rules.h"
#include "runtime/text/sampler.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

using Clock = std::chrono::steady_clock;

// A request that was checked: what the options and the bundle's defaults come to.
struct GenerationRequest {
  std::vector<std::vector<TokenId>> prompts;  // none of them empty
  std::vector<std::int64_t> max_new_tokens;   // of each prompt
  std::vector<TokenId> eos;                   // tokens that end a text
  SamplingOptions sampling;
  LogitRules rules;
  std::shared_ptr<const TokenConstraint> constraint;  // null: none
  GenerateOptions options;
  TextCallback callback;
  Clock::time_point start = Clock::now();

  bool Ends(TokenId token) const;

  // Why the run must end now, if it must.
  std::optional<FinishReason> Interruption() const;

  // Runs the prompts, or appends a token to each row; what ended that before its end, if anything did.
  std::optional<FinishReason> Start(DecoderBatch& batch) const;
  std::optional<FinishReason> Step(DecoderBatch& batch, std::span<const TokenId> tokens) const;

 private:
  std::optional<FinishReason> Prefill(DecoderBatch& batch) const;
};

double SecondsSince(Clock::time_point start);

// The log-probabilities of one position, as a request asks for them.
TokenLogprob MakeLogprob(std::span<const float> logits, TokenId token, int top);

// Draws options.n continuations of each prompt, or takes the most probable tokens: those of prompt i begin at i*n.
std::vector<Generation> RunSampling(const GenerationRequest& request, const Tokenizer& tokenizer, DecoderBatch& batch);

// The options.n best of options.num_beams continuations of each prompt, the best first: those of prompt i begin at i*n.
// The algorithm is transformers' `_beam_search`.
std::vector<Generation> RunBeamSearch(const GenerationRequest& request, const Tokenizer& tokenizer,
                                      DecoderBatch& batch);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_GENERATION_RUN_H_
