// Answers questions about a tokenizer, one JSON object per line, for tests against the reference library.
//
//   tokenizer_probe tokenizer.json < questions > answers
//
// {"encode": "text", "pair": "text" (optional), "special": bool, "max_tokens": n (optional), "stride": n (optional),
// "plain": bool (optional: special tokens in the text are text)}: the encoding, "overflowing" among it
// {"decode": [ids], "skip": bool}: {"text": ..., "stream": [pieces of a StreamDecoder]}
// An error of the library is answered by {"error": "code name"}; a tokenizer.json that it refuses ends the program
// likewise.

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "mconnect/error.h"
#include "runtime/text/stream_decoder.h"
#include "runtime/text/tokenizer.h"

namespace {

using nlohmann::json;

json Offsets(const std::vector<mconnect::Span>& spans) {
  json out = json::array();
  for (const mconnect::Span& span : spans) out.push_back({span.begin, span.end});
  return out;
}

json ToJson(const mconnect::Encoding& encoding) {
  json overflowing = json::array();
  for (const mconnect::Encoding& window : encoding.overflowing) overflowing.push_back(ToJson(window));
  return {{"ids", encoding.ids},
          {"type_ids", encoding.type_ids},
          {"attention_mask", encoding.attention_mask},
          {"special_tokens_mask", encoding.special_tokens_mask},
          {"byte_offsets", Offsets(encoding.byte_offsets)},
          {"char_offsets", Offsets(encoding.char_offsets)},
          {"overflowing", overflowing}};
}

json Answer(const mconnect::Tokenizer& tokenizer, const json& question) {
  if (question.contains("decode")) {
    const auto ids = question["decode"].get<std::vector<mconnect::TokenId>>();
    const bool skip = question["skip"].get<bool>();
    mconnect::StreamDecoder decoder(tokenizer, skip);
    json stream = json::array();
    for (const mconnect::TokenId id : ids) stream.push_back(decoder.Put(id));
    stream.push_back(decoder.Finish());
    return {{"text", tokenizer.Decode(ids, skip)}, {"stream", stream}};
  }
  mconnect::EncodeOptions options;
  options.add_special_tokens = question["special"].get<bool>();
  if (question.contains("max_tokens")) options.max_tokens = question["max_tokens"].get<std::size_t>();
  if (question.contains("stride")) options.stride = question["stride"].get<std::size_t>();
  const auto text = question["encode"].get<std::string>();
  if (question.value("plain", false)) options.plain_text = {{0, static_cast<std::uint32_t>(text.size())}};
  const mconnect::Encoding encoding = question.contains("pair")
                                          ? tokenizer.Encode(text, question["pair"].get<std::string>(), options)
                                          : tokenizer.Encode(text, options);
  return ToJson(encoding);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tokenizer_probe tokenizer.json < questions > answers\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  try {
    const auto tokenizer = mconnect::Tokenizer::FromJson(text);
    for (std::string line; std::getline(std::cin, line);) {
      json answer;
      try {
        answer = Answer(tokenizer, json::parse(line));
      } catch (const mconnect::Error& error) {
        answer = {{"error", mconnect::ErrorCodeName(error.code())}, {"message", error.message()}};
      }
      std::cout << answer.dump() << "\n";
    }
  } catch (const mconnect::Error& error) {
    std::cout << json({{"error", mconnect::ErrorCodeName(error.code())}, {"message", error.message()}}).dump() << "\n";
  }
}
