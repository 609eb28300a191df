// The choice of the next token.
#ifndef MCONNECT_TEXT_SAMPLER_H_
#define MCONNECT_TEXT_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace mconnect {

// Semantics and order are those of transformers' generate(): temperature, top-k, top-p, min-p, softmax.
struct SamplingOptions {
  bool greedy = false;       // the most probable token; the rest is then ignored
  double temperature = 1.0;  // > 0
  std::int64_t top_k = 0;    // >= 0; keep the k most probable; 0: all
  double top_p = 1.0;        // (0, 1]; keep the smallest set of most probable tokens with at least this probability
  double min_p = 0.0;        // [0, 1]; keep tokens at least this fraction as probable as the most probable one
  std::uint64_t seed = 0;
};

// Throws Error(kInvalidArgument) naming the option, its limit and its value.
void ValidateSampling(const SamplingOptions& options);

// The token with the greatest logit, the first of equals. `logits`: [vocabulary]; -inf is never chosen.
// Throws Error(kInvalidArgument) for NaN, +inf, or no finite logit, naming the token id.
TokenId MostProbable(std::span<const float> logits);

// Draws the tokens of one sequence.
//
// The same options, sample number and logits give the same tokens on every machine, with every compiler and at every
// level of optimization: draw i is a function of (seed, sample, i) alone (Philox), probabilities are integers relative
// to that of the most probable token (FixedExp), and what is added up is integers. Floating point takes part only where
// IEEE 754 leaves no choice: one subtraction and one division for each logit, one product for each of top_p and min_p.
// Equal logits are ordered by id, lowest first. A token less than 2^-40 times as probable as the most probable one is
// never drawn.
class Sampler {
 public:
  // `sample` numbers the sequences that one request draws with one seed.
  explicit Sampler(const SamplingOptions& options, std::uint32_t sample = 0);

  // `logits`: [vocabulary]. -inf is never drawn. Throws as MostProbable().
  TokenId Sample(std::span<const float> logits);

 private:
  struct Candidate {
    float logit;
    TokenId id;
    std::uint64_t weight = 0;  // probability relative to the most probable token's, kFixedExpBits fraction bits
  };

  TokenId Draw(std::span<const float> logits, float best);
  void KeepTopK();
  void KeepTopP();

  SamplingOptions options_;
  std::uint32_t sample_;
  std::uint64_t draws_ = 0;
  std::vector<Candidate> candidates_;  // scratch, kept between calls
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_SAMPLER_H_
