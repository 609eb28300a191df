#include "runtime/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
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

// PCG32 (O'Neill 2014): one step of the 64-bit congruential state, permuted to 32 bits.
std::uint32_t NextPcg32(std::uint64_t* state) {
  const std::uint64_t old = *state;
  *state = old * 6364136223846793005u + 1442695040888963407u;
  const auto shifted = static_cast<std::uint32_t>(((old >> 18) ^ old) >> 27);
  const auto rotation = static_cast<std::uint32_t>(old >> 59);
  return shifted >> rotation | shifted << (-rotation & 31);
}

}  // namespace

void ValidateSampling(const SamplingOptions& options) {
  const auto finite = [](double value) { return std::isfinite(value); };
  Require(finite(options.temperature) && options.temperature > 0, "temperature", "a number above 0",
          options.temperature);
  Require(options.top_k >= 0, "top_k", "0 (all tokens) or more", static_cast<double>(options.top_k));
  Require(options.top_p > 0 && options.top_p <= 1, "top_p", "above 0 and at most 1", options.top_p);
  Require(options.min_p >= 0 && options.min_p <= 1, "min_p", "from 0 to 1", options.min_p);
  Require(finite(options.repetition_penalty) && options.repetition_penalty > 0, "repetition_penalty",
          "a number above 0", options.repetition_penalty);
}

Sampler::Sampler(const SamplingOptions& options) : options_(options), state_(0) {
  ValidateSampling(options_);
  NextPcg32(&state_);
  state_ += options_.seed;
  NextPcg32(&state_);
}

double Sampler::Uniform() {
  const std::uint64_t high = NextPcg32(&state_) >> 5;  // 27 bits
  const std::uint64_t low = NextPcg32(&state_) >> 6;   // 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

TokenId Sampler::Sample(std::span<const float> logits, std::span<const TokenId> context) {
  scores_.assign(logits.begin(), logits.end());
  bool any = false;
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    if (std::isnan(scores_[id]) || scores_[id] == INFINITY) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the logit of token " + std::to_string(id) + " is " + (std::isnan(scores_[id]) ? "NaN" : "+inf"));
    }
    any = any || scores_[id] != -INFINITY;
  }
  if (!any) {
    throw Error(ErrorCode::kInvalidArgument, "none of the " + std::to_string(logits.size()) + " logits is finite");
  }
  Penalize(logits, context);
  if (options_.greedy) return Best();
  return Draw();
}

void Sampler::Penalize(std::span<const float> logits, std::span<const TokenId> context) {
  if (options_.repetition_penalty == 1.0) return;
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (const TokenId id : context) {
    if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) {
      throw Error(ErrorCode::kInvalidArgument, "token " + std::to_string(id) + " of the context is not one of the " +
                                                   std::to_string(logits.size()) + " that have logits");
    }
    const float logit = logits[static_cast<std::size_t>(id)];  // not the score: a token counts once
    scores_[static_cast<std::size_t>(id)] = logit < 0 ? logit * penalty : logit / penalty;
  }
}

TokenId Sampler::Best() const {
  return static_cast<TokenId>(std::ranges::max_element(scores_) - scores_.begin());  // the first of equals
}

TokenId Sampler::Draw() {
  candidates_.clear();
  for (std::size_t id = 0; id < scores_.size(); ++id) {
    if (scores_[id] == -INFINITY) continue;
    candidates_.push_back({scores_[id] / options_.temperature, static_cast<TokenId>(id)});
  }
  // The most probable first; equals by id.
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  };
  const auto top_k = static_cast<std::size_t>(options_.top_k);
  if (top_k > 0 && top_k < candidates_.size()) {
    // As in the reference, what equals the last of the k is kept, too.
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(top_k - 1),
                     candidates_.end(), before);
    const double last = candidates_[top_k - 1].score;
    std::erase_if(candidates_, [last](const Candidate& candidate) { return candidate.score < last; });
  }
  std::ranges::sort(candidates_, before);

  double total = 0;
  for (Candidate& candidate : candidates_) {
    candidate.weight = std::exp(candidate.score - candidates_[0].score);
    total += candidate.weight;
  }
  std::size_t keep = candidates_.size();
  if (options_.top_p < 1) {
    double mass = 0;
    for (keep = 0; keep < candidates_.size() && (keep == 0 || mass < options_.top_p * total); ++keep) {
      mass += candidates_[keep].weight;
    }
  }
  // Weights are relative to the most probable token's.
  while (keep > 1 && candidates_[keep - 1].weight < options_.min_p) --keep;

  double kept = 0;
  for (std::size_t i = 0; i < keep; ++i) kept += candidates_[i].weight;
  double left = Uniform() * kept;
  for (std::size_t i = 0; i + 1 < keep; ++i) {
    left -= candidates_[i].weight;
    if (left < 0) return candidates_[i].id;
  }
  return candidates_[keep - 1].id;
}

}  // namespace mconnect
