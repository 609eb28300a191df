// Several prompts going through a cached decoder together.
#ifndef MCONNECT_TASKS_DECODER_BATCH_H_
#define MCONNECT_TASKS_DECODER_BATCH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "mconnect/module.h"
#include "runtime/tasks/cache_rules.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// Feeds a decoder module (docs/architecture.md, module conventions). Rows are padded on the left, so that the newest
// token of each row is in the last column. Only the logits of that column are computed unless all are asked for.
//
// An exception of the module leaves a batch that must not be used again.
class DecoderBatch {
 public:
  // `session` has an empty state. `vocabulary`: the width of its logits.
  DecoderBatch(Session session, std::int64_t vocabulary, TokenId pad, CacheRules rules = {});

  // Takes the prompts, none of them empty. A single one goes on from what earlier prompts of this batch left of its
  // beginning in the cache; otherwise the cache is emptied.
  void Start(const std::vector<std::vector<TokenId>>& prompts);

  // Tokens of the prompt that the last Start() found in the cache.
  std::int64_t reused() const { return reused_; }

  // Which columns of a run get logits.
  enum class Logits { kLast, kAll };

  // Runs the next at most `chunk` columns of the prompts; more where a text longer than CacheRules::short_context
  // begins, whose first run must reach beyond that. False when they are done: logits() then has what follows them.
  bool Prefill(std::int64_t chunk, Logits which = Logits::kLast);

  // Appends one token to each row and runs it. True where a row grows beyond CacheRules::short_context: nothing was run
  // then, and all rows begin anew with Prefill.
  bool Step(std::span<const TokenId> tokens);

  // Goes on with these of the present rows: in any order, some not at all, some several times (each with a copy of the
  // cache). Takes effect with the next Step.
  void Select(const std::vector<std::size_t>& rows);

  // [vocabulary] of a row's last column, valid until the next run.
  std::span<const float> logits(std::size_t row) const { return logits(row, columns() - 1); }

  // Of the `column`-th of the columns() that have logits.
  std::span<const float> logits(std::size_t row, std::size_t column) const;
  std::size_t columns() const { return static_cast<std::size_t>(logits_.shape()[1]); }

 private:
  // Continues the cache with `prompt`; how many of its tokens are there already. 0: nothing was changed.
  std::int64_t Continue(const std::vector<TokenId>& prompt);
  void Begin();  // with an empty cache

  // Whether a text of that many tokens is turned by the long factors.
  bool Long(std::size_t tokens) const;

  // Runs `columns` of input ids, [rows, columns] in `ids_`.
  void Run(std::int64_t columns, Logits which);

  Session session_;
  std::int64_t vocabulary_;
  TokenId pad_;
  CacheRules rules_;
  std::vector<std::vector<TokenId>> prompts_;
  std::vector<std::vector<TokenId>> cached_;  // of each row: the tokens in the cache that the mask shows
  std::vector<std::int64_t> padding_;         // of each row: columns before its first token
  std::vector<std::int32_t> beam_;            // row of the cache that each row continues
  std::vector<std::int64_t> shown_;           // of each column: 0 where it is left over from another continuation
  std::int64_t hidden_ = 0;                   // how many are
  std::int64_t reused_ = 0;
  std::int64_t length_ = 0;  // columns when the prompts are done
  std::int64_t done_ = 0;    // columns that were run
  std::vector<std::int64_t> ids_, mask_, positions_;
  Tensor logits_;
};

}  // namespace mconnect

#endif  // MCONNECT_TASKS_DECODER_BATCH_H_
