#include "runtime/cli/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "mconnect/error.h"

namespace mconnect::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void OnInterrupt(int) {
  interrupts = interrupts + 1;
  if (interrupts > 1) _exit(kInterrupted);
}

// Returns 0 or errno.
int WriteAll(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void PrepareStandardStreams() {
  for (const int descriptor : {0, 1, 2}) {
    if (::fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // Opened for the other direction, so that using it still fails as a closed descriptor would.
    const int opened = ::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != descriptor) {
      ::dup2(opened, descriptor);
      ::close(opened);
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
}

void Print(std::string_view text) {
  const int error = WriteAll(STDOUT_FILENO, text);
  if (error == 0) return;
  if (error == EPIPE) throw BrokenPipe();
  throw Error(ErrorCode::kIo, std::string("cannot write to standard output: ") + std::strerror(error),
              error == ENOSPC ? "free some space, or write elsewhere" : "");
}

void Note(std::string_view text) { WriteAll(STDERR_FILENO, std::string(text) + "\n"); }

void PrintPrompt(std::string_view text) { WriteAll(STDERR_FILENO, text); }

void PrintError(std::string_view message, std::string_view remedy) {
  std::string text = "error: " + std::string(message);
  if (!remedy.empty()) text += "\n  " + std::string(remedy);
  Note(text);
}

bool IsTerminal(int descriptor) { return ::isatty(descriptor) == 1; }

std::string HumanBytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would print as "1024.0".
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

std::string ProgressLine(std::string_view label, Progress::Unit unit, std::uint64_t done, std::uint64_t total) {
  constexpr int kCells = 24;
  const double share = total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const int filled = static_cast<int>(share * kCells);
  std::string line(label);
  line += "  [" + std::string(filled, '#') + std::string(kCells - filled, '-') + "]  ";
  line += std::to_string(static_cast<int>(share * 100)) + " %  ";
  const auto amount = [unit](std::uint64_t n) {
    return unit == Progress::Unit::kBytes ? HumanBytes(n) : std::to_string(n);
  };
  return line + amount(done) + " of " + amount(total);
}

void Progress::Update(std::uint64_t done, std::uint64_t total) {
  using std::chrono::milliseconds;
  const Clock::time_point now = Clock::now();
  if (total == 0 || now - start_ < milliseconds(300) || now - drawn_ < milliseconds(100)) return;
  if (!IsTerminal(STDERR_FILENO)) return;
  WriteAll(STDERR_FILENO, "\r\x1b[K" + ProgressLine(label_, unit_, done, total));
  drawn_ = now;
  visible_ = true;
}

Progress::~Progress() {
  if (visible_) WriteAll(STDERR_FILENO, "\r\x1b[K");
}

InterruptGuard::InterruptGuard() {
  interrupts = 0;
  std::signal(SIGINT, OnInterrupt);
  // A signal handler may not touch a stop_source, so a thread looks at what it left.
  watcher_ = std::jthread([this](const std::stop_token& over) {
    while (!over.stop_requested() && interrupts == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Poll();
  });
}

void InterruptGuard::Poll() {
  if (interrupts > 0) stop_.request_stop();
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, SIG_DFL); }

}  // namespace mconnect::cli
