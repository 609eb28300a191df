// Conversations to the text that a model was trained on: the checkpoint's chat template, with the same bytes as the
// reference library's `apply_chat_template`.
//
// The builder parses the template with Jinja2 into a closed JSON tree (docs/chat-templates.md); this class interprets
// the tree, with bounded work, and remembers which bytes of the result the caller supplied.
#ifndef MCONNECT_TEXT_CHAT_TEMPLATE_H_
#define MCONNECT_TEXT_CHAT_TEMPLATE_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace mconnect {

// JSON whose objects keep their keys in the order of the text: templates print tools and arguments in that order.
// A plain Json converts to it (its keys are then sorted).
using OrderedJson = nlohmann::ordered_json;

// What one Render may cost. Beyond a limit it throws Error(kResourceExhausted) naming the limit.
struct ChatTemplateLimits {
  std::size_t steps = 20'000'000;                  // nodes interpreted, items visited and 64-byte pieces copied
  std::size_t text_bytes = std::size_t{64} << 20;  // of the result and of each string on the way
  std::size_t depth = 400;                         // nested nodes, macro calls included
};

struct ChatTemplateOptions {
  OrderedJson tools;  // null or an array of tool schemas
  bool add_generation_prompt = false;
  // End the text behind the content of the last message, for the model to go on with it.
  bool continue_final_message = false;
  // Further variables of the template, such as {"enable_thinking": false}: null or an object. They take precedence over
  // the special tokens of the tokenizer.
  OrderedJson variables;
  // Which of several templates. Empty: "tool_use" where there is one and tools are given, else "default".
  std::string name;
  // The local time that the template sees. Unset: the system's clock and time zone.
  std::optional<std::chrono::local_time<std::chrono::microseconds>> now;
  ChatTemplateLimits limits;
};

struct RenderedChat {
  std::string text;
  // The bytes of `text` that came from strings of the messages, tools and documents (all but the roles), in order and
  // disjoint: Tokenizer takes them as EncodeOptions::plain_text, so that nobody can write a special token into a chat.
  std::vector<Span> user_text;
};

// Immutable once made: any number of threads may use one.
class ChatTemplate {
 public:
  // `tree` is the text of `assets/chat_template.json`. Throws Error(kCorrupt) naming the place that is wrong.
  static ChatTemplate FromJson(std::string_view tree);

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `messages` is an array of objects, each with a "role" and mostly a "content". Keys whose value is null count as
  // absent. Throws Error(kInvalidArgument) for a conversation that the template refuses or cannot render, with the line
  // of the template.
  RenderedChat Render(const OrderedJson& messages, const ChatTemplateOptions& options = {}) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CHAT_TEMPLATE_H_
