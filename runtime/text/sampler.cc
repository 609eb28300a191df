#include "runtime/text/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "mconnect/error.h"
#include "runtime/text/fixed_exp.h"
#include "runtime/text/philox.h"

namespace mconnect {
namespace {

__extension__ using Wide = unsigned __int128;

void Require(bool holds, const std::string& name, const std::string& limit, double value) {
  if (holds) return;
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  throw Error(ErrorCode::kInvalidArgument, name + " is " + text + ", but must be " + limit);
}

}  // namespace

void ValidateSampling(const SamplingOptions& options) {
  Require(std::isfinite(options.temperature) && options.temperature > 0, "temperature", "a number above 0",
          options.temperature);
  Require(options.top_k >= 0, "top_k", "0 (all tokens) or more", static_cast<double>(options.top_k));
  Require(options.top_p > 0 && options.top_p <= 1, "top_p", "above 0 and at most 1", options.top_p);
  Require(options.min_p >= 0 && options.min_p <= 1, "min_p", "from 0 to 1", options.min_p);
}

TokenId MostProbable(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id]) || logits[id] == INFINITY) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the logit of token " + std::to_string(id) + " is " + (std::isnan(logits[id]) ? "NaN" : "+inf"));
    }
    if (logits[id] > logits[best]) best = id;  // the first of equals
  }
  if (logits.empty() || logits[best] == -INFINITY) {
    throw Error(ErrorCode::kInvalidArgument, "none of the " + std::to_string(logits.size()) + " logits is finite");
  }
  return static_cast<TokenId>(best);
}

Sampler::Sampler(const SamplingOptions& options, std::uint32_t sample) : options_(options), sample_(sample) {
  ValidateSampling(options_);
}

TokenId Sampler::Sample(std::span<const float> logits) {
  const TokenId best = MostProbable(logits);
  return options_.greedy ? best : Draw(logits, logits[static_cast<std::size_t>(best)]);
}

TokenId Sampler::Draw(std::span<const float> logits, float best) {
  candidates_.clear();
  for (std::size_t id = 0; id < logits.size(); ++id) {
    const std::uint64_t weight = FixedExp((double{logits[id]} - double{best}) / options_.temperature);
    if (weight > 0) candidates_.push_back({logits[id], static_cast<TokenId>(id), weight});
  }
  KeepTopK();
  KeepTopP();
  // Weights are relative to the most probable token's.
  const double least = std::ldexp(options_.min_p, kFixedExpBits);
  if (least > 0) {
    std::erase_if(candidates_, [least](const Candidate& c) { return static_cast<double>(c.weight) < least; });
  }

  std::uint64_t total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  const auto words =
      Philox({static_cast<std::uint32_t>(draws_), static_cast<std::uint32_t>(draws_ >> 32), sample_, 0},
             {static_cast<std::uint32_t>(options_.seed), static_cast<std::uint32_t>(options_.seed >> 32)});
  ++draws_;
  const std::uint64_t random = std::uint64_t{words[0]} << 32 | words[1];
  auto left = static_cast<std::uint64_t>(Wide{random} * total >> 64);  // uniform in [0, total)
  // By id: the order in which candidates were kept does not matter.
  std::ranges::sort(candidates_, {}, &Candidate::id);
  for (const Candidate& candidate : candidates_) {
    if (left < candidate.weight) return candidate.id;
    left -= candidate.weight;
  }
  return candidates_.back().id;  // not reached: `left` is below the sum
}

void Sampler::KeepTopK() {
  const auto top_k = static_cast<std::size_t>(options_.top_k);
  if (top_k == 0 || top_k >= candidates_.size()) return;
  // As in the reference, what equals the last of the k is kept, too.
  const auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(top_k - 1);
  std::ranges::nth_element(candidates_, last, std::ranges::greater(), &Candidate::logit);
  std::erase_if(candidates_, [least = last->logit](const Candidate& c) { return c.logit < least; });
}

void Sampler::KeepTopP() {
  if (options_.top_p >= 1) return;
  std::uint64_t total = 0, mass = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight;
  const auto enough = static_cast<std::uint64_t>(std::ceil(options_.top_p * static_cast<double>(total)));
  // The most probable first, equals by id; mostly a few hundred of a large vocabulary are enough.
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  std::size_t sorted = 0, keep = 0;
  while (keep < candidates_.size() && (keep == 0 || mass < enough)) {
    if (keep == sorted) {
      sorted = std::min(candidates_.size(), 4 * sorted + 256);
      std::partial_sort(candidates_.begin() + static_cast<std::ptrdiff_t>(keep),
                        candidates_.begin() + static_cast<std::ptrdiff_t>(sorted), candidates_.end(), before);
    }
    mass += candidates_[keep++].weight;
  }
  candidates_.resize(keep);
}

}  // namespace mconnect
