// Standard output and standard error of the command line: results go to the one, everything else to the other.
#ifndef MCONNECT_RUNTIME_CLI_CONSOLE_H_
#define MCONNECT_RUNTIME_CLI_CONSOLE_H_

#include <chrono>
#include <cstdint>
#include <exception>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace mconnect::cli {

// Exit codes of the program.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;         // the work could not be done
inline constexpr int kUsage = 2;          // the command line itself is wrong
inline constexpr int kInterrupted = 130;  // Ctrl-C, as shells number it
inline constexpr int kBrokenPipe = 141;   // the reader of our output went away, as shells number it

// A command line that cannot be carried out as written. Ends the program with kUsage.
class UsageError : public std::exception {
 public:
  explicit UsageError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// The reader of our standard output has gone (`mconnect ... | head`): the program ends without a word.
class BrokenPipe : public std::exception {};

// Makes the three standard descriptors safe to use: one that the caller closed would otherwise be given to the first
// file that is opened, and output would land in it. Also turns SIGPIPE into BrokenPipe. Call once, first thing in main.
void PrepareStandardStreams();

// Writes all of `text` to standard output, unbuffered. Throws BrokenPipe, or Error(kIo) on any other failure.
void Print(std::string_view text);

// Writes `text` and a newline to standard error; what cannot be written there is lost.
void Note(std::string_view text);

// Writes `text` alone to standard error: what stands before the place where a person types.
void PrintPrompt(std::string_view text);

// "error: <message>" and, when there is one, "  <remedy>" on standard error.
void PrintError(std::string_view message, std::string_view remedy);

bool IsTerminal(int descriptor);

// "612 B", "1.5 MiB": for people.
std::string HumanBytes(std::uint64_t bytes);

// A progress bar on standard error. Draws nothing unless that is a terminal and the work has lasted 0.3 s; leaves no
// trace.
class Progress {
 public:
  enum class Unit { kBytes, kItems };

  Progress(std::string label, Unit unit) : label_(std::move(label)), unit_(unit), start_(Clock::now()) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Not synchronised: called by one thread at a time. `total` 0 draws nothing.
  void Update(std::uint64_t done, std::uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  Unit unit_;
  Clock::time_point start_;
  Clock::time_point drawn_{};
  bool visible_ = false;
};

// The text of a bar 24 cells wide: "label  [######------]  42 %  12.0 MiB of 28.6 MiB". Split out for its test.
std::string ProgressLine(std::string_view label, Progress::Unit unit, std::uint64_t done, std::uint64_t total);

// While one lives, the first Ctrl-C asks the work to stop and the second ends the program at once. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  // For the `cancel` of the work.
  std::stop_token token() const { return stop_.get_token(); }

  // Passes on a Ctrl-C at once, for work that calls back anyway; it reaches other work within 20 ms.
  void Poll();

 private:
  std::stop_source stop_;
  std::jthread watcher_;
};

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_CONSOLE_H_
