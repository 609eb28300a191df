// Renders conversations with a chat template, one JSON object per line, for tests against the reference library.
//
//   chat_template_probe chat_template.json < questions > answers
//
// {"messages": [...], "tools": [...], "add_generation_prompt": bool, "continue_final_message": bool, "variables":
// {...},
//  "name": "...", "now": microseconds of local time, "steps": n, "text_bytes": n}, all but messages optional:
// {"text": "...", "user_text": [[begin, end], ...]}, or {"error": "code name", "message": "..."}. A tree that the
// library refuses ends the program likewise.

#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "mconnect/error.h"
#include "runtime/text/chat_template.h"

namespace {

using mconnect::OrderedJson;

OrderedJson Answer(const mconnect::ChatTemplate& chat_template, const OrderedJson& question) {
  mconnect::ChatTemplateOptions options;
  options.tools = question.value("tools", OrderedJson());
  options.variables = question.value("variables", OrderedJson());
  options.add_generation_prompt = question.value("add_generation_prompt", false);
  options.continue_final_message = question.value("continue_final_message", false);
  options.name = question.value("name", std::string());
  options.limits.steps = question.value("steps", options.limits.steps);
  options.limits.text_bytes = question.value("text_bytes", options.limits.text_bytes);
  if (question.contains("now")) {
    options.now.emplace(std::chrono::microseconds(question["now"].get<std::int64_t>()));
  }
  const mconnect::RenderedChat chat = chat_template.Render(question.value("messages", OrderedJson()), options);
  OrderedJson spans = OrderedJson::array();
  for (const mconnect::Span& span : chat.user_text) spans.push_back({span.begin, span.end});
  return {{"text", chat.text}, {"user_text", spans}};
}

OrderedJson Failed(const mconnect::Error& error) {
  return {{"error", mconnect::ErrorCodeName(error.code())}, {"message", error.message()}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: chat_template_probe chat_template.json\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  try {
    const auto chat_template = mconnect::ChatTemplate::FromJson(text);
    for (std::string line; std::getline(std::cin, line);) {
      OrderedJson answer;
      try {
        answer = Answer(chat_template, OrderedJson::parse(line));
      } catch (const mconnect::Error& error) {
        answer = Failed(error);
      } catch (const OrderedJson::exception& error) {
        answer = {{"error", "json"}, {"message", error.what()}};
      }
      std::cout << answer.dump(-1, ' ', true, OrderedJson::error_handler_t::replace) << "\n";
    }
  } catch (const mconnect::Error& error) {
    std::cout << Failed(error).dump(-1, ' ', true, OrderedJson::error_handler_t::replace) << "\n";
  }
}
