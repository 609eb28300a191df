#include "runtime/tasks/chat_encoding.h"

#include <string>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/utf8.h"

namespace mconnect {
namespace {

[[noreturn]] void Refuse(const std::string& what) { throw Error(ErrorCode::kInvalidArgument, what); }

}  // namespace

OrderedJson ParseChatJson(std::string_view text, std::string_view name) {
  RequireUtf8(text, name);
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::exception& error) {
    Refuse(std::string(name) + " is not JSON: " + error.what());
  }
}

OrderedJson MessagesJson(const std::vector<Message>& messages) {
  OrderedJson list = OrderedJson::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const std::string place = "messages[" + std::to_string(i) + "]";
    const std::string name = place + ".extra";
    RequireUtf8(message.role, place + ".role");
    RequireUtf8(message.content, place + ".content");
    OrderedJson json = message.extra.empty() ? OrderedJson::object() : ParseChatJson(message.extra, name);
    if (!json.is_object()) Refuse(name + " is " + json.type_name() + ", not an object");
    json["role"] = message.role;
    json["content"] = message.content;
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<TokenId> EncodeChat(const std::optional<ChatTemplate>& chat_template, const Tokenizer& tokenizer,
                                const OrderedJson& messages, const ChatOptions& chat) {
  if (!chat_template) {
    throw Error(ErrorCode::kNotFound, "this model has no chat template", "give it a prompt instead of messages");
  }
  if (!messages.is_array()) Refuse(std::string("messages is ") + messages.type_name() + ", not a list");
  if (messages.empty()) Refuse("messages is an empty list");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].is_object() && messages[i].contains("role") && messages[i]["role"].is_string()) continue;
    Refuse("messages[" + std::to_string(i) + "] is not an object with a \"role\"");
  }
  ChatTemplateOptions options;
  if (!chat.tools.empty()) options.tools = ParseChatJson(chat.tools, "tools");
  if (!options.tools.is_null() && !options.tools.is_array()) Refuse("tools is not a list");
  if (!chat.variables.empty()) options.variables = ParseChatJson(chat.variables, "variables");
  if (!options.variables.is_null() && !options.variables.is_object()) Refuse("variables is not an object");
  options.add_generation_prompt = chat.add_generation_prompt && !chat.continue_final_message;
  options.continue_final_message = chat.continue_final_message;
  options.name = chat.template_name;
  RenderedChat rendered = chat_template->Render(messages, options);

  EncodeOptions encode;
  encode.add_special_tokens = false;  // the template wrote them
  encode.max_tokens = 0;
  encode.padding = Padding{};
  encode.offsets = false;
  if (!chat.allow_special_tokens_in_content) encode.plain_text = std::move(rendered.user_text);
  return tokenizer.Encode(rendered.text, encode).ids;
}

}  // namespace mconnect
