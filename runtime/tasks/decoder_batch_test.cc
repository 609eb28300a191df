#include "runtime/tasks/decoder_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/engine/testing/toy_engine.h"
#include "runtime/tasks/testing/toy_parts.h"

namespace mconnect {
namespace {

constexpr std::int64_t kVocabulary = 258;

class DecoderBatchTest : public ::testing::Test {
 protected:
  TokenId Best(std::size_t row) const {
    const auto logits = batch.logits(row);
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }

  ToyParts parts = ToyParts::Decoder();
  DecoderBatch batch{parts.module("decoder").session(), kVocabulary, /*pad=*/0};
};

TEST_F(DecoderBatchTest, PadsOnTheLeftAndCountsPositionsFromTheFirstToken) {
  batch.Start({{5}, {5, 6, 7}, {8, 9}});
  EXPECT_FALSE(batch.Prefill(100));
  EXPECT_EQ(Best(0), ToyContinuation({5}, 1)[0]);
  EXPECT_EQ(Best(1), ToyContinuation({5, 6, 7}, 1)[0]);
  EXPECT_EQ(Best(2), ToyContinuation({8, 9}, 1)[0]);
}

TEST_F(DecoderBatchTest, ChunksOfAnySizeGiveTheSame) {
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6, 7};
  for (std::int64_t chunk = 1; chunk <= 8; ++chunk) {
    DecoderBatch own(parts.module("decoder").session(), kVocabulary, 0);
    own.Start({prompt, {9, 9}});
    const std::int64_t before = ToyRuns();
    while (own.Prefill(chunk)) {
    }
    EXPECT_EQ(ToyRuns() - before, (7 + chunk - 1) / chunk);
    const auto logits = own.logits(0);
    EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), ToyContinuation(prompt, 1)[0]) << chunk;
  }
}

TEST_F(DecoderBatchTest, StepsContinueEachRow) {
  batch.Start({{5}, {6, 7}});
  batch.Prefill(100);
  for (int i = 0; i < 5; ++i) {
    const std::vector<TokenId> next = {Best(0), Best(1)};
    EXPECT_EQ(next[0], ToyContinuation({5}, i + 1).back());
    EXPECT_EQ(next[1], ToyContinuation({6, 7}, i + 1).back());
    batch.Step(next);
  }
}

TEST_F(DecoderBatchTest, KeepsTheRowsAskedForAndTheirCaches) {
  batch.Start({{5}, {6, 7}, {8, 9, 10}});
  batch.Prefill(100);
  const TokenId second = Best(1), third = Best(2);
  batch.Select({1, 2});
  batch.Step(std::vector<TokenId>{second, third});
  EXPECT_EQ(Best(0), ToyContinuation({6, 7}, 2)[1]);
  EXPECT_EQ(Best(1), ToyContinuation({8, 9, 10}, 2)[1]);
  batch.Select({1});
  batch.Step(std::vector<TokenId>{Best(1)});
  EXPECT_EQ(Best(0), ToyContinuation({8, 9, 10}, 3)[2]);
}

TEST_F(DecoderBatchTest, OneRowBecomesSeveralAndRowsChangePlaces) {
  batch.Start({{5}, {6, 7}});
  batch.Prefill(100);
  const TokenId first = Best(0), second = Best(1);
  batch.Select({1, 0, 1});
  batch.Step(std::vector<TokenId>{second, first, second});
  EXPECT_EQ(Best(0), ToyContinuation({6, 7}, 2)[1]);
  EXPECT_EQ(Best(1), ToyContinuation({5}, 2)[1]);
  EXPECT_EQ(Best(2), ToyContinuation({6, 7}, 2)[1]);
}

TEST_F(DecoderBatchTest, GivesTheLogitsOfEveryColumn) {
  batch.Start({{5, 6, 7}});
  EXPECT_TRUE(batch.Prefill(2, DecoderBatch::Logits::kAll));
  ASSERT_EQ(batch.columns(), 2u);
  const auto best = [&](std::size_t column) {
    const auto logits = batch.logits(0, column);
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  };
  EXPECT_EQ(best(0), ToyContinuation({5}, 1)[0]);
  EXPECT_EQ(best(1), ToyContinuation({5, 6}, 1)[0]);
  EXPECT_FALSE(batch.Prefill(2, DecoderBatch::Logits::kAll));
  EXPECT_EQ(best(0), ToyContinuation({5, 6, 7}, 1)[0]);
}

TEST_F(DecoderBatchTest, GoesOnFromTheRowThatSharesMost) {
  batch.Start({{5, 6, 7, 8}, {9, 8, 7, 6}});
  batch.Prefill(100);
  batch.Start({{9, 8, 7, 6, 5}});
  EXPECT_EQ(batch.reused(), 4);
  const std::int64_t before = ToyTokens();
  EXPECT_FALSE(batch.Prefill(100));
  EXPECT_EQ(ToyTokens() - before, 1);
  EXPECT_EQ(Best(0), ToyContinuation({9, 8, 7, 6, 5}, 1)[0]);
  batch.Start({{9, 8, 7, 1, 2}});  // hides the 6 and the 5
  EXPECT_EQ(batch.reused(), 3);
  batch.Prefill(1);
  batch.Prefill(1);
  EXPECT_EQ(Best(0), ToyContinuation({9, 8, 7, 1, 2}, 1)[0]);
  batch.Start({{9, 8, 7, 1, 2}, {9}});  // several begin anew
  EXPECT_EQ(batch.reused(), 0);
  batch.Prefill(100);
  EXPECT_EQ(Best(1), ToyContinuation({9}, 1)[0]);
}

TEST_F(DecoderBatchTest, TextsBeyondAShortContextBeginWithARunBeyondIt) {
  DecoderBatch own(parts.module("decoder").session(), kVocabulary, 0, {.short_context = 5});
  std::int64_t before = ToyTokens();
  const auto fed = [&] { return ToyTokens() - std::exchange(before, ToyTokens()); };
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  own.Start({prompt, {8, 9}});
  EXPECT_TRUE(own.Prefill(2));
  EXPECT_EQ(fed(), 2 * 6);
  EXPECT_TRUE(own.Prefill(2));
  EXPECT_EQ(fed(), 2 * 2);
  own.Start({{1, 2, 3, 4, 5}});  // short: nothing of a long text is of use
  EXPECT_EQ(own.reused(), 0);
  EXPECT_TRUE(own.Prefill(4));
  EXPECT_FALSE(own.Prefill(4));
  EXPECT_TRUE(own.Step(std::vector<TokenId>{6}));  // grows beyond it: all begins anew
  EXPECT_EQ(fed(), 5);
  EXPECT_FALSE(own.Prefill(2));
  EXPECT_EQ(fed(), 6);
  const auto logits = own.logits(0);
  EXPECT_EQ(std::max_element(logits.begin(), logits.end()) - logits.begin(), ToyContinuation({1, 2, 3, 4, 5, 6}, 1)[0]);
}

TEST_F(DecoderBatchTest, ALongTextThatGoesOnFromItsBeginningRunsBeyondTheShortContextAtOnce) {
  DecoderBatch own(parts.module("decoder").session(), kVocabulary, 0, {.short_context = 10});
  own.Start({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
  own.Prefill(100);
  own.Start({{1, 2, 3, 4, 5, 6, 7, 18, 19, 20, 21, 22}});
  EXPECT_EQ(own.reused(), 7);
  const std::int64_t before = ToyTokens();
  EXPECT_TRUE(own.Prefill(1));
  EXPECT_EQ(ToyTokens() - before, 4);  // up to the eleventh
}

}  // namespace
}  // namespace mconnect
