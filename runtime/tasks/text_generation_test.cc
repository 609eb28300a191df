#include "mconnect/text_generation.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "mconnect/error.h"
#include "runtime/engine/testing/toy_engine.h"
#include "runtime/tasks/testing/toy_parts.h"

namespace mconnect {
namespace {

using Ids = std::vector<std::int32_t>;

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

// A text whose greedy continuation does not end early.
const std::string kPrompt = "Hello";

class TextGenerationTest : public ::testing::Test {
 protected:
  Ids Encoded(const std::string& text) const {
    EncodeOptions options;
    return parts.tokenizer()->Encode(text, options).ids;
  }

  ToyParts parts = ToyParts::Decoder();
  TextGeneration model{parts};
};

TEST_F(TextGenerationTest, ContinuesGreedilyAndReportsUsage) {
  const Generation g = model.generate(kPrompt, {.max_new_tokens = 20});
  EXPECT_EQ(g.ids, ToyContinuation(Encoded(kPrompt), 20));
  EXPECT_EQ(g.prompt_tokens, 5);
  EXPECT_EQ(g.completion_tokens, static_cast<std::int64_t>(g.ids.size()));
  EXPECT_EQ(g.finish_reason, g.ids.back() == 257 ? FinishReason::kEos : FinishReason::kLength);
  EXPECT_EQ(g.text, parts.tokenizer()->Decode(g.ids));
  EXPECT_GT(g.prefill_seconds, 0);
}

TEST_F(TextGenerationTest, TakesIdsAsTheyAre) {
  EXPECT_EQ(model.generate(Ids{1, 2, 3}, {.max_new_tokens = 4}).ids, ToyContinuation({1, 2, 3}, 4));
}

TEST_F(TextGenerationTest, EndsAtTheEndOfText) {
  Ids prompt = {0};
  while (ToyContinuation(prompt, 100).back() != 257 || ToyContinuation(prompt, 100).size() < 2) ++prompt[0];
  const Ids expected = ToyContinuation(prompt, 100);
  const Generation g = model.generate(prompt, {.max_new_tokens = 100});
  EXPECT_EQ(g.ids, expected);
  EXPECT_EQ(g.finish_reason, FinishReason::kEos);
  EXPECT_EQ(g.text, parts.tokenizer()->Decode(Ids(expected.begin(), expected.end() - 1)));
  EXPECT_EQ(model.generate(prompt, {.max_new_tokens = 100, .ignore_eos = true}).ids.size(), 100u);
}

TEST_F(TextGenerationTest, StreamsPiecesThatAreWholeCharactersAndMakeTheText) {
  std::string streamed;
  int pieces = 0;
  const Generation g =
      model.generate(kPrompt, {.max_new_tokens = 200, .ignore_eos = true}, [&](const TextChunk& chunk) {
        EXPECT_EQ(chunk.index, 0u);
        EXPECT_FALSE(chunk.text.empty());
        EXPECT_NE(static_cast<unsigned char>(chunk.text.front()) & 0xC0, 0x80) << "begins inside of a character";
        streamed += chunk.text;
        ++pieces;
      });
  EXPECT_EQ(streamed, g.text);
  EXPECT_GT(pieces, 10);
}

TEST_F(TextGenerationTest, EndsBeforeAStopStringAcrossTokens) {
  const Generation all = model.generate(kPrompt, {.max_new_tokens = 100, .ignore_eos = true});
  // Every token is one byte: any text of two characters spans tokens.
  std::size_t at = 0;
  for (std::size_t i = 1; i + 2 < all.text.size() && at == 0; ++i) {
    const bool ascii = (all.text[i] & 0x80) == 0 && (all.text[i + 1] & 0x80) == 0;
    if (ascii && all.text.find(all.text.substr(i, 2)) == i) at = i;
  }
  ASSERT_GT(at, 0u) << "the continuation has no two plain characters";
  const std::string stop = all.text.substr(at, 2);
  std::string streamed;
  const Generation g = model.generate(kPrompt, {.max_new_tokens = 100, .stop = {"never", stop}, .ignore_eos = true},
                                      [&](const TextChunk& chunk) { streamed += chunk.text; });
  EXPECT_EQ(g.finish_reason, FinishReason::kStop);
  EXPECT_EQ(g.text, all.text.substr(0, at));
  EXPECT_EQ(streamed, g.text);
  EXPECT_LT(g.completion_tokens, 100);
}

TEST_F(TextGenerationTest, GivesOutWhatAStopStringHeldBackAtTheEnd) {
  const Generation all = model.generate(kPrompt, {.max_new_tokens = 30, .ignore_eos = true});
  std::size_t last = all.text.size() - 1;
  while ((static_cast<unsigned char>(all.text[last]) & 0xC0) == 0x80) --last;
  const std::string stop = all.text.substr(last) + "\x01never";
  EXPECT_EQ(model.generate(kPrompt, {.max_new_tokens = 30, .stop = {stop}, .ignore_eos = true}).text, all.text);
}

TEST_F(TextGenerationTest, ABatchGivesTheSameAsItsPromptsOneByOne) {
  const std::vector<Prompt> prompts = {"a", "a longer prompt", Ids{7}, "mid one"};
  const GenerateOptions options = {.max_new_tokens = 300};
  std::vector<std::string> streamed(prompts.size());
  const std::vector<Generation> batch =
      model.generate_batch(prompts, options, [&](const TextChunk& chunk) { streamed[chunk.index] += chunk.text; });
  ASSERT_EQ(batch.size(), prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const Generation one = model.generate(prompts[i], options);
    EXPECT_EQ(batch[i].ids, one.ids) << i;
    EXPECT_EQ(batch[i].text, one.text) << i;
    EXPECT_EQ(batch[i].finish_reason, one.finish_reason) << i;
    EXPECT_EQ(batch[i].prompt_tokens, one.prompt_tokens) << i;
    EXPECT_EQ(streamed[i], one.text) << i;
  }
  EXPECT_TRUE(model.generate_batch({}).empty());
}

TEST_F(TextGenerationTest, RunsLongPromptsInChunks) {
  Ids prompt;
  for (int i = 0; i < 2 * TextGeneration::kPrefillChunk + 1; ++i) prompt.push_back(i % 256);
  const std::int64_t before = ToyRuns();
  EXPECT_EQ(model.generate(prompt, {.max_new_tokens = 1}).ids, ToyContinuation(prompt, 1));
  EXPECT_EQ(ToyRuns() - before, 3);
}

TEST_F(TextGenerationTest, TheSameSeedGivesTheSameText) {
  const GenerateOptions options = {.max_new_tokens = 40, .temperature = 3.0f, .seed = 7, .ignore_eos = true};
  const Generation a = model.generate(kPrompt, options), b = model.generate(kPrompt, options);
  EXPECT_EQ(a.ids, b.ids);
  GenerateOptions other = options;
  other.seed = 8;
  EXPECT_NE(model.generate(kPrompt, other).ids, a.ids);
  EXPECT_NE(a.ids, ToyContinuation(Encoded(kPrompt), 40));
}

TEST_F(TextGenerationTest, CanBeCancelledInTheMiddle) {
  std::stop_source source;
  int pieces = 0;
  const Generation g = model.generate(
      kPrompt, {.max_new_tokens = 500, .ignore_eos = true, .cancel = source.get_token()}, [&](const TextChunk&) {
        if (++pieces == 3) source.request_stop();
      });
  EXPECT_EQ(g.finish_reason, FinishReason::kCancelled);
  EXPECT_GT(g.completion_tokens, 0);
  EXPECT_LT(g.completion_tokens, 30);
  EXPECT_EQ(g.text, parts.tokenizer()->Decode(g.ids));
}

TEST_F(TextGenerationTest, CanBeCancelledBeforeItBegins) {
  std::stop_source source;
  source.request_stop();
  const Generation g = model.generate(kPrompt, {.cancel = source.get_token()});
  EXPECT_EQ(g.finish_reason, FinishReason::kCancelled);
  EXPECT_TRUE(g.ids.empty());
}

TEST_F(TextGenerationTest, PassesOnAnExceptionOfTheCallback) {
  const auto fail = [](const TextChunk&) { throw std::runtime_error("enough"); };
  EXPECT_THROW(model.generate(kPrompt, {.max_new_tokens = 100, .ignore_eos = true}, fail), std::runtime_error);
  EXPECT_EQ(model.generate(kPrompt, {.max_new_tokens = 20}).ids, ToyContinuation(Encoded(kPrompt), 20));
}

TEST_F(TextGenerationTest, RefusesWhatExceedsTheContextWithBothNumbers) {
  const TextGeneration small(ToyParts::Decoder(/*max_tokens=*/10));
  EXPECT_EQ(ErrorOf([&] { small.generate("Hello", {.max_new_tokens = 6}); }).message(),
            "the prompt has 5 tokens, with max_new_tokens 6 that is 11; the model's context is 10");
  EXPECT_EQ(small.generate("Hello", {.ignore_eos = true}).ids.size(), 5u);  // what there is room for
  EXPECT_EQ(ErrorOf([&] { small.generate("Hello world"); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_NE(ErrorOf([&] {
              small.generate_batch({"a", "Hello world"});
            })
                .message()
                .find("prompt 1 has 11 tokens"),
            std::string::npos);
}

TEST_F(TextGenerationTest, RefusesWrongInput) {
  EXPECT_EQ(ErrorOf([&] {
              model.generate(Ids{1, 258});
            }).message(),
            "the prompt has the token id 258, the limits are 0 and 257");
  EXPECT_EQ(ErrorOf([&] { model.generate(Ids{-1}); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] { model.generate("a", {.max_new_tokens = 0}); }).message(),
            "max_new_tokens is 0, the least is 1");
  EXPECT_EQ(ErrorOf([&] { model.generate("a", {.stop = {""}}); }).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] { model.generate(""); }).code(), ErrorCode::kInvalidArgument);
}

TEST_F(TextGenerationTest, RefusesTextsThatAreNotUtf8WithTheOffset) {
  const auto refuses = [](const auto& call, const std::string& name) {
    const Error error = ErrorOf(call);
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(error.message().find(name), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("0xff"), std::string::npos) << error.message();
  };
  const TextGeneration chat(ToyParts::Chat());
  refuses([&] { model.generate("ab\xff"); }, "the prompt");
  refuses([&] { model.generate_batch({"a", "ab\xff"}); }, "prompt 1");
  refuses([&] { model.score("ab\xff"); }, "the text");
  refuses([&] { model.generate("a", {.stop = {"x", "\xff"}}); }, "stop string 1");
  refuses([&] { chat.chat({{"user", "a"}, {"user", "b\xff"}}); }, "messages[1].content");
  refuses([&] { chat.chat({{"\xff", "a"}}); }, "messages[0].role");
  refuses([&] { chat.chat({{"user", "a", "{\"name\":\"\xff\"}"}}); }, "messages[0].extra");
  refuses([&] { chat.encode_chat(std::string_view("[\"\xff\"]")); }, "messages");
  refuses([&] { chat.chat({{"user", "a"}}, {}, {.tools = "[\"\xff\"]"}); }, "tools");
  const auto format = [](OutputFormat::Kind kind) { return OutputFormat{kind, "a\xff", {"a", "\xff"}}; };
  refuses([&] { model.generate("a", {.format = format(OutputFormat::Kind::kRegex)}); }, "the output format");
  refuses([&] { model.generate("a", {.format = {OutputFormat::Kind::kChoice, "", {"a", "\xff"}}}); }, "choice 1");
}

TEST_F(TextGenerationTest, AnEmptyPromptStartsFromTheBeginOfTextToken) {
  const TextGeneration begins(ToyParts::Decoder(2048, /*bos=*/"256"));
  EXPECT_EQ(begins.generate("", {.max_new_tokens = 3}).ids, ToyContinuation({256}, 3));
}

TEST_F(TextGenerationTest, EightThreadsGetTheirOwnResults) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const Ids prompt = {static_cast<std::int32_t>(t), i};
        wrong[t] += model.generate(prompt, {.max_new_tokens = 10}).ids != ToyContinuation(prompt, 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST_F(TextGenerationTest, SamplesOfAPromptShareItsPrefill) {
  const GenerateOptions options = {.max_new_tokens = 30, .temperature = 3.0f, .seed = 7, .n = 3, .ignore_eos = true};
  const std::int64_t before = ToyRuns();
  std::vector<std::string> streamed(6);
  const std::vector<Generation> all = model.generate_batch(
      {kPrompt, "other"}, options, [&](const TextChunk& chunk) { streamed[chunk.index] += chunk.text; });
  EXPECT_EQ(ToyRuns() - before, 30);  // one for both prompts, and one for each token but the last
  ASSERT_EQ(all.size(), 6u);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(streamed[i], all[i].text);
  EXPECT_NE(all[0].ids, all[1].ids);
  EXPECT_NE(all[1].ids, all[2].ids);
  GenerateOptions one = options;
  one.n = 1;
  EXPECT_EQ(model.generate(kPrompt, one).ids, all[0].ids);
  EXPECT_EQ(model.generate("other", one).ids, all[3].ids);
  EXPECT_EQ(ErrorOf([&] { model.generate(kPrompt, options); }).message(), "n is 3, and generate() returns one");
}

TEST_F(TextGenerationTest, ReportsLogprobsOfTheModelItself) {
  const Generation g = model.generate(
      kPrompt, {.max_new_tokens = 4, .logit_bias = {{65, 1000.0f}}, .logprobs = true, .top_logprobs = 2});
  EXPECT_EQ(g.ids, (Ids{65, 65, 65, 65}));
  ASSERT_EQ(g.logprobs.size(), 4u);
  EXPECT_EQ(g.logprobs[0].id, 65);
  ASSERT_EQ(g.logprobs[0].top.size(), 2u);
  EXPECT_EQ(g.logprobs[0].top[0].first, ToyContinuation(Encoded(kPrompt), 1)[0]);
  EXPECT_LT(g.logprobs[0].logprob, g.logprobs[0].top[0].second);
  EXPECT_TRUE(model.generate(kPrompt, {.max_new_tokens = 4}).logprobs.empty());
}

TEST_F(TextGenerationTest, DoesNotEndBeforeTheLeastLength) {
  Ids prompt = {0};
  while (ToyContinuation(prompt, 100).size() > 20) ++prompt[0];
  EXPECT_GT(model.generate(prompt, {.max_new_tokens = 100, .min_new_tokens = 40}).ids.size(), 40u);
  EXPECT_EQ(ErrorOf([&] { model.generate(prompt, {.max_new_tokens = 10, .min_new_tokens = 40}); }).message(),
            "min_new_tokens is 40, the limit is max_new_tokens, 10");
}

TEST_F(TextGenerationTest, ATimeoutKeepsWhatThereIs) {
  int pieces = 0;
  const Generation g = model.generate(kPrompt, {.max_new_tokens = 2000, .ignore_eos = true, .timeout_seconds = 0.2},
                                      [&](const TextChunk&) {
                                        if (++pieces == 3) std::this_thread::sleep_for(std::chrono::milliseconds(250));
                                      });
  EXPECT_EQ(g.finish_reason, FinishReason::kTimeout);
  EXPECT_EQ(g.text, parts.tokenizer()->Decode(g.ids));
  EXPECT_LT(g.ids.size(), 2000u);
}

TEST_F(TextGenerationTest, KeepsToAnOutputFormat) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    GenerateOptions options = {.max_new_tokens = 200, .temperature = 5.0f, .seed = seed};
    options.format = {.kind = OutputFormat::Kind::kChoice, .choices = {"yes", "no", "not sure"}};
    const Generation choice = model.generate(kPrompt, options);
    EXPECT_TRUE(choice.text == "yes" || choice.text == "no" || choice.text == "not sure") << choice.text;
    EXPECT_EQ(choice.finish_reason, FinishReason::kEos);
    options.format = {.kind = OutputFormat::Kind::kRegex, .text = "[a-c]{4}-[0-9]{2}"};
    const std::string text = model.generate(kPrompt, options).text;
    EXPECT_TRUE(std::regex_match(text, std::regex("[a-c]{4}-[0-9]{2}"))) << text;
    options.format = {.kind = OutputFormat::Kind::kJsonSchema,
                      .text = R"({"type":"object","properties":{"name":{"type":"string","maxLength":8},
                                  "ok":{"type":"boolean"}},"required":["name","ok"]})"};
    const Generation json = model.generate(kPrompt, options);
    const nlohmann::json value = nlohmann::json::parse(json.text, nullptr, false);
    ASSERT_FALSE(value.is_discarded()) << json.text;
    EXPECT_TRUE(value["name"].is_string() && value["ok"].is_boolean()) << json.text;
  }
  GenerateOptions beams = {.max_new_tokens = 20, .n = 2, .num_beams = 4};
  beams.format = {.kind = OutputFormat::Kind::kChoice, .choices = {"yes", "no"}};
  const std::vector<Generation> both = model.generate_batch({kPrompt}, beams);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE((both[0].text == "yes" && both[1].text == "no") || (both[0].text == "no" && both[1].text == "yes"));
  EXPECT_THROW(model.generate(kPrompt, {.format = {.kind = OutputFormat::Kind::kChoice}}), Error);
}

TEST_F(TextGenerationTest, BeamSearchFindsWhatGreedyDecodingMisses) {
  const std::vector<Generation> beams =
      model.generate_batch({kPrompt, "other"}, {.max_new_tokens = 12, .n = 2, .num_beams = 3});
  ASSERT_EQ(beams.size(), 4u);
  EXPECT_GE(beams[0].score, beams[1].score);
  EXPECT_NE(beams[0].ids, beams[1].ids);
  const std::vector<Generation> alone = model.generate_batch({"other"}, {.max_new_tokens = 12, .n = 2, .num_beams = 3});
  EXPECT_EQ(alone[0].ids, beams[2].ids);
  EXPECT_EQ(alone[1].ids, beams[3].ids);
  std::stop_source stop;
  stop.request_stop();
  const std::vector<Generation> cancelled =
      model.generate_batch({kPrompt}, {.n = 2, .num_beams = 3, .cancel = stop.get_token()});
  ASSERT_EQ(cancelled.size(), 2u);
  EXPECT_EQ(cancelled[0].finish_reason, FinishReason::kCancelled);
}

TEST_F(TextGenerationTest, BeamsEndAtStopStrings) {
  const GenerateOptions plain = {.max_new_tokens = 12, .n = 3, .num_beams = 3};
  const std::vector<Generation> free = model.generate_batch({kPrompt}, plain);
  std::string stop;  // the first plain character behind the first token of the best
  for (std::size_t i = 1; i < free[0].text.size() && stop.empty(); ++i) {
    if ((free[0].text[i] & 0x80) == 0) stop = free[0].text[i];
  }
  ASSERT_FALSE(stop.empty());
  GenerateOptions options = plain;
  options.stop = {"never", stop};
  int stopped = 0;
  for (const Generation& g : model.generate_batch({kPrompt}, options)) {
    EXPECT_EQ(g.text.find(stop), std::string::npos);
    stopped += g.finish_reason == FinishReason::kStop;
    EXPECT_EQ(g.finish_reason == FinishReason::kStop, parts.tokenizer()->Decode(g.ids).ends_with(stop));
  }
  EXPECT_GT(stopped, 0);
}

TEST_F(TextGenerationTest, TopLogprobsAskForLogprobs) {
  const Generation g = model.generate(kPrompt, {.max_new_tokens = 2, .top_logprobs = 4});
  ASSERT_EQ(g.logprobs.size(), 2u);
  EXPECT_EQ(g.logprobs[1].top.size(), 4u);
}

TEST_F(TextGenerationTest, ForbiddingEveryTokenIsAnErrorAlsoOfBeams) {
  GenerateOptions options = {.max_new_tokens = 4};
  for (std::int32_t id = 0; id < 258; ++id) options.logit_bias[id] = -INFINITY;
  EXPECT_EQ(ErrorOf([&] { model.generate(kPrompt, options); }).message(), "none of the 258 logits is finite");
  options.num_beams = 3;
  EXPECT_EQ(ErrorOf([&] { model.generate(kPrompt, options); }).message(), "none of the 258 logits is finite");
}

TEST_F(TextGenerationTest, StopStringsMayOverlapAndRepeatTheEndOfThePrompt) {
  const Generation all = model.generate(kPrompt, {.max_new_tokens = 60, .ignore_eos = true});
  std::size_t at = 0;
  for (std::size_t i = 2; i + 4 < all.text.size() && at == 0; ++i) {
    bool ascii = true;
    for (std::size_t k = 0; k < 4; ++k) ascii = ascii && (all.text[i + k] & 0x80) == 0;
    if (ascii && all.text.find(all.text.substr(i, 4)) == i) at = i;
  }
  ASSERT_GT(at, 0u) << "the continuation has no four plain characters";
  const std::string whole = all.text.substr(at, 4), inner = whole.substr(1, 2);
  const auto cut = [&](std::vector<std::string> stop) {
    return model.generate(kPrompt, {.max_new_tokens = 60, .stop = std::move(stop), .ignore_eos = true}).text;
  };
  EXPECT_EQ(cut({whole, inner}), all.text.substr(0, all.text.find(inner)));  // what ends first wins
  EXPECT_EQ(cut({whole, whole.substr(2)}), cut({whole.substr(2), whole}));
  EXPECT_EQ(cut({kPrompt, kPrompt.substr(2)}), all.text);  // the prompt is no part of the continuation
}

TEST_F(TextGenerationTest, SixtyFourSamplesAreSixtyFourTexts) {
  const std::vector<Generation> all = model.generate_batch(
      {kPrompt}, {.max_new_tokens = 20, .temperature = 5.0f, .seed = 3, .n = 64, .ignore_eos = true});
  ASSERT_EQ(all.size(), 64u);
  std::set<Ids> distinct;
  for (const Generation& g : all) distinct.insert(g.ids);
  EXPECT_GT(distinct.size(), 60u);
}

TEST_F(TextGenerationTest, ACallbackMayCancelAtTheFirstPiece) {
  std::stop_source source;
  const Generation g = model.generate(kPrompt, {.max_new_tokens = 50, .ignore_eos = true, .cancel = source.get_token()},
                                      [&](const TextChunk&) { source.request_stop(); });
  EXPECT_EQ(g.finish_reason, FinishReason::kCancelled);
  EXPECT_LE(g.ids.size(), 4u);  // a character has at most four tokens here
}

TEST_F(TextGenerationTest, APromptMayBeSpecialTokensAlone) {
  EXPECT_EQ(model.generate("<s><s></s>", {.max_new_tokens = 3}).ids, ToyContinuation({256, 256, 257}, 3));
}

TEST_F(TextGenerationTest, ScoresATextInPartsOfAnySize) {
  Ids text;
  for (int i = 0; i < 700; ++i) text.push_back(i * 31 % 250);
  const Score score = model.score(text);
  ASSERT_EQ(score.logprobs.size(), 699u);
  double sum = 0;
  for (const float logprob : score.logprobs) sum += logprob;
  EXPECT_NEAR(score.log_likelihood, sum, 1e-2);
  EXPECT_NEAR(score.perplexity(), std::exp(-sum / 699), 1e-2 * score.perplexity());
  // What the model itself would say is the most probable of all.
  Ids likely = {5};
  for (const std::int32_t id : ToyContinuation({5}, 20)) likely.push_back(id);
  EXPECT_LT(model.score(likely).perplexity(), score.perplexity());
  EXPECT_EQ(model.score(Ids{5}).perplexity(), 1);
  const TextGeneration small(ToyParts::Decoder(/*max_tokens=*/10));
  EXPECT_EQ(ErrorOf([&] { small.score("Hello world"); }).message(),
            "the text has 11 tokens; the model's context is 10");
}

TEST(FinishReasonName, NamesEach) {
  EXPECT_EQ(FinishReasonName(FinishReason::kEos), "eos");
  EXPECT_EQ(FinishReasonName(FinishReason::kStop), "stop");
  EXPECT_EQ(FinishReasonName(FinishReason::kLength), "length");
  EXPECT_EQ(FinishReasonName(FinishReason::kCancelled), "cancelled");
  EXPECT_EQ(FinishReasonName(FinishReason::kTimeout), "timeout");
}

}  // namespace
}  // namespace mconnect
