// The choice of the next token.
#ifndef MCONNECT_TEXT_SAMPLER_H_
#define MCONNECT_TEXT_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace mconnect {

// Semantics and order are those of transformers' generate(): repetition penalty, temperature, top-k, top-p, min-p,
// softmax.
struct SamplingOptions {
  bool greedy = false;       // the most probable token after the repetition penalty; the rest is then ignored
  double temperature = 1.0;  // > 0
  std::int64_t top_k = 0;    // >= 0; keep the k most probable; 0: all
  double top_p = 1.0;        // (0, 1]; keep the smallest set of most probable tokens with at least this probability
  double min_p = 0.0;        // [0, 1]; keep tokens at least this fraction as probable as the most probable one
  double repetition_penalty = 1.0;  // > 0; logits of tokens in the context: divided where positive, else multiplied
  std::uint64_t seed = 0;
};

// Throws Error(kInvalidArgument) naming the option, its limit and its value.
void ValidateSampling(const SamplingOptions& options);

// Draws the tokens of one sequence. The same options, logits and contexts give the same tokens on every machine: the
// generator is PCG32 (O'Neill 2014) and no library distribution takes part. Equal logits are ordered by id, lowest
// first. Arithmetic is in double; a build's `exp` may differ in the last place, which matters only at an exact border.
class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options);

  // `logits`: [vocabulary]. `context`: prompt and what was generated, for the repetition penalty.
  // -inf logits are never drawn. Throws Error(kInvalidArgument) for NaN, +inf, or no finite logit, naming the token id.
  TokenId Sample(std::span<const float> logits, std::span<const TokenId> context);

 private:
  struct Candidate {
    double score;  // logit after penalty and temperature
    TokenId id;
    double weight = 0;  // probability relative to the most probable token's
  };

  void Penalize(std::span<const float> logits, std::span<const TokenId> context);
  TokenId Best() const;
  TokenId Draw();
  double Uniform();  // [0, 1), 53 bits

  SamplingOptions options_;
  std::uint64_t state_;
  std::vector<float> scores_;          // scratch, kept between calls
  std::vector<Candidate> candidates_;  // scratch
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_SAMPLER_H_
