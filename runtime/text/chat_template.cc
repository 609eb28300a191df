#include "runtime/text/chat_template.h"

#include <algorithm>
#include <map>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/text/template/budget.h"
#include "runtime/text/template/interpreter.h"
#include "runtime/text/template/text_functions.h"
#include "runtime/text/template/tree.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

using jinja::Dict;
using jinja::Text;
using jinja::Value;
using jinja::Values;

constexpr std::string_view kSource = "assets/chat_template.json";
constexpr std::string_view kReasoning[] = {"reasoning_content", "thinking", "reasoning"};
constexpr std::string_view kContinueTag = "CONTINUE_FINAL_MESSAGE_TAG ";

[[noreturn]] void Refuse(std::string what, std::string remedy = "") {
  throw Error(ErrorCode::kInvalidArgument, std::move(what), std::move(remedy));
}

// A role of plain letters is no user text: templates make control tokens of it ('<|' + role + '|>').
bool IsPlainRole(std::string_view role) {
  return std::ranges::all_of(role, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

Value FromText(const std::string& text, bool user) {
  auto repaired = unicode::Repair(text);
  return Value(Text(repaired ? *std::move(repaired) : text, user));
}

// `user`: its strings are the user's.
Value ToValue(const OrderedJson& json, bool user, const std::string& place, int depth = 0) {
  if (depth > jinja::kMaxValueDepth - 8) {
    Refuse(place + " is nested deeper than " + std::to_string(jinja::kMaxValueDepth - 8) + " levels");
  }
  switch (json.type()) {
    case OrderedJson::value_t::boolean:
      return Value(json.get<bool>());
    case OrderedJson::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case OrderedJson::value_t::number_unsigned:
      if (json.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        Refuse(place + " has the number " + json.dump() + ", which does not fit into 64 bits");
      }
      return Value(json.get<std::int64_t>());
    case OrderedJson::value_t::number_float:
      return Value(json.get<double>());
    case OrderedJson::value_t::string:
      return FromText(json.get_ref<const std::string&>(), user);
    case OrderedJson::value_t::array: {
      Values items;
      items.reserve(json.size());
      for (const OrderedJson& item : json) items.push_back(ToValue(item, user, place, depth + 1));
      return MakeList(std::move(items));
    }
    case OrderedJson::value_t::object: {
      Dict dict;
      for (const auto& [key, item] : json.items()) dict.Set(FromText(key, user), ToValue(item, user, place, depth + 1));
      return Value(std::move(dict));
    }
    default:
      return jinja::None{};
  }
}

// The reference's preparation of a message: no keys without a value, and reasoning under all of its names.
Dict ToMessage(const OrderedJson& json, const std::string& place) {
  if (!json.is_object()) Refuse(place + " is no object", "each message is an object with a role and a content");
  Dict message;
  const auto reasoning = std::ranges::find_if(kReasoning, [&](std::string_view key) {
    const auto found = json.find(std::string(key));
    return found != json.end() && !found->is_null();
  });
  const bool reasons = reasoning != std::end(kReasoning);
  const Value thought = reasons ? ToValue(json.at(std::string(*reasoning)), true, place) : Value();
  if (reasons) message.Set(Value("thinking"), thought);
  for (const auto& [key, value] : json.items()) {
    if (value.is_null()) continue;
    const bool control = key == "role" && value.is_string() && IsPlainRole(value.get_ref<const std::string&>());
    message.Set(FromText(key, true), ToValue(value, !control, place));
  }
  if (reasons) message.Set(Value("reasoning_content"), thought);
  return message;
}

Value WithTag(const Text& text) {
  Text tagged = text;
  tagged.Append(kContinueTag);
  return Value(std::move(tagged));
}

// Marks the end of the last message's content. Returns that content as it was.
Text TagContent(Dict* message) {
  const Value content = message->Find("content") ? *message->Find("content") : Value();
  if (const Text* text = content.AsText()) {
    message->Set(Value("content"), WithTag(*text));
    return *text;
  }
  if (const jinja::Sequence* parts = content.AsSequence()) {
    Values tagged = parts->items;
    for (auto part = tagged.rbegin(); part != tagged.rend(); ++part) {
      const Value* text = part->AsDict() ? part->AsDict()->Find("text") : nullptr;
      if (!text || !text->AsText()) continue;
      const Text original = *text->AsText();
      Dict changed = *part->AsDict();
      changed.Set(Value("text"), WithTag(original));
      *part = Value(std::move(changed));
      message->Set(Value("content"), MakeList(std::move(tagged)));
      return original;
    }
  }
  Refuse("continue_final_message: the final message has no text to continue");
}

Text CutAtTag(const Text& rendered, const Text& content) {
  const auto strip = [](const Text& text) { return jinja::Strip(text, nullptr, true, true); };
  const std::string_view tag = kContinueTag.substr(0, kContinueTag.size() - 1);
  const std::size_t at = rendered.bytes().rfind(tag);
  if (at == std::string::npos || rendered.bytes().find(strip(content).bytes()) == std::string::npos) {
    Refuse("continue_final_message: the template drops or changes the final message, so that it cannot be continued");
  }
  const Text cut = rendered.Slice(0, at);
  const bool spaced = std::string_view(rendered.bytes()).substr(at).starts_with(kContinueTag);
  return spaced ? cut : jinja::Strip(cut, nullptr, false, true);
}

}  // namespace

struct ChatTemplate::Impl {
  std::map<std::string, jinja::Macro, std::less<>> templates;
  std::map<std::string, std::string> tokens;

  const jinja::Macro& Choose(const ChatTemplateOptions& options) const {
    std::string_view name = options.name;
    if (name.empty()) name = !options.tools.is_null() && templates.contains("tool_use") ? "tool_use" : "default";
    const auto found = templates.find(name);
    if (found != templates.end()) return found->second;
    std::string names;
    for (const auto& [known, unused] : templates) names += (names.empty() ? "" : ", ") + known;
    Refuse("there is no chat template '" + std::string(name) + "'", "the names are " + names);
  }

  Dict Variables(const OrderedJson& messages, const ChatTemplateOptions& options, Text* continued) const {
    Dict variables;
    for (const auto& [name, token] : tokens) variables.Set(Value(name), Value(token));
    if (!options.variables.is_null() && !options.variables.is_object()) {
      Refuse("the variables of the chat template are no object");
    }
    for (const auto& [name, value] : options.variables.items()) {
      if (name == "messages" || name == "tools" || name == "add_generation_prompt") {
        Refuse("'" + name + "' is no variable of the chat template: it has its own option");
      }
      variables.Set(Value(name), ToValue(value, true, "the variable '" + name + "'"));
    }
    if (!options.tools.is_null() && !options.tools.is_array()) Refuse("the tools are no array");
    variables.Set(Value("tools"), ToValue(options.tools, true, "tools"));
    if (!variables.Find("documents")) variables.Set(Value("documents"), jinja::None{});
    variables.Set(Value("add_generation_prompt"), Value(options.add_generation_prompt));

    if (!messages.is_array() || messages.empty()) Refuse("the conversation is empty", "provide at least one message");
    if (options.continue_final_message && options.add_generation_prompt) {
      Refuse("continue_final_message and add_generation_prompt exclude each other");
    }
    Values list;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      Dict message = ToMessage(messages[i], "messages[" + std::to_string(i) + "]");
      if (options.continue_final_message && i + 1 == messages.size()) *continued = TagContent(&message);
      list.emplace_back(std::move(message));
    }
    variables.Set(Value("messages"), MakeList(std::move(list)));
    return variables;
  }
};

ChatTemplate::ChatTemplate(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

ChatTemplate ChatTemplate::FromJson(std::string_view tree) {
  const Json json = ParseJson(tree, kSource, {.bytes = std::size_t{16} << 20, .depth = 600});
  const JsonView view(json, std::string(kSource));
  view.Closed({"format", "templates", "tokens"});
  view["format"].Int(1, 1);
  auto impl = std::make_unique<Impl>();
  for (const auto& [name, token] : view["tokens"].Entries()) impl->tokens[name] = token.String();
  for (const auto& [name, tree_of] : view["templates"].Entries()) impl->templates[name] = jinja::ReadTree(tree_of);
  return ChatTemplate(std::move(impl));
}

RenderedChat ChatTemplate::Render(const OrderedJson& messages, const ChatTemplateOptions& options) const {
  const jinja::Macro& root = impl_->Choose(options);
  jinja::Budget budget(options.limits);
  int line = 0;
  try {
    Text content;
    const Dict variables = impl_->Variables(messages, options, &content);
    jinja::Interpreter interpreter(variables, budget, options.now);
    Text text;
    try {
      text = interpreter.Run(root);
    } catch (const jinja::Failure&) {
      line = interpreter.line();
      throw;
    }
    if (options.continue_final_message) text = CutAtTag(text, content);
    return {text.bytes(), text.user()};
  } catch (const jinja::Failure& failure) {
    const std::string where = line > 0 ? "chat template, line " + std::to_string(line) + ": " : "chat template: ";
    throw Error(failure.code, where + failure.what);
  }
}

}  // namespace mconnect
