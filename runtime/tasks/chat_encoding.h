// From a conversation to the tokens that the model continues.
#ifndef MCONNECT_TASKS_CHAT_ENCODING_H_
#define MCONNECT_TASKS_CHAT_ENCODING_H_

#include <optional>
#include <string_view>
#include <vector>

#include "mconnect/text_generation.h"
#include "runtime/text/chat_template.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// A JSON array of messages. Throws Error(kInvalidArgument) for a message whose `extra` is no JSON object.
OrderedJson MessagesJson(const std::vector<Message>& messages);

// JSON whose objects keep their order. `name` names it in messages. Throws Error(kInvalidArgument).
OrderedJson ParseChatJson(std::string_view text, std::string_view name);

// Renders and encodes. What the messages hold is plain text unless `chat` says otherwise. Throws Error(kNotFound)
// without a template, and Error(kInvalidArgument) for what the template refuses.
std::vector<TokenId> EncodeChat(const std::optional<ChatTemplate>& chat_template, const Tokenizer& tokenizer,
                                const OrderedJson& messages, const ChatOptions& chat);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_CHAT_ENCODING_H_
