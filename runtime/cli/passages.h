// Cutting a folder of text into passages that a sentence encoder can take.
#ifndef MCONNECT_RUNTIME_CLI_PASSAGES_H_
#define MCONNECT_RUNTIME_CLI_PASSAGES_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mconnect::cli {

struct Passage {
  std::string file;  // as found, relative to nothing: printing "file:line" must lead back to it
  std::int64_t line = 1;
  std::string text;  // white space collapsed
};

// Cuts UTF-8 text into sentences. A blank line, a heading or a list item always ends a passage; a sentence ends at . !
// ? or their full-width forms. Passages longer than `max_bytes` are cut at white space (else at a character); those
// without two letters or digits in a row are dropped.
std::vector<Passage> SplitPassages(std::string_view text, const std::string& file, std::size_t max_bytes = 1000);

struct FolderOptions {
  std::uint64_t max_file_bytes = 16u << 20;
};

// The passages of every text file under `folder` (or of the one file that it names), in order of path and line.
//
// Hidden files and folders (".git") are left out silently. What cannot be used is left out with a sentence to `note`:
// files that are binary (hold a zero byte or are not UTF-8), unreadable or larger than the limit. Links to folders are
// not followed, so no loop can form; pipes and devices are never opened.
//
// Throws Error(kNotFound) when `folder` does not exist.
std::vector<Passage> ReadPassages(const std::filesystem::path& folder, const FolderOptions& options,
                                  const std::function<void(const std::string&)>& note);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_PASSAGES_H_
