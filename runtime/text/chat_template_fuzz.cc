// Any tree of a chat template, rendering any conversation.
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/testing/fuzzing.h"
#include "runtime/text/chat_template.h"

namespace mconnect {
namespace {

OrderedJson Parse(std::string_view text) {
  OrderedJson json = OrderedJson::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? OrderedJson() : json;
}

OrderedJson Field(const OrderedJson& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : OrderedJson();
}

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void Check(const RenderedChat& chat, const ChatTemplateLimits& limits) {
  Require(chat.text.size() <= limits.text_bytes, "a text keeps to its limit");
  std::uint32_t end = 0;
  for (const Span& span : chat.user_text) {
    Require(end <= span.begin && span.begin < span.end && span.end <= chat.text.size(),
            "the user's text is in the text, in order and disjoint");
    end = span.end;
  }
}

}  // namespace

// The trees come from chat_template_fuzz_seeds.py, as a file: a compiler in Python makes them.
const std::vector<std::string>& fuzzing::Seeds() {
  static const std::vector<std::string> seeds;
  return seeds;
}

}  // namespace mconnect

// Parts: the tree, the messages, and {"tools", "variables", "add_generation_prompt", "continue_final_message"}.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mconnect;
  const auto parts = fuzzing::Parts({reinterpret_cast<const char*>(data), size}, 3);
  const OrderedJson messages = Parse(parts[1]);
  const OrderedJson given = Parse(parts[2]);
  ChatTemplateOptions options;
  options.tools = Field(given, "tools");
  options.variables = Field(given, "variables");
  options.add_generation_prompt = Field(given, "add_generation_prompt") == true;
  options.continue_final_message = Field(given, "continue_final_message") == true;
  options.now = std::chrono::local_days{std::chrono::February / 29 / 2024} + std::chrono::hours(13);
  options.limits.steps = 100'000;
  options.limits.text_bytes = 1 << 20;
  try {
    const ChatTemplate chat_template = ChatTemplate::FromJson(parts[0]);
    fuzzing::Accept();
    Check(chat_template.Render(messages, options), options.limits);
  } catch (const Error&) {  // a fair answer
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned int seed) {
  return mconnect::fuzzing::MutateInPlace(data, size, capacity, seed);
}
