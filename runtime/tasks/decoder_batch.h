// Several prompts going through a cached decoder together.
#ifndef MCONNECT_TASKS_DECODER_BATCH_H_
#define MCONNECT_TASKS_DECODER_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "mconnect/module.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// Feeds a decoder module (docs/architecture.md, module conventions). Rows are padded on the left, so that the newest
// token of each row is in the last column. Only the logits of that column are computed.
class DecoderBatch {
 public:
  // `session` has an empty state. `vocabulary`: the width of its logits.
  DecoderBatch(Session session, std::int64_t vocabulary, TokenId pad);

  // Takes the prompts, none of them empty.
  void Start(const std::vector<std::vector<TokenId>>& prompts);

  // Runs the next at most `chunk` columns of the prompts. False when they are done: logits() then has what follows
  // them.
  bool Prefill(std::int64_t chunk);

  // Appends one token to each row and runs it.
  void Step(std::span<const TokenId> tokens);

  // Keeps only these rows (positions among the present ones, increasing); takes effect with the next Step.
  void Keep(const std::vector<std::size_t>& rows);

  // [vocabulary] of a row, valid until the next run.
  std::span<const float> logits(std::size_t row) const;

 private:
  // Runs `columns` of input ids, [rows, columns] in `ids_`, that are already part of the mask.
  void Run(std::int64_t columns);

  Session session_;
  std::int64_t vocabulary_;
  TokenId pad_;
  std::vector<std::vector<TokenId>> prompts_;
  std::vector<std::int64_t> padding_;  // of each row
  std::vector<std::int32_t> beam_;     // row of the cache that each row continues
  std::int64_t length_ = 0;            // columns of the prompts
  std::int64_t done_ = 0;              // columns that were run
  std::vector<std::int64_t> ids_, mask_, positions_;
  Tensor logits_;
};

}  // namespace mconnect

#endif  // MCONNECT_TASKS_DECODER_BATCH_H_
