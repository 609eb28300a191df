#include "runtime/text/constraint/token_bytes.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/text/byte_level.h"

namespace mconnect {
namespace {

using Step = std::function<void(std::string&)>;

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// "<0x0A>" is the byte 10.
void ByteFallback(std::string& text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return;
  const auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  const int high = digit(text[3]), low = digit(text[4]);
  if (high >= 0 && low >= 0) text = std::string(1, static_cast<char>(high * 16 + low));
}

void AddSteps(const JsonView& decoder, std::vector<Step>& steps, bool& skips_space) {
  const std::string& type = decoder["type"].String();
  if (type == "Sequence") {
    for (const JsonView& part : decoder["decoders"].Items()) AddSteps(part, steps, skips_space);
  } else if (type == "ByteLevel") {
    steps.emplace_back([](std::string& text) {
      if (auto bytes = byte_level::Bytes(text)) text = *std::move(bytes);
    });
  } else if (type == "ByteFallback") {
    steps.emplace_back(ByteFallback);
  } else if (type == "Metaspace") {
    const auto scheme = decoder.Find("prepend_scheme");
    skips_space = skips_space || !scheme || scheme->String() != "never";
    steps.emplace_back([from = decoder["replacement"].String()](std::string& text) { ReplaceAll(text, from, " "); });
  } else if (type == "Replace" && decoder["pattern"].Find("String")) {
    const std::string from = decoder["pattern"]["String"].String();
    if (from.empty()) return;
    steps.emplace_back([from, to = decoder["content"].String()](std::string& text) { ReplaceAll(text, from, to); });
  } else if (type == "Strip" && decoder["content"].String() == " " && decoder["stop"].Int() == 0) {
    skips_space = skips_space || decoder["start"].Int() > 0;
  } else if (type != "Fuse") {
    throw Error(ErrorCode::kUnsupported,
                "the tokenizer's decoder " + type + " gives tokens no text of their own, which an output format needs");
  }
}

}  // namespace

TokenBytes ReadTokenBytes(const Tokenizer& tokenizer, std::string_view tokenizer_json, std::int64_t vocabulary) {
  const Json json = ParseJson(tokenizer_json, "tokenizer.json");
  const JsonView decoder = JsonView(json, "tokenizer.json")["decoder"];
  if (decoder.IsNull()) {
    throw Error(ErrorCode::kUnsupported, "the tokenizer has no decoder, which an output format needs");
  }
  TokenBytes result;
  std::vector<Step> steps;
  AddSteps(decoder, steps, result.skips_space);
  result.bytes.resize(static_cast<std::size_t>(vocabulary));
  for (std::size_t id = 0; id < result.bytes.size(); ++id) {
    if (tokenizer.IsSpecial(static_cast<TokenId>(id))) continue;
    std::optional<std::string> token = tokenizer.IdToToken(static_cast<TokenId>(id));
    if (!token) continue;
    for (const Step& step : steps) step(*token);
    result.bytes[id] = *std::move(token);
  }
  return result;
}

}  // namespace mconnect
