#include "runtime/cli/conversation.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "mconnect/error.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

constexpr const char* kHelp =
    "/reset  forget the conversation\n"
    "/exit   end (as Ctrl-D does)\n"
    "/help   this text\n"
    "A line that ends in \\ goes on in the next one. Ctrl-C ends an answer.";

// While one lives, Ctrl-C ends the reading of a line and nothing else, also when it comes just before it. The signal
// may arrive on any thread, so it goes through a pipe that the reader watches. One at a time.
class LineReader {
 public:
  LineReader() {
    if (::pipe2(pipe_, O_CLOEXEC | O_NONBLOCK) != 0) throw Error(ErrorCode::kIo, "cannot make a pipe");
    ::sigaction(SIGINT, nullptr, &before_);
    Arm();
  }
  ~LineReader() {
    ::sigaction(SIGINT, &before_, nullptr);
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Takes Ctrl-C over, from whoever had it meanwhile.
  void Arm() {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      const int before = errno;
      [[maybe_unused]] const ssize_t written = ::write(pipe_[1], "", 1);  // full: there is one already
      errno = before;
    };
    ::sigaction(SIGINT, &action, nullptr);
  }

  // A line of standard input without its newline; empty after Ctrl-C, nothing at the end of the input.
  std::optional<std::string> Read() {
    std::string line;
    for (char c = 0;;) {
      pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {pipe_[0], POLLIN, 0}};
      if (::poll(watched, 2, -1) < 0 && errno == EINTR) continue;
      if (watched[1].revents != 0) {
        while (::read(pipe_[0], &c, 1) > 0) {
        }
        Note("");
        return "";
      }
      const ssize_t got = ::read(STDIN_FILENO, &c, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
      if (c == '\n') return line;
      line += c;
    }
  }

 private:
  static inline int pipe_[2];
  struct sigaction before_ = {};
};

// What the user says next.
std::optional<std::string> ReadTurn(LineReader& reader) {
  reader.Arm();
  std::string turn;
  for (const char* prompt = "> ";; prompt = ". ") {
    if (IsTerminal(STDERR_FILENO)) PrintPrompt(prompt);
    const std::optional<std::string> line = reader.Read();
    if (!line) return turn.empty() ? std::nullopt : std::optional(turn);
    turn += *line;
    if (!turn.ends_with('\\')) return turn;
    turn.back() = '\n';
  }
}

}  // namespace

std::string Speed(const Generation& result) {
  char text[160];
  const std::int64_t fresh = result.prompt_tokens - result.cached_tokens;
  const double prefill = result.prefill_seconds > 0 ? static_cast<double>(fresh) / result.prefill_seconds : 0;
  const double decode =
      result.decode_seconds > 0 ? static_cast<double>(result.completion_tokens - 1) / result.decode_seconds : 0;
  const std::string cached =
      result.cached_tokens > 0 ? ", of them " + std::to_string(result.cached_tokens) + " known" : "";
  std::snprintf(text, sizeof text, "%lld prompt tokens%s (%.1f/s), %lld new tokens (%.1f/s), ended by ",
                static_cast<long long>(result.prompt_tokens), cached.c_str(), prefill,
                static_cast<long long>(result.completion_tokens), decode);
  return text + std::string(FinishReasonName(result.finish_reason));
}

int Converse(const TextGeneration& task, const ConversationOptions& options) {
  TextSession session = task.session();  // a turn computes what is new in it, not all that was said before
  LineReader reader;
  std::vector<Message> messages;
  const auto reset = [&] {
    session.reset();
    messages.clear();
    if (options.system) messages.push_back({"system", *options.system});
  };
  reset();
  Note("Say something; /help explains, /exit ends.");
  while (const std::optional<std::string> turn = ReadTurn(reader)) {
    if (turn->find_first_not_of(" \t\r\n") == std::string::npos) continue;
    if (*turn == "/exit") return kOk;
    if (*turn == "/help") {
      Note(kHelp);
      continue;
    }
    if (*turn == "/reset") {
      reset();
      continue;
    }
    if (turn->starts_with("/") && turn->find_first_of(" \n") == std::string::npos) {
      Note("there is no " + *turn + "; /help lists what there is");
      continue;
    }
    messages.push_back({"user", *turn});
    try {
      RequireUtf8(*turn, "the line");
      InterruptGuard guard;
      GenerateOptions generate = options.generate;
      generate.cancel = guard.token();
      const Generation answer = session.chat(messages, generate, options.chat, [&](const TextChunk& chunk) {
        guard.Poll();
        if (!options.json) Print(chunk.text);
      });
      Print(options.json ? JsonLine({{"text", answer.text}, {"finish_reason", FinishReasonName(answer.finish_reason)}})
                         : "\n");
      Note(Speed(answer));
      messages.push_back({"assistant", answer.text});
    } catch (const Error& error) {
      messages.pop_back();  // as if it had not been said
      PrintError(error.message(), error.remedy().empty() ? "say something else, or /reset" : error.remedy());
    }
  }
  Note("");
  return kOk;
}

}  // namespace mconnect::cli
