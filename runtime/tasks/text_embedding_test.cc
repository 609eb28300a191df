#include "mconnect/text_embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "mconnect/error.h"
#include "runtime/engine/testing/toy_engine.h"
#include "runtime/tasks/testing/toy_parts.h"

namespace mconnect {
namespace {

std::vector<float> Row(const Embeddings& e, std::int64_t i) { return {e[i].begin(), e[i].end()}; }

template <typename F>
Error ErrorOf(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::kInternal, "");
}

TEST(TextEmbedding, PoolsTheTokensOfEachText) {
  // "AB" is <s> A B </s>: 256, 32, 33, 257; the toy encoder gives id + h / 8.
  const TextEmbedding mean(ToyParts::Encoder("mean")), cls(ToyParts::Encoder("cls")), last(ToyParts::Encoder("last"));
  EXPECT_EQ(Row(mean.embed({"AB"}), 0), (std::vector<float>{144.5f, 144.625f, 144.75f, 144.875f}));
  EXPECT_EQ(Row(cls.embed({"AB"}), 0)[0], 256.0f);
  EXPECT_EQ(Row(last.embed({"AB"}), 0)[0], 257.0f);
}

TEST(TextEmbedding, NormalizesAsTheModelSaysOrTheCallerAsks) {
  const TextEmbedding model(ToyParts::Encoder("mean", /*normalize=*/true));
  const auto length = [](const std::vector<float>& v) {
    double sum = 0;
    for (const float x : v) sum += static_cast<double>(x) * x;
    return std::sqrt(sum);
  };
  EXPECT_NEAR(length(Row(model.embed({"AB"}), 0)), 1.0, 1e-6);
  EXPECT_GT(length(Row(model.embed({"AB"}, {.normalize = false}), 0)), 100);
}

TEST(TextEmbedding, ResultsAreInTheOrderOfTheTexts) {
  const TextEmbedding model(ToyParts::Encoder());
  const std::vector<std::string> texts = {"a", "abcdef", "", "abc", "bb", "a"};
  for (const int batch_size : {1, 2, 3, 32}) {
    const Embeddings all = model.embed(texts, {.batch_size = batch_size});
    ASSERT_EQ(all.count(), 6);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Embeddings one = model.embed({texts[i]});
      EXPECT_EQ(Row(all, static_cast<std::int64_t>(i)), Row(one, 0)) << texts[i] << " in batches of " << batch_size;
      EXPECT_EQ(all.tokens[i], static_cast<std::int32_t>(texts[i].size()) + 2);
    }
  }
}

TEST(TextEmbedding, RunsTextsInBatches) {
  const TextEmbedding model(ToyParts::Encoder());
  const std::int64_t before = ToyRuns();
  model.embed({"a", "b", "c", "d", "e"}, {.batch_size = 2});
  EXPECT_EQ(ToyRuns() - before, 3);
}

TEST(TextEmbedding, AnEmptyListIsAnEmptyResult) {
  const Embeddings none = TextEmbedding(ToyParts::Encoder()).embed({});
  EXPECT_EQ(none.vectors.shape(), (Shape{0, 4}));
  EXPECT_TRUE(none.tokens.empty());
}

TEST(TextEmbedding, AnEmptyTextIsItsSpecialTokens) {
  const Embeddings e = TextEmbedding(ToyParts::Encoder()).embed({""});
  EXPECT_EQ(e.tokens[0], 2);
  EXPECT_EQ(Row(e, 0)[0], 256.5f);
}

TEST(TextEmbedding, CutsLongTextsBeforeTheClosingToken) {
  const TextEmbedding model(ToyParts::Encoder("last"));
  const std::string fits(14, 'A'), longer(15, 'A'), very_long(1 << 20, 'A');
  const Embeddings e = model.embed({fits, longer, very_long});
  EXPECT_EQ(e.truncated, (std::vector<bool>{false, true, true}));
  EXPECT_EQ(e.tokens, (std::vector<std::int32_t>{16, 16, 16}));
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(Row(e, i)[0], 257.0f);  // </s>
  EXPECT_EQ(model.embed({fits}, {.max_tokens = 3}).tokens[0], 3);
}

TEST(TextEmbedding, RefusesOptionsOutsideTheirLimits) {
  const TextEmbedding model(ToyParts::Encoder());
  EXPECT_EQ(ErrorOf([&] { model.embed({"a"}, {.batch_size = 0}); }).message(),
            "batch_size is 0, the limits are 1 and 4096");
  EXPECT_EQ(ErrorOf([&] { model.embed({"a"}, {.max_tokens = 17}); }).message(),
            "max_tokens is 17, the limits are 2 and 16");
  EXPECT_EQ(ErrorOf([&] { model.embed({"a"}, {.max_tokens = 1}); }).code(), ErrorCode::kInvalidArgument);
}

TEST(TextEmbedding, RefusesATextThatIsNotUtf8WithItsIndexAndTheByte) {
  const TextEmbedding model(ToyParts::Encoder());
  const Error error = ErrorOf([&] { model.embed({"a", "b\xC3"}); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message(), "text 1 is not UTF-8: byte 0xc3 at line 1, column 2 (offset 1)");
}

TEST(TextEmbedding, CanBeCancelled) {
  std::stop_source source;
  source.request_stop();
  const TextEmbedding model(ToyParts::Encoder());
  EXPECT_EQ(ErrorOf([&] { model.embed({"a"}, {.cancel = source.get_token()}); }).code(), ErrorCode::kCancelled);
}

TEST(TextEmbedding, EightThreadsGetTheirOwnResults) {
  const TextEmbedding model(ToyParts::Encoder());
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string text(1 + (t + static_cast<std::size_t>(i)) % 12, static_cast<char>('A' + t));
        const float n = static_cast<float>(text.size());
        const float expected = (256 + 257 + n * static_cast<float>(32 + t)) / (n + 2);
        wrong[t] += std::abs(Row(model.embed({"x", text}), 1)[0] - expected) > 1e-3f;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
}  // namespace mconnect
