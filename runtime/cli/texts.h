// The texts that a user hands to a command: on the command line, in a file, through a pipe.
#ifndef MCONNECT_RUNTIME_CLI_TEXTS_H_
#define MCONNECT_RUNTIME_CLI_TEXTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/utf8.h"  // RequireUtf8: what commands demand of every text

namespace mconnect::cli {

// How a list of texts is written: a JSON list of strings, or one text on each line.
enum class ListFormat { kAuto, kJson, kLines };

// What commands read at most from one input: above it, even a device that never ends is an error and not the end of
// memory.
inline constexpr std::uint64_t kMaxInput = std::uint64_t{1} << 30;

// Reads a whole file, or standard input for "-". Throws Error: kNotFound, kIo (a folder, no permission),
// kResourceExhausted (more than `limit` bytes).
std::string ReadInput(const std::string& path, std::uint64_t limit = kMaxInput);

// Reads a list of texts from a file, or from standard input for "-". kAuto takes a name that ends in ".json" for JSON,
// and standard input for JSON when its first character is "[". An empty line is an empty text; a line may end in CR LF.
// Throws Error(kInvalidArgument) when the input is empty, is not UTF-8, or is not a JSON list of strings, with the
// place.
std::vector<std::string> ReadTexts(const std::string& path, ListFormat format);

// The same for a text that is already in memory; `name` is what messages call it.
std::vector<std::string> ParseJsonTexts(std::string text, std::string_view name);
std::vector<std::string> ParseLines(std::string_view text, std::string_view name);

// JSON can escape half of a surrogate pair ("\ud800"), which no Unicode text can hold. Each becomes U+FFFD, in place,
// as decoders of UTF-16 do it; offsets do not move.
void ReplaceLoneSurrogates(std::string& json) noexcept;

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_TEXTS_H_
