#include "runtime/tasks/generation_run.h"

#include <algorithm>

namespace mconnect {

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

bool GenerationRequest::Ends(TokenId token) const { return std::ranges::find(eos, token) != eos.end(); }

std::optional<FinishReason> GenerationRequest::Interruption() const {
  if (options.cancel.stop_requested()) return FinishReason::kCancelled;
  if (options.timeout_seconds && SecondsSince(start) >= *options.timeout_seconds) return FinishReason::kTimeout;
  return std::nullopt;
}

std::optional<FinishReason> GenerationRequest::Start(DecoderBatch& batch) const {
  batch.Start(prompts);
  return Prefill(batch);
}

std::optional<FinishReason> GenerationRequest::Step(DecoderBatch& batch, std::span<const TokenId> tokens) const {
  return batch.Step(tokens) ? Prefill(batch) : std::nullopt;
}

std::optional<FinishReason> GenerationRequest::Prefill(DecoderBatch& batch) const {
  for (bool more = true; more;) {
    if (const auto reason = Interruption()) return reason;
    more = batch.Prefill(TextGeneration::kPrefillChunk);
  }
  return Interruption();
}

TokenLogprob MakeLogprob(std::span<const float> logits, TokenId token, int top) {
  TokenLogprob result;
  result.id = token;
  const double chosen = LogProbability(logits, token);
  result.logprob = static_cast<float>(chosen);
  if (top == 0) return result;
  // The difference of two log-probabilities is that of their logits.
  std::vector<TokenId> ids(logits.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(i);
  const auto logit = [&](TokenId id) { return logits[static_cast<std::size_t>(id)]; };
  const auto last = ids.begin() + std::min<std::ptrdiff_t>(top, static_cast<std::ptrdiff_t>(ids.size()));
  std::partial_sort(ids.begin(), last, ids.end(),
                    [&](TokenId a, TokenId b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  for (auto it = ids.begin(); it != last; ++it) {
    result.top.emplace_back(*it, static_cast<float>(chosen + (double{logit(*it)} - double{logit(token)})));
  }
  return result;
}

}  // namespace mconnect
