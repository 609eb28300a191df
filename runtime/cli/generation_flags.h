// The options of commands that generate text.
#ifndef MCONNECT_RUNTIME_CLI_GENERATION_FLAGS_H_
#define MCONNECT_RUNTIME_CLI_GENERATION_FLAGS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mconnect/text_generation.h"

namespace mconnect::cli {

struct GenerationFlags {
  GenerateOptions options;
  bool greedy = false;
  std::optional<int> logprobs;  // how many others are reported at each token
  std::string schema;           // a file
  std::optional<std::string> regex;
  std::vector<std::string> choices;
  std::vector<std::string> biases;  // "ID=NUMBER"
};

void AddGenerationFlags(CLI::App* app, GenerationFlags* flags);

// What the flags come to; reads the schema. Throws UsageError for formats that exclude each other, and for a bias that
// is none.
GenerateOptions Resolve(const GenerationFlags& flags);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_GENERATION_FLAGS_H_
