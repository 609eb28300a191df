#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <vector>

#include "mconnect/error.h"
#include "mconnect/text_generation.h"
#include "runtime/engine/testing/toy_engine.h"
#include "runtime/tasks/testing/toy_parts.h"

namespace mconnect {
namespace {

using Ids = std::vector<std::int32_t>;

Ids Join(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// `count` tokens that are no end of text.
Ids Tokens(int count, int first = 0) {
  Ids ids;
  for (int i = 0; i < count; ++i) ids.push_back((first + i * 7) % 250);
  return ids;
}

GenerateOptions Greedy(int count) { return {.max_new_tokens = count, .ignore_eos = true}; }

class TextSessionTest : public ::testing::Test {
 protected:
  // Generates and says how many tokens the model was given for it.
  Generation Run(const Ids& prompt, int count) {
    const std::int64_t before = ToyTokens();
    Generation result = session.generate(prompt, Greedy(count));
    fed = ToyTokens() - before;
    EXPECT_EQ(result.ids, model.generate(prompt, Greedy(count)).ids);
    EXPECT_EQ(result.prompt_tokens, static_cast<std::int64_t>(prompt.size()));
    return result;
  }

  TextGeneration model{ToyParts::Decoder()};
  TextSession session = model.session();
  std::int64_t fed = 0;
};

TEST_F(TextSessionTest, GivesTheModelNothingButWhatIsNew) {
  const Generation first = Run(Tokens(20), 6);
  EXPECT_EQ(first.cached_tokens, 0);
  EXPECT_EQ(fed, 20 + 5);
  const Generation second = Run(Join(Join(Tokens(20), first.ids), {1, 2, 3}), 4);
  EXPECT_EQ(second.cached_tokens, 20 + 5);  // the last token of an answer was not run yet
  EXPECT_EQ(fed, 1 + 3 + 3);
}

TEST_F(TextSessionTest, GoesOnFromWhatTwoPromptsHaveInCommon) {
  Run(Tokens(20), 6);
  EXPECT_EQ(Run(Join(Tokens(15), {240, 241}), 3).cached_tokens, 15);
  EXPECT_EQ(fed, 2 + 2);
  EXPECT_EQ(Run(Join(Tokens(18), {242}), 3).cached_tokens, 15);
  EXPECT_EQ(Run(Join(Tokens(15), {240, 9}), 3).cached_tokens, 0);  // 20 columns in all would be hidden
}

TEST_F(TextSessionTest, TheSamePromptAgainRunsItsLastToken) {
  Run(Tokens(20), 1);
  EXPECT_EQ(Run(Tokens(20), 1).cached_tokens, 19);
  EXPECT_EQ(fed, 1);
}

TEST_F(TextSessionTest, BeginsAnewWhereMoreIsLeftOverThanReused) {
  Run(Tokens(20), 6);
  EXPECT_EQ(Run(Join(Tokens(12), {240}), 1).cached_tokens, 0);  // 13 columns would be hidden
  EXPECT_EQ(Run(Ids{99, 98}, 1).cached_tokens, 0);
  EXPECT_EQ(fed, 2);
}

TEST_F(TextSessionTest, AWindowAllowsNoHiddenColumnsButMayGoOn) {
  model = TextGeneration(ToyParts::Windowed());
  session = model.session();
  const Generation first = Run(Tokens(20), 6);
  EXPECT_EQ(Run(Join(Join(Tokens(20), first.ids), {1}), 4).cached_tokens, 25);
  EXPECT_EQ(Run(Join(Tokens(19), {240}), 1).cached_tokens, 0);
}

TEST_F(TextSessionTest, TextsOnBothSidesOfAShortContextShareNoCache) {
  model = TextGeneration(ToyParts::LongRope(/*short_context=*/30));
  session = model.session();
  const Generation first = Run(Tokens(20), 6);
  EXPECT_EQ(Run(Join(Join(Tokens(20), first.ids), Tokens(3)), 1).cached_tokens, 25);  // 29 tokens
  EXPECT_EQ(Run(Join(Join(Tokens(20), first.ids), Tokens(5)), 1).cached_tokens, 0);   // 31
  EXPECT_EQ(Run(Join(Join(Tokens(20), first.ids), Tokens(9)), 1).cached_tokens, 31);
  EXPECT_EQ(Run(Tokens(20), 1).cached_tokens, 0);
}

TEST_F(TextSessionTest, RunsAllAnewWhereATextGrowsBeyondItsShortContext) {
  model = TextGeneration(ToyParts::LongRope(/*short_context=*/30));
  const std::int64_t before = ToyTokens();
  const Generation grown = model.generate(Tokens(28), Greedy(10));
  EXPECT_EQ(ToyTokens() - before, 28 + 2 + 31 + 6);  // up to 30 tokens, then 31 at once, then 37
  EXPECT_EQ(grown.ids, TextGeneration(ToyParts::Decoder()).generate(Tokens(28), Greedy(10)).ids);
}

TEST_F(TextSessionTest, ACancelledAnswerLeavesWhatItComputed) {
  std::stop_source stop;
  GenerateOptions options = Greedy(50);
  options.cancel = stop.get_token();
  const Generation cut = session.generate(Tokens(20), options, [&](const TextChunk&) { stop.request_stop(); });
  EXPECT_EQ(cut.finish_reason, FinishReason::kCancelled);
  const Ids next = Join(Join(Tokens(20), cut.ids), {5});
  EXPECT_EQ(Run(next, 3).cached_tokens, static_cast<std::int64_t>(next.size()) - 2);
}

TEST_F(TextSessionTest, AnExceptionOfTheCallbackEmptiesIt) {
  const auto fail = [](const TextChunk&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(session.generate(Tokens(20), Greedy(50), fail), std::runtime_error);
  EXPECT_EQ(Run(Tokens(20), 3).cached_tokens, 0);
}

TEST_F(TextSessionTest, ARefusedRequestLeavesItAsItIs) {
  Run(Tokens(20), 6);
  EXPECT_THROW(session.generate(Ids{999}, Greedy(1)), Error);
  GenerateOptions two = Greedy(1);
  two.n = 2;
  EXPECT_THROW(session.generate(Tokens(20), two), Error);
  EXPECT_EQ(Run(Tokens(20), 1).cached_tokens, 19);
  session.reset();
  EXPECT_EQ(Run(Tokens(20), 1).cached_tokens, 0);
}

TEST_F(TextSessionTest, GoesOnFromTheBeamThatWasAnswered) {
  GenerateOptions beams = Greedy(6);
  beams.num_beams = 3;
  const Generation first = session.generate(Tokens(20), beams);
  const Generation second = Run(Join(Join(Tokens(20), first.ids), {1}), 2);
  EXPECT_GE(second.cached_tokens, 20);
}

TEST_F(TextSessionTest, AnswersConversationsAsTheModelDoes) {
  model = TextGeneration(ToyParts::Chat());
  session = model.session();
  std::vector<Message> messages;
  for (int turn = 0; turn < 4; ++turn) {
    messages.push_back({"user", "turn " + std::to_string(turn)});
    const Generation answer = session.chat(messages, Greedy(5));
    EXPECT_EQ(answer.ids, model.chat(messages, Greedy(5)).ids) << turn;
    EXPECT_EQ(answer.cached_tokens > 0, turn > 0);
    messages.push_back({"assistant", answer.text});
  }
}

TEST_F(TextSessionTest, AnyPromptsInAnyOrderGiveWhatTheyGiveAlone) {
  std::mt19937 random(7);  // NOLINT: the same prompts in every run
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Ids text = Tokens(30);
  std::int64_t reused = 0;
  for (int turn = 0; turn < 200; ++turn) {
    text.resize(below(3) == 0 ? 1 + below(text.size()) : text.size());
    text = Join(text, Tokens(static_cast<int>(1 + below(12)), static_cast<int>(below(250))));
    const Generation answer = Run(text, static_cast<int>(1 + below(8)));
    reused += answer.cached_tokens;
    if (below(2) == 0) text = Join(text, answer.ids);
    if (text.size() > 700) text.resize(20);
  }
  EXPECT_GT(reused, 1000);
}

}  // namespace
}  // namespace mconnect
