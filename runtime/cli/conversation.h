// A conversation in the terminal.
#ifndef MCONNECT_RUNTIME_CLI_CONVERSATION_H_
#define MCONNECT_RUNTIME_CLI_CONVERSATION_H_

#include <optional>
#include <string>

#include "mconnect/text_generation.h"

namespace mconnect::cli {

struct ConversationOptions {
  GenerateOptions generate;
  ChatOptions chat;
  std::optional<std::string> system;  // the first message
  bool json = false;                  // print one object for each answer instead of streaming
};

// Reads lines from standard input and answers each, with all that was said before, until its end or /exit. A line that
// ends in '\' goes on in the next. Ctrl-C ends the answer that is being written; what was written counts as said.
// Returns an exit code.
int Converse(const TextGeneration& task, const ConversationOptions& options);

// "12 prompt tokens (80.1/s), 30 new tokens (21.5/s), ended by eos"; "12 prompt tokens, of them 8 known (80.1/s), ..."
// where a session had some of them in its cache. The rates are those of what was computed.
std::string Speed(const Generation& result);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_CONVERSATION_H_
