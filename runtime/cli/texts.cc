#include "runtime/cli/texts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "mconnect/error.h"

namespace mconnect::cli {
namespace {

std::string DisplayName(const std::string& path) { return path == "-" ? "standard input" : path; }

[[noreturn]] void ThrowErrno(const std::string& name, int error) {
  const ErrorCode code = error == ENOENT || error == ENOTDIR ? ErrorCode::kNotFound : ErrorCode::kIo;
  throw Error(code, "cannot read " + name + ": " + std::strerror(error),
              code == ErrorCode::kNotFound ? "check the spelling of the path" : "");
}

// The value of four hexadecimal digits at `at`.
std::optional<std::uint32_t> Hex4(std::string_view text, std::size_t at) noexcept {
  if (at + 4 > text.size()) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : text.substr(at, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + static_cast<std::uint32_t>(digit);
  }
  return value;
}

bool IsHighSurrogate(std::uint32_t unit) noexcept { return unit >= 0xD800 && unit <= 0xDBFF; }
bool IsLowSurrogate(std::uint32_t unit) noexcept { return unit >= 0xDC00 && unit <= 0xDFFF; }

}  // namespace

std::string ReadInput(const std::string& path, std::uint64_t limit) {
  const std::string name = DisplayName(path);
  const int descriptor = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) ThrowErrno(name, errno);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat info {};
  if (::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::kIo, name + " is a folder, not a file", "name a file inside it");
  }
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
      if (text.size() > limit) {
        throw Error(ErrorCode::kResourceExhausted, name + " has more bytes than the limit of " + std::to_string(limit),
                    "split it; a device that never ends, such as /dev/zero, cannot be read");
      }
    } else if (got == 0) {
      if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // the byte order mark that some editors write
      return text;
    } else if (errno != EINTR) {
      ThrowErrno(name, errno);
    }
  }
}

void ReplaceLoneSurrogates(std::string& json) noexcept {
  std::size_t i = 0;
  while (i + 1 < json.size()) {
    if (json[i] != '\\') {
      ++i;
      continue;
    }
    const std::optional<std::uint32_t> unit = json[i + 1] == 'u' ? Hex4(json, i + 2) : std::nullopt;
    if (!unit) {
      i += 2;
      continue;
    }
    if (IsHighSurrogate(*unit) && i + 8 < json.size() && json[i + 6] == '\\' && json[i + 7] == 'u' &&
        IsLowSurrogate(Hex4(json, i + 8).value_or(0))) {
      i += 12;
      continue;
    }
    if (IsHighSurrogate(*unit) || IsLowSurrogate(*unit)) json.replace(i + 2, 4, "fffd");
    i += 6;
  }
}

std::vector<std::string> ParseJsonTexts(std::string text, std::string_view name) {
  RequireUtf8(text, name);
  ReplaceLoneSurrogates(text);
  nlohmann::json parsed;
  try {
    parsed = nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& e) {
    // The library counts bytes from 1 and repeats its own name and position in what(): keep the end of the sentence.
    std::string reason = e.what();
    const std::size_t dash = reason.find(" - ");
    if (dash != std::string::npos) reason.erase(0, dash + 3);
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " is not JSON: " + TextPlace(text, e.byte == 0 ? 0 : e.byte - 1) + ": " + reason,
                "write a list of strings, like [\"a cat\", \"a dog\"]");
  } catch (const nlohmann::json::out_of_range&) {
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + ": a number in it is too large",
                "write a list of strings, like [\"a cat\", \"a dog\"]");
  }
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + ": " + what,
                "write a list of strings, like [\"a cat\", \"a dog\"]");
  };
  if (!parsed.is_array()) refuse(std::string("expected a list of strings, got ") + parsed.type_name());
  std::vector<std::string> texts;
  texts.reserve(parsed.size());
  for (const nlohmann::json& item : parsed) {
    if (!item.is_string())
      refuse("item " + std::to_string(texts.size()) + " is " + item.type_name() + ", not a string");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

std::vector<std::string> ParseLines(std::string_view text, std::string_view name) {
  RequireUtf8(text, name);
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string> ReadTexts(const std::string& path, ListFormat format) {
  const std::string name = DisplayName(path);
  std::string text = ReadInput(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument, name + " holds no text",
                "write one text on each line, or a JSON list of strings");
  }
  const bool json = format == ListFormat::kAuto ? path.ends_with(".json") || (path == "-" && text[first] == '[')
                                                : format == ListFormat::kJson;
  return json ? ParseJsonTexts(std::move(text), name) : ParseLines(text, name);
}

}  // namespace mconnect::cli
