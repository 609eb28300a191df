// The commands of `mconnect`, one file each.
#ifndef MCONNECT_RUNTIME_CLI_COMMAND_H_
#define MCONNECT_RUNTIME_CLI_COMMAND_H_

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "runtime/cli/texts.h"

namespace mconnect::cli {

// A command that has been added to the program. `run` is called when the user chose it, after its options were parsed;
// it returns the exit code and may throw UsageError, BrokenPipe or mconnect::Error.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};

// --format of a command that reads a list of texts.
inline void AddListFormat(CLI::App* app, ListFormat* format) {
  const std::map<std::string, ListFormat> names = {
      {"auto", ListFormat::kAuto}, {"json", ListFormat::kJson}, {"lines", ListFormat::kLines}};
  app->add_option_function<std::string>(
         "--format", [=](const std::string& name) { *format = names.at(name); },
         "How --input is written: a JSON list of strings, or one text on each line; auto: by its name")
      ->type_name("auto|json|lines")
      ->check(CLI::IsMember({"auto", "json", "lines"}));
}

// Whole numbers of type T, in decimal. The parser's own conversion wraps a negative number around in an unsigned type,
// takes one that is too large for the largest, and an empty text for 0.
template <typename T>
CLI::Validator WholeNumber(T least = 0, T greatest = std::numeric_limits<T>::max()) {
  const std::string limits = std::to_string(least) + " to " + std::to_string(greatest);
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        T value = 0;
        const char* const end = text.data() + text.size();
        const auto result = std::from_chars(text.data(), end, value);
        if (result.ec == std::errc() && result.ptr == end && value >= least && value <= greatest) return "";
        return "'" + text + "' is not a whole number from " + limits;
      },
      "");
}

// Real numbers from `least`, or above it when `open`, to `greatest`. `limits` is how people write that interval.
inline CLI::Validator RealNumber(double least, bool open, double greatest, const std::string& limits) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto result = std::from_chars(text.data(), end, value);
        const bool is_number = result.ec == std::errc() && result.ptr == end && std::isfinite(value);
        // As the float that it becomes: 1e-300 would be 0.
        const auto rounded = static_cast<double>(static_cast<float>(value));
        if (is_number && (open ? rounded > least : rounded >= least) && rounded <= greatest) return "";
        return "'" + text + "' is not a number " + limits;
      },
      "");
}

Command AddRun(CLI::App& program);
Command AddEmbed(CLI::App& program);
Command AddSearch(CLI::App& program);
Command AddScore(CLI::App& program);
Command AddTokenize(CLI::App& program);
Command AddInspect(CLI::App& program);
Command AddVerify(CLI::App& program);
Command AddUnpack(CLI::App& program);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_COMMAND_H_
