#include "mconnect/module.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "mconnect/error.h"
#include "runtime/engine/open_module.h"
#include "runtime/engine/testing/toy_engine.h"

namespace mconnect {
namespace {

ModuleInfo EncoderInfo() {
  ModuleInfo info;
  info.name = "encoder";
  info.variant = "modules/encoder/toy";
  info.device = "cpu";
  info.inputs = {{"input_ids", DType::kI64, {"batch", "tokens"}}, {"attention_mask", DType::kI64, {"batch", "tokens"}}};
  info.outputs = {{"last_hidden_state", DType::kF32, {"batch", "tokens", "4"}}};
  return info;
}

LoadedModule Open(const std::string& artifact, ModuleInfo info, InputLimits limits = {}) {
  const std::string path = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::ofstream(path) << artifact;
  return OpenModule(*ToyEngine(), {path, {}}, {}, std::move(info), std::move(limits));
}

Tensor Ids(Shape shape, std::vector<std::int64_t> values) { return Tensor::Of<std::int64_t>(std::move(shape), values); }

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

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(LoadedModule, RunsWithNamedTensors) {
  const LoadedModule module = Open("encoder 4", EncoderInfo());
  const NamedTensors out = module.run({{"input_ids", Ids({1, 2}, {5, 6})}, {"attention_mask", Ids({1, 2}, {1, 1})}});
  const Tensor& hidden = out.at("last_hidden_state");
  EXPECT_EQ(hidden.shape(), (Shape{1, 2, 4}));
  EXPECT_EQ(hidden.values<float>()[0], 5.0f);
  EXPECT_EQ(hidden.values<float>()[5], 6.125f);
}

TEST(LoadedModule, NamesTheInputAndBothSidesOfAMistake) {
  const LoadedModule module = Open("encoder 4", EncoderInfo());
  const Tensor ids = Ids({1, 2}, {5, 6});
  const auto message = [&](NamedTensors inputs) {
    const Error e = ErrorOf([&] { module.run(inputs); });
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.message();
  };
  EXPECT_EQ(message({{"input_ids", ids}}), "module 'encoder': input 'attention_mask' (i64 [batch,tokens]) is missing");
  EXPECT_EQ(message({{"input_ids", ids}, {"attention_mask", Tensor(DType::kF32, {1, 2})}}),
            "module 'encoder': input 'attention_mask': expected i64, got f32");
  EXPECT_EQ(message({{"input_ids", ids}, {"attention_mask", Ids({2}, {1, 1})}}),
            "module 'encoder': input 'attention_mask': expected [batch,tokens], got [2]");
  EXPECT_EQ(
      message({{"input_ids", ids}, {"attention_mask", Ids({1, 3}, {1, 1, 1})}}),
      "module 'encoder': input 'attention_mask': expected [batch,tokens], got [1,3], where 'tokens' is 2 in input "
      "'input_ids'");
  EXPECT_EQ(message({{"input_ids", ids}, {"attention_mask", ids}, {"mask", ids}}),
            "module 'encoder': there is no input 'mask'; its inputs are 'input_ids', 'attention_mask'");
}

TEST(LoadedModule, ChecksFixedDimensions) {
  ModuleInfo info = EncoderInfo();
  info.inputs[0].shape = {"batch", "7"};
  const LoadedModule module = Open("encoder 4", info);
  const Error e = ErrorOf([&] {
    module.run({{"input_ids", Ids({1, 2}, {5, 6})}, {"attention_mask", Ids({1, 2}, {1, 1})}});
  });
  EXPECT_EQ(e.message(), "module 'encoder': input 'input_ids': expected [batch,7], got [1,2]");
}

TEST(LoadedModule, RefusesAnArtifactThatIsNotWhatTheManifestSays) {
  ModuleInfo info = EncoderInfo();
  info.inputs[1].name = "mask";
  EXPECT_EQ(ErrorOf([&] { Open("encoder 4", info); }).code(), ErrorCode::kCorrupt);
  info = EncoderInfo();
  info.inputs[1].dtype = DType::kI32;
  EXPECT_EQ(ErrorOf([&] { Open("encoder 4", info); }).code(), ErrorCode::kCorrupt);
  info = EncoderInfo();
  info.inputs.pop_back();
  EXPECT_EQ(ErrorOf([&] { Open("encoder 4", info); }).code(), ErrorCode::kCorrupt);
  info = EncoderInfo();
  info.outputs[0].shape = {"batch"};
  EXPECT_EQ(ErrorOf([&] { Open("encoder 4", info); }).code(), ErrorCode::kCorrupt);
}

TEST(LoadedModule, PassesOnTheEnginesError) {
  const Error e = ErrorOf([&] { Open("picture 4", EncoderInfo()); });
  EXPECT_EQ(e.code(), ErrorCode::kUnsupported);
  EXPECT_HAS(e.message(), "module 'encoder', variant 'modules/encoder/toy'");
}

TEST(LoadedModule, OutputsOfRunAreTheCallers) {
  const LoadedModule module = Open("encoder 4", EncoderInfo());
  Session session = module.session();
  const Tensor mask = Ids({1, 1}, {1});
  const NamedTensors first = session.run({{"input_ids", Ids({1, 1}, {5})}, {"attention_mask", mask}});
  session.run({{"input_ids", Ids({1, 1}, {9})}, {"attention_mask", mask}});
  EXPECT_EQ(first.at("last_hidden_state").values<float>()[0], 5.0f);
}

TEST(LoadedModule, KeepsContextsForLaterSessionsAndFreesThemAtTheEnd) {
  const std::int64_t before = ToyContexts();
  {
    const LoadedModule module = Open("encoder 4", EncoderInfo());
    { const Session a = module.session(), b = module.session(); }
    EXPECT_EQ(ToyContexts(), before + 2);
    { const Session c = module.session(); }
    EXPECT_EQ(ToyContexts(), before + 2);
  }
  EXPECT_EQ(ToyContexts(), before);
}

TEST(LoadedModule, ASessionOutlivesItsModule) {
  Session session = Open("encoder 4", EncoderInfo()).session();
  EXPECT_EQ(session.run({{"input_ids", Ids({1, 1}, {5})}, {"attention_mask", Ids({1, 1}, {1})}}).size(), 1u);
}

ModuleInfo DecoderInfo() {
  ModuleInfo info;
  info.name = "decoder";
  info.device = "cpu";
  info.stateful = true;
  info.inputs = {{"input_ids", DType::kI64, {"batch", "tokens"}},
                 {"attention_mask", DType::kI64, {"batch", "past+tokens"}},
                 {"position_ids", DType::kI64, {"batch", "tokens"}},
                 {"beam_idx", DType::kI32, {"batch"}},
                 {"logits_to_keep", DType::kI64, {"1"}}};
  info.outputs = {{"logits", DType::kF32, {"batch", "kept", "32"}}};
  return info;
}

NamedTensors Step(std::int64_t id, std::int64_t position, std::int64_t total) {
  const std::int32_t row = 0;
  return {{"input_ids", Ids({1, 1}, {id})},
          {"attention_mask", Ids({1, total}, std::vector<std::int64_t>(static_cast<std::size_t>(total), 1))},
          {"position_ids", Ids({1, 1}, {position})},
          {"beam_idx", Tensor::Of<std::int32_t>({1}, std::span(&row, 1))},
          {"logits_to_keep", Ids({1}, {1})}};
}

TEST(Session, KeepsItsStateUntilReset) {
  const LoadedModule module = Open("decoder 32", DecoderInfo());
  Session session = module.session();
  session.run(Step(3, 0, 1));
  session.run(Step(4, 1, 2));
  session.reset();
  session.run(Step(3, 0, 1));
  Session other = module.session();
  other.run(Step(3, 0, 1));  // a new session is empty
}

TEST(Session, RefusesToGoOnAfterAFailedRun) {
  const LoadedModule module = Open("decoder 32", DecoderInfo());
  Session session = module.session();
  EXPECT_HAS(ErrorOf([&] { session.run(Step(3, 5, 1)); }).message(), "position_ids");
  EXPECT_HAS(ErrorOf([&] { session.run(Step(3, 0, 1)); }).message(), "failed before");
  session.reset();
  session.run(Step(3, 0, 1));
}

TEST(LoadedModule, RefusesValuesThatTheTablesDoNotHave) {
  const LoadedModule module =
      Open("encoder 4", EncoderInfo(), {.values = {{"input_ids", 31}}, .symbols = {{"tokens", 3}}, .cache_rows = {}});
  const Tensor mask = Ids({1, 2}, {1, 1});
  const auto message = [&](const Tensor& ids, const Tensor& mask) {
    const Error e = ErrorOf([&] { module.run({{"input_ids", ids}, {"attention_mask", mask}}); });
    EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
    return e.message();
  };
  EXPECT_EQ(message(Ids({1, 2}, {0, 32}), mask),
            "module 'encoder': input 'input_ids' has the value 32 at element 1, the limits are 0 and 31");
  EXPECT_HAS(message(Ids({1, 2}, {-1, 0}), mask), "has the value -1 at element 0");
  EXPECT_EQ(message(Ids({1, 4}, {0, 0, 0, 0}), Ids({1, 4}, {1, 1, 1, 1})),
            "module 'encoder': input 'input_ids': 'tokens' is 4, the limit is 3");
  EXPECT_EQ(module.run({{"input_ids", Ids({1, 2}, {0, 31})}, {"attention_mask", mask}}).size(), 1u);
}

TEST(Session, RefusesAMaskThatIsNotPastAndTokensLongAndGoesOn) {
  Session session = Open("decoder 32", DecoderInfo()).session();
  session.run(Step(3, 0, 1));
  EXPECT_EQ(
      ErrorOf([&] { session.run(Step(4, 1, 7)); }).message(),
      "module 'decoder': input 'attention_mask': expected [batch,past+tokens], got [1,7], where 'past+tokens' is 2 and "
      "'past' is 1");
  session.run(Step(4, 1, 2));
  session.reset();
  EXPECT_HAS(ErrorOf([&] { session.run(Step(3, 0, 3)); }).message(), "'past' is 0");
  session.run(Step(3, 0, 1));
}

TEST(Session, RefusesARunWithoutTokens) {
  Session session = Open("decoder 32", DecoderInfo()).session();
  NamedTensors inputs = Step(3, 0, 1);
  inputs["input_ids"] = inputs["position_ids"] = inputs["attention_mask"] = Tensor(DType::kI64, {1, 0});
  EXPECT_HAS(ErrorOf([&] { session.run(inputs); }).message(), "'tokens' is 0, the least is 1");
}

TEST(Session, RefusesRowsThatTheCacheLacks) {
  Session session =
      Open("decoder 32", DecoderInfo(), {.values = {}, .symbols = {}, .cache_rows = {"beam_idx"}}).session();
  const auto step = [](std::int32_t row, std::int64_t position) {
    NamedTensors inputs = Step(3, position, position + 1);
    inputs["beam_idx"] = Tensor(DType::kI32, {1});
    inputs["beam_idx"].values<std::int32_t>()[0] = row;
    return inputs;
  };
  EXPECT_HAS(ErrorOf([&] { session.run(step(1, 0)); }).message(),
             "'beam_idx' has the value 1 at element 0, the limits are 0 and 0");
  session.run(step(0, 0));
  EXPECT_HAS(ErrorOf([&] { session.run(step(-1, 1)); }).message(), "'beam_idx' has the value -1");
  session.run(step(0, 1));
}

TEST(LoadedModule, ManyThreadsMayRunIt) {
  const LoadedModule module = Open("encoder 4", EncoderInfo());
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const NamedTensors out =
            module.run({{"input_ids", Ids({1, 1}, {t * 1000 + i})}, {"attention_mask", Ids({1, 1}, {1})}});
        wrong[static_cast<std::size_t>(t)] +=
            out.at("last_hidden_state").values<float>()[0] != static_cast<float>(t * 1000 + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

}  // namespace
}  // namespace mconnect
