// Speed of a tokenizer on a text, on one thread:
//   tokenizer_benchmark tokenizer.json text.txt
// Prints MB/s over the whole text at once, and line by line, with and without offsets; by processor time, best of
// several rounds.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/tokenizer.h"

namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

double BestSeconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    const std::clock_t begin = std::clock();  // processor time: other work on the machine does not count
    work();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: tokenizer_benchmark tokenizer.json text.txt\n");
    return 2;
  }
  const std::string json = ReadFile(argv[1]);
  const std::string text = ReadFile(argv[2]);
  const auto tokenizer = mconnect::Tokenizer::FromJson(json);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  std::size_t tokens = 0;
  for (const bool offsets : {true, false}) {
    mconnect::EncodeOptions options;
    options.offsets = offsets;
    options.max_tokens = 0;
    options.padding = mconnect::Padding{};
    const double whole = BestSeconds([&] { tokens = tokenizer.Encode(text, options).size(); });
    const double by_line = BestSeconds([&] {
      for (const std::string& line : lines) tokenizer.Encode(line, options);
    });
    std::printf("%s offsets: %.1f MB/s whole, %.1f MB/s by line, %zu tokens\n", offsets ? "with" : "without",
                static_cast<double>(text.size()) / whole / 1e6, static_cast<double>(text.size()) / by_line / 1e6,
                tokens);
  }
  return 0;
} catch (const mconnect::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
