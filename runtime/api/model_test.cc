#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "mconnect/mconnect.h"

namespace mconnect {
namespace {

// Tiny bundles that the families build, in the runfiles.
constexpr const char* kEncoder = "families/bert/bundle.bundle";
constexpr const char* kDecoder = "families/qwen3/bundle.bundle";

LoadOptions Options(const std::string& device = "auto") {
  LoadOptions options;
  options.device = device;
  options.threads = 2;
  options.store = std::filesystem::path(::testing::TempDir()) / "store";
  return options;
}

const Model& Encoder() {
  static const Model model = Model::load(kEncoder, Options());
  return model;
}

const Model& Decoder() {
  static const Model model = Model::load(kDecoder, Options());
  return model;
}

Error ErrorOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(ErrorCode::kInternal, "");
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

float MaxDifference(std::span<const float> a, std::span<const float> b) {
  float worst = a.size() == b.size() ? 0.0f : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST(Model, TellsWhatItIsAndHowItRuns) {
  const ModelInfo& info = Encoder().info();
  EXPECT_EQ(info.id.size(), 64u);
  EXPECT_EQ(info.family, "bert");
  EXPECT_EQ(info.tasks, (std::vector<std::string>{"text-embedding"}));
  EXPECT_EQ(info.device, "cpu");
  EXPECT_EQ(info.precision, "f32");
  ASSERT_EQ(info.modules.size(), 1u);
  EXPECT_EQ(info.modules[0].name, "encoder");
  EXPECT_EQ(info.modules[0].engine, "openvino");
  EXPECT_FALSE(info.modules[0].stateful);
  EXPECT_TRUE(Decoder().info().modules[0].stateful);
}

TEST(Model, NamesWhatABundleDoesNotHave) {
  EXPECT_EQ(ErrorOf([] { Encoder().module("decoder"); }).code(), ErrorCode::kNotFound);
  EXPECT_HAS(ErrorOf([] { Encoder().module("decoder"); }).message(), "has no module 'decoder'; it has 'encoder'");
  EXPECT_HAS(ErrorOf([] { Encoder().task<TextGeneration>(); }).message(),
             "has no task 'text-generation'; it has 'text-embedding'");
  EXPECT_EQ(ErrorOf([] { Encoder().asset("labels"); }).code(), ErrorCode::kNotFound);
  EXPECT_HAS(Encoder().asset("text-embedding"), "max_tokens");
}

TEST(Model, NeverFallsBackFromTheDeviceAskedFor) {
  const Error e = ErrorOf([] { Model::load(kEncoder, Options("gpu")); });
  EXPECT_EQ(e.code(), ErrorCode::kUnavailable);
  EXPECT_HAS(e.message(), "'gpu' is not available here; there is openvino: cpu");
}

TEST(Model, RefusesWrongOptions) {
  EXPECT_EQ(ErrorOf([] { Model::load(kEncoder, Options("tpu")); }).code(), ErrorCode::kInvalidArgument);
  LoadOptions options = Options();
  options.precision = "f8";
  EXPECT_HAS(ErrorOf([&] { Model::load(kEncoder, options); }).message(), "'f8'");
  options = Options();
  options.threads = -1;
  EXPECT_HAS(ErrorOf([&] { Model::load(kEncoder, options); }).message(), "threads is -1");
}

TEST(Model, RefusesWhatIsNoBundle) {
  EXPECT_EQ(ErrorOf([] { Model::load("no/such.bundle", Options()); }).code(), ErrorCode::kNotFound);
  const std::string path = ::testing::TempDir() + "/text.bundle";
  std::FILE* file = std::fopen(path.c_str(), "w");
  std::fputs("not a bundle", file);
  std::fclose(file);
  EXPECT_EQ(ErrorOf([&] { Model::load(path, Options()); }).code(), ErrorCode::kCorrupt);
}

TEST(Model, TasksAndModulesOutliveIt) {
  const auto embedding = Model::load(kEncoder, Options()).task<TextEmbedding>();
  EXPECT_EQ(embedding.embed({"a cat"}).count(), 1);
  const LoadedModule module = Model::load(kEncoder, Options()).module("encoder");
  EXPECT_EQ(module.info().name, "encoder");
}

TEST(Model, EmbedsTheSameAloneAndInAPaddedBatch) {
  const auto task = Encoder().task<TextEmbedding>();
  const std::vector<std::string> texts = {"a cat", "", "the quick brown fox jumps over the lazy dog",
                                          "Über sieben Brücken", "猫"};
  const Embeddings all = task.embed(texts);
  ASSERT_EQ(all.count(), 5);
  EXPECT_EQ(all.dimension(), task.dimension());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_LE(MaxDifference(all[static_cast<std::int64_t>(i)], task.embed({texts[i]})[0]), 1e-5f) << texts[i];
  }
}

TEST(Model, RunsModulesWithNamedTensors) {
  const LoadedModule encoder = Encoder().module("encoder");
  NamedTensors inputs;
  for (const TensorInfo& input : encoder.info().inputs) {
    inputs[input.name] = Tensor(input.dtype, {2, 3});
    if (input.name == "attention_mask") {
      for (std::int64_t& m : inputs[input.name].values<std::int64_t>()) m = 1;
    }
  }
  const NamedTensors outputs = encoder.run(inputs);
  EXPECT_EQ(outputs.at("last_hidden_state").shape().size(), 3u);
  EXPECT_EQ(outputs.at("last_hidden_state").shape()[1], 3);
  inputs["input_ids"] = Tensor(DType::kI32, {2, 3});
  EXPECT_HAS(ErrorOf([&] { encoder.run(inputs); }).message(), "input 'input_ids': expected i64, got i32");
}

// What a decoder takes for `ids` on an empty cache.
NamedTensors Prefill(const std::vector<std::int64_t>& ids, std::int64_t mask) {
  const auto tokens = static_cast<std::int64_t>(ids.size());
  NamedTensors inputs = {{"input_ids", Tensor::Of<std::int64_t>({1, tokens}, ids)},
                         {"attention_mask", Tensor(DType::kI64, {1, mask})},
                         {"position_ids", Tensor(DType::kI64, {1, tokens})},
                         {"beam_idx", Tensor(DType::kI32, {1})},
                         {"logits_to_keep", Tensor(DType::kI64, {1})}};
  for (std::int64_t& m : inputs["attention_mask"].values<std::int64_t>()) m = 1;
  for (std::int64_t i = 0; i < tokens; ++i)
    inputs["position_ids"].values<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  return inputs;
}

TEST(Model, RefusesTokensAndPositionsThatItDoesNotHave) {
  const LoadedModule encoder = Encoder().module("encoder");
  const auto encode = [&](std::int64_t id, std::int64_t tokens) {
    NamedTensors inputs;
    for (const TensorInfo& input : encoder.info().inputs) inputs[input.name] = Tensor(input.dtype, {1, tokens});
    inputs["input_ids"].values<std::int64_t>()[0] = id;
    const Error e = ErrorOf([&] { encoder.run(inputs); });
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.message();
  };
  EXPECT_HAS(encode(1000000, 4), "input 'input_ids' has the value 1000000 at element 0, the limits are 0 and ");
  EXPECT_HAS(encode(-1, 4), "has the value -1");
  EXPECT_HAS(encode(0, 5000), "'tokens' is 5000, the limit is ");
  const LoadedModule decoder = Decoder().module("decoder");
  NamedTensors inputs = Prefill({3, 4}, 2);
  inputs["position_ids"].values<std::int64_t>()[1] = 1000000;
  EXPECT_HAS(ErrorOf([&] { decoder.run(inputs); }).message(),
             "input 'position_ids' has the value 1000000 at element 1");
}

TEST(Model, AWrongRunDoesNotSpoilTheNext) {
  const LoadedModule decoder = Decoder().module("decoder");
  const NamedTensors expected = decoder.run(Prefill({3, 4, 5, 6}, 4));
  EXPECT_HAS(ErrorOf([&] { decoder.run(Prefill({3, 4, 5, 6}, 9)); }).message(), "'past+tokens' is 4");
  const NamedTensors again = decoder.run(Prefill({3, 4, 5, 6}, 4));
  EXPECT_EQ(MaxDifference(again.at("logits").values<float>(), expected.at("logits").values<float>()), 0.0f);
}

TEST(Model, GeneratesTheSameAloneInABatchAndAsAStream) {
  const auto task = Decoder().task<TextGeneration>();
  const GenerateOptions options = {.max_new_tokens = 24, .greedy = true, .ignore_eos = true};
  const std::vector<Prompt> prompts = {"a cat", "the quick brown fox", "x"};
  const std::vector<Generation> batch = task.generate_batch(prompts, options);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    std::string streamed;
    const Generation one = task.generate(prompts[i], options, [&](const TextChunk& chunk) { streamed += chunk.text; });
    EXPECT_EQ(one.ids.size(), 24u);
    EXPECT_EQ(one.ids, batch[i].ids) << i;
    EXPECT_EQ(streamed, one.text);
  }
}

TEST(Model, RowsThatEndEarlyLeaveTheOthersAlone) {
  const auto task = Decoder().task<TextGeneration>();
  const std::vector<Prompt> prompts = {"a cat", "the quick brown fox", "x"};
  const Generation first = task.generate(prompts[0], {.max_new_tokens = 24, .greedy = true, .ignore_eos = true});
  // Stops the first row after some tokens; the batch goes on with fewer rows.
  const std::string stop = first.text.substr(first.text.size() / 3, 6);
  const GenerateOptions options = {.max_new_tokens = 24, .stop = {stop}, .greedy = true, .ignore_eos = true};
  const std::vector<Generation> batch = task.generate_batch(prompts, options);
  EXPECT_EQ(batch[0].finish_reason, FinishReason::kStop);
  for (std::size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(batch[i].ids, task.generate(prompts[i], options).ids) << i;
}

TEST(Model, ALongPromptInChunksIsTheSameAsStepByStep) {
  const auto task = Decoder().task<TextGeneration>();
  const std::int64_t length = std::min<std::int64_t>(task.max_tokens() - 8, TextGeneration::kPrefillChunk + 40);
  std::vector<std::int32_t> prompt;
  for (std::int64_t i = 0; i < length; ++i) prompt.push_back(static_cast<std::int32_t>(3 + i % 50));
  const Generation whole = task.generate(prompt, {.max_new_tokens = 4, .greedy = true, .ignore_eos = true});

  Session session = Decoder().module("decoder").session();
  std::int64_t best = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    std::int64_t id = prompt[static_cast<std::size_t>(i)], position = i, keep = 1;
    std::int32_t row = 0;
    std::vector<std::int64_t> mask(static_cast<std::size_t>(i + 1), 1);
    const NamedTensors out = session.run({{"input_ids", Tensor::Borrow(DType::kI64, {1, 1}, &id)},
                                          {"attention_mask", Tensor::Borrow(DType::kI64, {1, i + 1}, mask.data())},
                                          {"position_ids", Tensor::Borrow(DType::kI64, {1, 1}, &position)},
                                          {"beam_idx", Tensor::Borrow(DType::kI32, {1}, &row)},
                                          {"logits_to_keep", Tensor::Borrow(DType::kI64, {1}, &keep)}});
    const auto logits = out.at("logits").values<float>();
    best = std::max_element(logits.begin(), logits.end()) - logits.begin();
  }
  EXPECT_EQ(whole.ids[0], best);
}

TEST(Model, EightThreadsShareOne) {
  const auto embedding = Encoder().task<TextEmbedding>();
  const auto generation = Decoder().task<TextGeneration>();
  const Embeddings expected = embedding.embed({"a cat", "a dog"});
  const std::vector<std::int32_t> ids =
      generation.generate("a cat", {.max_new_tokens = 8, .greedy = true, .ignore_eos = true}).ids;
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const Embeddings got = embedding.embed({"a cat", "a dog"});
        wrong[t] += MaxDifference(got[0], expected[0]) > 1e-5f || MaxDifference(got[1], expected[1]) > 1e-5f;
        wrong[t] += generation.generate("a cat", {.max_new_tokens = 8, .greedy = true, .ignore_eos = true}).ids != ids;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
}  // namespace mconnect
