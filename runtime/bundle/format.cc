#include "runtime/bundle/format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <unordered_map>

namespace mconnect {
namespace {

constexpr std::size_t kName = 100;
constexpr std::size_t kPrefix = 155;
constexpr std::uint64_t kOctalSizeLimit = std::uint64_t{8} << 30;

// Where ustar splits the path: the '/' between prefix and name, or npos when all of it goes into the name.
// Returns false when it cannot be split.
bool FindSplit(std::string_view path, std::size_t* cut) {
  *cut = std::string_view::npos;
  if (path.size() <= kName) return true;
  *cut = path.find('/', path.size() - kName - 1);
  return *cut != std::string_view::npos && *cut <= kPrefix;
}

bool IsPathCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._+=@-").find(c) != std::string_view::npos;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text.substr(0, 60)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (text.size() > 60 ? "...'" : "'");
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return lower;
}

}  // namespace

std::string PathProblem(std::string_view path) {
  if (path.size() > kMaxPath) {
    return Quoted(path) + " has " + std::to_string(path.size()) + " characters, more than the limit of " +
           std::to_string(kMaxPath);
  }
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    if (segment.empty()) return Quoted(path) + " has an empty segment";
    if (!std::ranges::all_of(segment, IsPathCharacter))
      return Quoted(path) + " has a character outside A-Z a-z 0-9 . _ + = @ -";
    if (segment.find_first_not_of('.') == segment.npos) return Quoted(path) + " has a segment of dots";
    begin = end + 1;
  }
  std::size_t cut;
  if (!FindSplit(path, &cut)) return Quoted(path) + " cannot be split into a prefix and a name of a ustar header";
  return "";
}

std::string CollisionProblem(const std::vector<std::string_view>& paths) {
  std::unordered_map<std::string, std::string_view> folded;
  for (const std::string_view path : paths) {
    if (path == kManifestPath || path == kDigestsPath) return Quoted(path) + " is reserved";
    const auto [other, is_new] = folded.emplace(Lower(path), path);
    if (!is_new) return Quoted(other->second) + " and " + Quoted(path) + " are equal or differ only in case";
  }
  for (const auto& [lower, path] : folded) {
    for (std::size_t slash = lower.find('/'); slash != lower.npos; slash = lower.find('/', slash + 1)) {
      const auto folder = folded.find(lower.substr(0, slash));
      if (folder != folded.end()) return Quoted(folder->second) + " is a folder of the member " + Quoted(path);
    }
  }
  return "";
}

std::array<char, kTarBlock> TarHeader(std::string_view path, std::uint64_t size) {
  std::array<char, kTarBlock> header = {};
  const auto put = [&](std::size_t offset, std::string_view text) {
    std::memcpy(&header[offset], text.data(), text.size());
  };
  const auto octal = [&](std::size_t offset, int digits, std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
    put(offset, text);
  };
  std::size_t cut;
  FindSplit(path, &cut);
  put(0, cut == path.npos ? path : path.substr(cut + 1));
  put(345, cut == path.npos ? "" : path.substr(0, cut));
  put(100, "0000644");  // mode
  put(108, "0000000");  // uid
  put(116, "0000000");  // gid
  if (size < kOctalSizeLimit) {
    octal(124, 11, size);
  } else {  // base 256, as GNU tar and libarchive write it
    header[124] = char(0x80);
    for (int i = 0; i < 8; ++i) header[135 - i] = static_cast<char>(size >> (8 * i));
  }
  put(136, "00000000000");  // mtime
  put(148, "        ");     // the checksum counts itself as spaces
  put(156, "0");            // a regular file
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  octal(148, 6, sum);
  header[154] = '\0';
  return header;
}

}  // namespace mconnect
