#include "runtime/tasks/testing/toy_parts.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/engine/open_module.h"
#include "runtime/engine/testing/toy_engine.h"

namespace mconnect {
namespace {

constexpr int kVocabulary = 258;
constexpr int kBegin = 256;
constexpr int kEnd = 257;

std::string Utf8(int code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xC0 | (code >> 6)), static_cast<char>(0x80 | (code & 0x3F))};
}

// Each byte's character in the byte-level alphabet of GPT-2, in the alphabet's order.
nlohmann::json Alphabet() {
  nlohmann::json vocab = nlohmann::json::object();
  int id = 0, other = 0;
  const auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  for (int b = 0; b < 256; ++b) {
    if (printable(b)) vocab[Utf8(b)] = id++;
  }
  for (int b = 0; b < 256; ++b) {
    if (!printable(b)) vocab[Utf8(256 + other++)] = id++;
  }
  return vocab;
}

std::string TokenizerJson(bool wrap) {
  const auto special = [](int id, const char* content) {
    return nlohmann::json{{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                          {"rstrip", false}, {"normalized", false}, {"special", true}};
  };
  const auto token = [](const char* id) { return nlohmann::json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}}; };
  const auto entry = [](const char* name, int id) {
    return nlohmann::json{{"id", name}, {"ids", {id}}, {"tokens", {name}}};
  };
  const auto sequence = [](const char* id) { return nlohmann::json{{"Sequence", {{"id", id}, {"type_id", 0}}}}; };
  nlohmann::json post = nullptr;
  if (wrap) {
    post = {{"type", "TemplateProcessing"},
            {"single", {token("<s>"), sequence("A"), token("</s>")}},
            {"pair", {token("<s>"), sequence("A"), token("</s>"), sequence("B"), token("</s>")}},
            {"special_tokens", {{"<s>", entry("<s>", kBegin)}, {"</s>", entry("</s>", kEnd)}}}};
  }
  return nlohmann::json{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", {special(kBegin, "<s>"), special(kEnd, "</s>")}},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}},
      {"post_processor", post},
      {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", false},
        {"vocab", Alphabet()},
        {"merges", nlohmann::json::array()}}}}
      .dump();
}

// What the builder makes of
//   {% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant:
//   {% endif %}{{ tools | length if tools else '' }}{{ mood or '' }}
constexpr const char* kChatTemplate =
    R"json({"format":1,"templates":{"default":{"body":[{"body":[{"do":"output","items":[{"op":"const","value":"<s>"},{"name":"role","op":"attribute","value":{"name":"m","op":"name","slot":4}},{"op":"const","value":": "},{"name":"content","op":"attribute","value":{"name":"m","op":"name","slot":4}},{"op":"const","value":"</s>"}],"line":1}],"do":"for","else":[],"else_loads":[],"items":{"name":"messages","op":"name","slot":0},"line":1,"loads":[{"parameter":true,"slot":4}],"target":{"slot":4}},{"branches":[{"body":[{"do":"output","items":[{"op":"const","value":"<s>assistant: "}],"line":1}],"test":{"name":"add_generation_prompt","op":"name","slot":1}}],"do":"if","else":[],"line":1},{"do":"output","items":[{"else":{"op":"const","value":""},"op":"if","test":{"name":"tools","op":"name","slot":2},"then":{"name":"length","op":"filter","value":{"name":"tools","op":"name","slot":2}}},{"left":{"name":"mood","op":"name","slot":3},"op":"or","right":{"op":"const","value":""}}],"line":1}],"loads":[{"context":"messages","slot":0},{"context":"add_generation_prompt","slot":1},{"context":"tools","slot":2},{"context":"mood","slot":3}],"slots":5}},"tokens":{}})json";

LoadedModule Open(const std::string& artifact, ModuleInfo info) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path =
      std::string(folder ? folder : "/tmp") + "/toy-" + info.name + "-" + std::to_string(::getpid());
  std::ofstream(path) << artifact;
  info.device = "cpu";
  LoadedModule module = OpenModule(*ToyEngine(), {path, {}}, {}, std::move(info));
  ::unlink(path.c_str());
  return module;
}

}  // namespace

ToyParts ToyParts::Encoder(const std::string& pooling, bool normalize) {
  ModuleInfo info;
  info.name = "encoder";
  info.inputs = {{"input_ids", DType::kI64, {"batch", "tokens"}}, {"attention_mask", DType::kI64, {"batch", "tokens"}}};
  info.outputs = {{"last_hidden_state", DType::kF32, {"batch", "tokens", "4"}}};
  ToyParts parts;
  parts.modules_.emplace("encoder", Open("encoder 4", std::move(info)));
  parts.assets_["text-embedding"] =
      nlohmann::json{{"max_tokens", 16}, {"normalize", normalize}, {"pooling", pooling}}.dump();
  parts.assets_["tokenizer"] = TokenizerJson(/*wrap=*/true);
  parts.tokenizer_ = std::make_shared<const Tokenizer>(Tokenizer::FromJson(parts.assets_["tokenizer"]));
  return parts;
}

ToyParts ToyParts::Decoder(std::int64_t max_tokens, const std::string& bos) {
  ModuleInfo info;
  info.name = "decoder";
  info.stateful = true;
  info.inputs = {{"input_ids", DType::kI64, {"batch", "tokens"}},
                 {"attention_mask", DType::kI64, {"batch", "past+tokens"}},
                 {"position_ids", DType::kI64, {"batch", "tokens"}},
                 {"beam_idx", DType::kI32, {"batch"}},
                 {"logits_to_keep", DType::kI64, {"1"}}};
  info.outputs = {{"logits", DType::kF32, {"batch", "kept", std::to_string(kVocabulary)}}};
  ToyParts parts;
  parts.modules_.emplace("decoder", Open("decoder " + std::to_string(kVocabulary), std::move(info)));
  parts.assets_["text-generation"] = R"({"bos_token_id": )" + bos + R"(, "eos_token_ids": [257], "max_tokens": )" +
                                     std::to_string(max_tokens) + R"(, "pad_token_id": 0, "defaults": {}})";
  parts.assets_["tokenizer"] = TokenizerJson(/*wrap=*/false);
  parts.tokenizer_ = std::make_shared<const Tokenizer>(Tokenizer::FromJson(parts.assets_["tokenizer"]));
  return parts;
}

ToyParts ToyParts::Windowed() {
  ToyParts parts = Decoder();
  parts.graph_ = R"({"nodes": [{"op": "cached_attention", "attrs": {"window": 4}}], "weights": []})";
  return parts;
}

ToyParts ToyParts::LongRope(std::int64_t short_context) {
  ToyParts parts = Decoder();
  parts.graph_ = R"({"nodes": [{"op": "rope", "inputs": ["x", "p", "c", "s", "short", "short"]}],
                     "weights": [{"id": "short", "shape": [)" +
                 std::to_string(short_context) + R"(, 8]}]})";
  return parts;
}

ToyParts ToyParts::Chat() {
  ToyParts parts = Decoder();
  parts.assets_["chat_template"] = kChatTemplate;
  return parts;
}

std::vector<std::int32_t> ToyContinuation(std::vector<std::int32_t> prompt, int count) {
  std::vector<std::int64_t> seen(prompt.begin(), prompt.end());
  std::vector<std::int32_t> ids;
  while (static_cast<int>(ids.size()) < count && (ids.empty() || ids.back() != kEnd)) {
    seen.push_back(ToyNext(seen, kVocabulary));
    ids.push_back(static_cast<std::int32_t>(seen.back()));
  }
  return ids;
}

}  // namespace mconnect
