// The program around a fuzz target.
//
//     TARGET                              seeds, and a fixed number of mutations: a test
//     TARGET --seconds 600 --seed 1 FILE...   for as long; files and seeds are the inputs to begin with
//     TARGET --runs 0 FILE...                 those inputs as they are: reproduces a finding
//
// A finding is an exception that leaves the target, more than two seconds of processor time (ten in a build with a
// sanitizer) or 512 MB for one input, or whatever a sanitizer stops. Its input is kept below --artifacts; the one that
// ended the process is "<target>.input".
//
// Compiled with -fsanitize-coverage=trace-pc (bazel build --config=fuzz), inputs that reach new code are mutated
// further.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/testing/fuzzing.h"

namespace {

constexpr std::size_t kMaxBytes = std::size_t{512} << 20;
#ifdef NDEBUG
constexpr double kMaxSeconds = 2;
#else  // with a sanitizer
constexpr double kMaxSeconds = 10;
#endif
constexpr int kHangSeconds = 60;  // of processor time: then the process is ended
constexpr std::size_t kMaxInput = 1 << 20;

// --- Memory: what operator new has given out.

std::atomic<std::size_t> live = 0;
std::atomic<std::size_t> peak = 0;
std::atomic<bool> beyond = false;  // an allocation was refused

void* Allocate(std::size_t size, std::size_t alignment) {
  if (live + size > kMaxBytes) {
    beyond = true;
    throw std::bad_alloc();
  }
  void* block = alignment == 0 ? std::malloc(std::max<std::size_t>(size, 1)) : nullptr;
  if (alignment > 0 && ::posix_memalign(&block, alignment, std::max<std::size_t>(size, 1)) != 0) block = nullptr;
  if (block == nullptr) throw std::bad_alloc();
  const std::size_t now = live += ::malloc_usable_size(block);
  if (now > peak) peak = now;
  return block;
}

void Release(void* block) noexcept {
  if (block == nullptr) return;
  live -= ::malloc_usable_size(block);
  std::free(block);
}

// --- Coverage: a bit for each edge, by the address that reports it.

constexpr std::size_t kEdges = 1 << 16;
unsigned char reached[kEdges];  // no class: its members would be marked too, and call for themselves
std::size_t new_edges = 0;
std::size_t all_edges = 0;

// --- Findings.

struct Options {
  double seconds = 0;
  std::uint64_t seed = 1;
  std::size_t runs = 3000;
  std::filesystem::path artifacts;
  std::vector<std::string> files;
};

double ProcessorSeconds() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

class Driver {
 public:
  explicit Driver(Options options) : options_(std::move(options)), random_(options_.seed) {
    std::filesystem::create_directories(options_.artifacts);
    // Mapped, so that it holds the input whatever ends the process.
    const std::string path = (options_.artifacts / (std::string(program_invocation_short_name) + ".input")).string();
    current_file_ = path;
    current_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (current_ < 0 || ::ftruncate(current_, kMaxInput) != 0) {
      std::perror(path.c_str());
      std::exit(2);
    }
    map_ = static_cast<char*>(::mmap(nullptr, kMaxInput, PROT_READ | PROT_WRITE, MAP_SHARED, current_, 0));
    std::signal(SIGPROF, [](int) {
      constexpr std::string_view kText = "finding: one input takes more than 60 seconds\n";
      [[maybe_unused]] const auto written = ::write(2, kText.data(), kText.size());
      ::_exit(1);
    });
  }

  int Run() {
    for (const std::string& seed : mconnect::fuzzing::Seeds()) corpus_.push_back(seed);
    for (const std::string& file : options_.files) {
      std::string text = ReadFile(file);
      if (!file.ends_with(".lines")) {
        corpus_.push_back(std::move(text));
        continue;
      }
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        corpus_.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    seeds_ = corpus_.size();
    for (const std::string& input : corpus_) mconnect::fuzzing::Learn(input);
    const std::size_t own = mconnect::fuzzing::Seeds().size();
    for (std::size_t i = 0; i < seeds_; ++i) {
      const std::size_t accepted = mconnect::fuzzing::accepted();
      Try(std::string(corpus_[i]));
      if (i < own && mconnect::fuzzing::accepted() == accepted) Keep(corpus_[i], "the target refuses its own seed");
    }
    const auto start = std::chrono::steady_clock::now();
    auto told = start;
    for (std::size_t run = 0;; ++run) {
      const auto now = std::chrono::steady_clock::now();
      const auto since = [now](auto then) { return std::chrono::duration<double>(now - then).count(); };
      if (options_.seconds > 0 ? since(start) >= options_.seconds : run >= options_.runs) break;
      if (since(told) >= 60) {
        Report();
        told = now;
      }
      Try(Mutated());
    }
    Report();
    ::close(current_);
    std::filesystem::remove(current_file_);
    return findings_ == 0 ? 0 : 1;
  }

 private:
  std::string Mutated() {
    // Half of the time something recent, which few have looked at.
    const std::size_t recent = std::min<std::size_t>(corpus_.size(), 50);
    const std::size_t pick = mconnect::fuzzing::Below(2, random_) == 0
                                 ? corpus_.size() - 1 - mconnect::fuzzing::Below(recent, random_)
                                 : mconnect::fuzzing::Below(corpus_.size(), random_);
    std::string input = corpus_[pick];
    const std::size_t size = input.size();
    input.resize(kMaxInput);
    input.resize(LLVMFuzzerCustomMutator(reinterpret_cast<std::uint8_t*>(input.data()), size, kMaxInput,
                                         static_cast<unsigned int>(random_())));
    return input;
  }

  void Try(std::string input) {
    ++runs_;
    std::memcpy(map_, input.data(), std::min(input.size(), kMaxInput));
    if (::ftruncate(current_, static_cast<off_t>(std::max<std::size_t>(1, std::min(input.size(), kMaxInput)))) != 0)
      std::abort();
    itimerval limit{};
    limit.it_value.tv_sec = kHangSeconds;
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    const double begin = ProcessorSeconds();
    const std::size_t before = live;
    peak = before;
    new_edges = 0;
    std::string problem;
    try {
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
    } catch (const std::exception& e) {
      problem = std::string("exception: ") + e.what();
    } catch (...) {
      problem = "exception of an unknown type";
    }
    const double seconds = ProcessorSeconds() - begin;
    const std::size_t bytes = peak - before;
    slowest_ = std::max(slowest_, seconds);
    largest_ = std::max(largest_, bytes);
    if (beyond.exchange(false)) problem += " more than 512 MB";
    if (seconds > kMaxSeconds) problem += " " + std::to_string(seconds) + " seconds";
    if (!problem.empty()) Keep(input, problem);
    if (::ftruncate(current_, kMaxInput) != 0) std::abort();
    if (new_edges > 0 && problem.empty() && runs_ > seeds_) corpus_.push_back(std::move(input));
  }

  void Keep(const std::string& input, const std::string& problem) {
    ++findings_;
    const auto path = options_.artifacts / (std::string(program_invocation_short_name) + "-" +
                                            std::to_string(std::hash<std::string>()(input)) + ".finding");
    std::ofstream(path, std::ios::binary) << input;
    std::fprintf(stderr, "finding: %s; the input is %s\n", problem.c_str(), path.c_str());
  }

  void Report() const {
    std::fprintf(
        stderr,
        "%zu inputs, %zu accepted, %zu in the corpus, %zu edges, slowest %.3f s, largest %.1f MB, %zu findings\n",
        runs_, mconnect::fuzzing::accepted(), corpus_.size(), all_edges, slowest_, static_cast<double>(largest_) / 1e6,
        findings_);
  }

  Options options_;
  mconnect::fuzzing::Random random_;
  std::vector<std::string> corpus_;
  std::filesystem::path current_file_;
  int current_ = -1;
  char* map_ = nullptr;
  std::size_t seeds_ = 0;
  std::size_t runs_ = 0;
  std::size_t findings_ = 0;
  double slowest_ = 0;
  std::size_t largest_ = 0;
};

template <typename T>
T NumberOf(std::string_view name, const char* text) {
  T value{};
  const char* const end = text == nullptr ? nullptr : text + std::strlen(text);
  if (text == nullptr || std::from_chars(text, end, value).ptr != end) {
    std::fprintf(stderr, "%s needs a number\n", std::string(name).c_str());
    std::exit(2);
  }
  return value;
}

Options ParseOptions(char** argv) {
  Options options;
  const char* folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  options.artifacts = folder != nullptr ? folder : ".";
  for (++argv; *argv != nullptr; ++argv) {
    const std::string_view argument = *argv;
    if (!argument.starts_with("--")) {
      options.files.emplace_back(argument);
      continue;
    }
    const char* value = argv[1];
    if (argument == "--seconds") {
      options.seconds = NumberOf<double>(argument, value);
    } else if (argument == "--seed") {
      options.seed = NumberOf<std::uint64_t>(argument, value);
    } else if (argument == "--runs") {
      options.runs = NumberOf<std::size_t>(argument, value);
    } else if (argument == "--artifacts" && value != nullptr) {
      options.artifacts = value;
    } else {
      std::fprintf(stderr, "usage: [--seconds N | --runs N] [--seed N] [--artifacts FOLDER] [FILE...]\n");
      std::exit(2);
    }
    ++argv;
  }
  return options;
}

}  // namespace

// With calls of this, GCC's -fsanitize-coverage=trace-pc marks each edge.
extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc() {
  const auto address = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  unsigned char& edge = reached[(address ^ address >> 16) % kEdges];
  if (edge != 0) return;
  edge = 1;
  ++new_edges;
  ++all_edges;
}

void* operator new(std::size_t size) { return Allocate(size, 0); }
void* operator new[](std::size_t size) { return Allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return Allocate(size, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void operator delete(void* block) noexcept { Release(block); }
void operator delete[](void* block) noexcept { Release(block); }
void operator delete(void* block, std::size_t) noexcept { Release(block); }
void operator delete[](void* block, std::size_t) noexcept { Release(block); }
void operator delete(void* block, std::align_val_t) noexcept { Release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { Release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { Release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { Release(block); }

int main(int, char** argv) { return Driver(ParseOptions(argv)).Run(); }
