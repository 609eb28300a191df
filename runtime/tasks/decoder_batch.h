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
// token of each row is in the last column. Only the logits of that column are computed unless all are asked for.
class DecoderBatch {
 public:
  // `session` has an empty state. `vocabulary`: the width of its logits.
  DecoderBatch(Session session, std::int64_t vocabulary, TokenId pad);

  // Takes the prompts, none of them empty.
  void Start(const std::vector<std::vector<TokenId>>& prompts);

  // Which columns of a run get logits.
  enum class Logits { kLast, kAll };

  // Runs the next at most `chunk` columns of the prompts. False when they are done: logits() then has what follows
  // them.
  bool Prefill(std::int64_t chunk, Logits which = Logits::kLast);

  // Appends one token to each row and runs it.
  void Step(std::span<const TokenId> tokens);

  // Goes on with these of the present rows: in any order, some not at all, some several times (each with a copy of the
  // cache). Takes effect with the next Step.
  void Select(const std::vector<std::size_t>& rows);

  // [vocabulary] of a row's last column, valid until the next run.
  std::span<const float> logits(std::size_t row) const { return logits(row, columns() - 1); }

  // Of the `column`-th of the columns() that have logits.
  std::span<const float> logits(std::size_t row, std::size_t column) const;
  std::size_t columns() const { return static_cast<std::size_t>(logits_.shape()[1]); }

 private:
  // Runs `columns` of input ids, [rows, columns] in `ids_`, that are already part of the mask.
  void Run(std::int64_t columns, Logits which);

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
