#include "runtime/bundle/manifest.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

using namespace testing_bundle;  // NOLINT

Json Example() { return Parts::Of(Small()).manifest; }

std::string Text(const Json& json) { return json.dump() + "\n"; }

TEST(Manifest, ReadsEveryKey) {
  const Manifest manifest = ParseManifest(Text(Example()));
  EXPECT_EQ(manifest.format, 1);
  EXPECT_EQ(manifest.name, "example");
  EXPECT_EQ(manifest.family, "bert");
  EXPECT_EQ(manifest.tasks, std::vector<std::string>{"text-embedding"});
  const Module& module = manifest.module("encoder");
  EXPECT_EQ(module.graph, "modules/encoder/graph.json");
  ASSERT_EQ(module.inputs.size(), 2u);
  EXPECT_EQ(module.inputs[0].name, "input_ids");
  EXPECT_EQ(module.inputs[0].dtype, DType::kI64);
  EXPECT_EQ(std::get<std::string>(module.inputs[0].shape[1]), "tokens");
  EXPECT_EQ(std::get<std::int64_t>(module.outputs[0].shape[2]), 384);
  EXPECT_FALSE(module.stateful);
  ASSERT_EQ(module.variants.size(), 1u);
  EXPECT_EQ(module.variants[0].engine, "openvino");
  EXPECT_EQ(module.variants[0].path, "modules/encoder/openvino.xml");
  EXPECT_EQ(module.variants[0].weights->find("weights/"), 0u);
  EXPECT_EQ(module.variants[0].requirements.at("version"), "2026.4");
  EXPECT_EQ(manifest.asset("tokenizer"), "assets/tokenizer.json");
  EXPECT_EQ(manifest.checkpoint.source, "hub");
  EXPECT_EQ(manifest.checkpoint.repository, "example/bert");
  EXPECT_EQ(manifest.checkpoint.revision, "0123456789abcdef");
  EXPECT_EQ(manifest.checkpoint.files[0].size, 612u);
  EXPECT_EQ(manifest.licence, "Apache-2.0");
  EXPECT_EQ(manifest.builder, "0.1.0");
  EXPECT_EQ(manifest.members.size(), 5u);
  EXPECT_EQ(manifest.members[0].build_key, "");
}

TEST(Manifest, ReadsABuildKey) {
  const Manifest manifest = ParseManifest(Text(Parts::Of(Large()).manifest));
  const auto plan = std::ranges::find(manifest.members, "modules/encoder/tensorrt/example.plan", &Member::path);
  ASSERT_NE(plan, manifest.members.end());
  EXPECT_EQ(plan->build_key, std::string(64, 'b'));
  EXPECT_EQ(plan->sha256, "");
}

TEST(Manifest, ListsWhatThereIsWhenANameIsUnknown) {
  const Manifest manifest = ParseManifest(Text(Example()));
  EXPECT_EQ(CodeOf([&] { manifest.module("decoder"); }, "the bundle 'example' has no module 'decoder'"),
            ErrorCode::kNotFound);
  try {
    manifest.asset("x");
  } catch (const Error& e) {
    EXPECT_EQ(e.remedy(), "it has text-embedding, tokenizer");
  }
}

// Pointers to all objects whose keys are closed.
std::vector<Json::json_pointer> ClosedObjects(const Json& value, const Json::json_pointer& at) {
  std::vector<Json::json_pointer> found;
  const std::string name = at.to_string();
  if (value.is_object() && name != "/modules" && name != "/assets" && !name.ends_with("/requires")) found.push_back(at);
  if (!value.is_structured()) return found;
  for (const auto& [key, item] : value.items()) {
    for (auto& pointer : ClosedObjects(item, value.is_array() ? at / std::stoul(key) : at / key))
      found.push_back(pointer);
  }
  return found;
}

TEST(Manifest, RefusesAnUnknownKeyEverywhere) {
  const Json example = Example();
  EXPECT_GT(ClosedObjects(example, Json::json_pointer()).size(), 10u);
  for (const auto& pointer : ClosedObjects(example, Json::json_pointer())) {
    Json bad = example;
    bad[pointer]["surprise"] = 1;
    EXPECT_EQ(CodeOf([&] { ParseManifest(Text(bad)); }, "unknown key \"surprise\""), ErrorCode::kCorrupt) << pointer;
  }
}

TEST(Manifest, RefusesAMissingKeyEverywhere) {
  const Json example = Example();
  for (const auto& pointer : ClosedObjects(example, Json::json_pointer())) {
    for (const auto& [key, unused] : example[pointer].items()) {
      Json bad = example;
      bad[pointer].erase(key);
      EXPECT_EQ(CodeOf([&] { ParseManifest(Text(bad)); }, "the key '" + key + "' is missing"), ErrorCode::kCorrupt)
          << pointer << " " << key;
    }
  }
}

// Any value in place of any other: refused with the place, or accepted, never a crash.
TEST(Manifest, SurvivesAnyValueAnywhere) {
  const Json example = Example();
  const Json flat = example.flatten();
  const std::vector<Json> values = {nullptr,       true,           -1,
                                    1.5,           1e300,          "",
                                    "x",           "../x",         std::string(5000, 'a'),
                                    Json::array(), Json::object(), 18446744073709551615u};
  int refused = 0;
  for (const auto& [pointer, unused] : flat.items()) {
    for (const Json& value : values) {
      Json bad = example;
      bad[Json::json_pointer(pointer)] = value;
      try {
        ParseManifest(Text(bad));
      } catch (const Error& e) {
        EXPECT_EQ(e.message().find("manifest.json: "), 0u) << e.what();
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 400);
}

TEST(Manifest, RefusesWhatDoesNotHoldTogether) {
  const auto refuse = [](const std::function<void(Json&)>& change, std::string_view message) {
    Json bad = Example();
    change(bad);
    EXPECT_EQ(CodeOf([&] { ParseManifest(Text(bad)); }, message), ErrorCode::kCorrupt);
  };
  refuse([](Json& m) { m["assets"]["x"] = "none"; }, "assets.x refers to the member 'none'");
  refuse([](Json& m) { m["modules"]["encoder"]["graph"] = "none"; }, "graph refers to the member 'none'");
  refuse([](Json& m) { m["modules"]["encoder"]["variants"][0]["path"] = "none"; },
         "variants refers to the member 'none'");
  refuse([](Json& m) { m["modules"]["encoder"]["variants"][0]["weights"] = "none"; },
         "variants refers to the member 'none'");
  refuse([](Json& m) { m["modules"]["a b"] = m["modules"]["encoder"]; }, "a key is not a name");
  refuse([](Json& m) { m["modules"]["encoder"]["inputs"][0]["dtype"] = "float"; },
         "inputs[0].dtype: unknown dtype 'float'");
  refuse([](Json& m) { m["tasks"] = {"a", "a"}; }, "names a task twice");
  refuse([](Json& m) { m["checkpoint"]["source"] = "folder"; }, "a folder has no repository");
  refuse([](Json& m) { std::swap(m["members"][0], m["members"][1]); }, "not sorted by path");
  refuse([](Json& m) { m["members"].push_back(m["members"].back()); }, "equal or differ only in case");
  refuse([](Json& m) { m["members"][0]["build_key"] = std::string(64, 'a'); }, "unknown key \"sha256\"");
  refuse([](Json& m) { m["members"][0]["size"] = (std::int64_t{1} << 40) + 1; },
         "members[0].size: expected an integer");
  refuse([](Json& m) { m["licence"] = "a\nb"; }, "licence: expected printable text");
}

TEST(Manifest, RefusesTextThatIsNotCanonical) {
  const Json example = Example();
  for (const std::string& text : {example.dump(), example.dump(1) + "\n", Text(example) + "\n", " " + Text(example)}) {
    EXPECT_EQ(CodeOf([&] { ParseManifest(text); }, "not canonical"), ErrorCode::kCorrupt);
  }
}

TEST(Manifest, RefusesDeepAndHugeText) {
  EXPECT_EQ(CodeOf([] { ParseManifest(std::string(100000, '[')); }, "nested deeper than 16"), ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf([] { ParseManifest(std::string(17 << 20, ' ')); }, "more than the limit of 16777216"),
            ErrorCode::kCorrupt);
  EXPECT_EQ(CodeOf([] { ParseManifest(""); }, "not valid JSON"), ErrorCode::kCorrupt);
}

TEST(Manifest, RefusesAnotherFormatBeforeAnythingElse) {
  EXPECT_EQ(CodeOf([] { ParseManifest("{\"format\":2,\"new\":1}\n"); }, "format is 2"), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace mconnect
