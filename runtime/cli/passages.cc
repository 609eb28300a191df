#include "runtime/cli/passages.h"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>

#include "mconnect/error.h"
#include "runtime/cli/console.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

namespace fs = std::filesystem;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Bytes of characters beyond ASCII count as letters: exact enough to tell words from rules and bullets.
bool IsWord(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c) || (static_cast<unsigned char>(c) & 0x80); }
bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool HasWord(std::string_view text) {
  return std::adjacent_find(text.begin(), text.end(), [](char a, char b) { return IsWord(a) && IsWord(b); }) !=
         text.end();
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// "Dr." and single letters ("e.g.", "J. S. Bach") do not end a sentence.
bool EndsInAbbreviation(std::string_view text) {
  static constexpr std::array<std::string_view, 12> kTitles = {"mr", "mrs", "ms", "dr", "prof", "st",
                                                               "vs", "etc", "cf", "no", "fig",  "approx"};
  std::size_t start = text.size();
  while (start > 0 && IsWord(text[start - 1])) --start;
  std::string word(text.substr(start));
  if (word.size() == 1) return !IsDigit(word[0]);
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return IsUpper(c) ? static_cast<char>(c + 32) : c; });
  return std::find(kTitles.begin(), kTitles.end(), word) != kTitles.end();
}

// Length of the sentence end that begins at `at`, or 0. Full-width stops need no space behind them.
std::size_t SentenceEnd(std::string_view text, std::size_t at) {
  for (const std::string_view stop : {"。", "！", "？"}) {
    if (text.substr(at).starts_with(stop)) return stop.size();
  }
  const char c = text[at];
  if (c != '.' && c != '!' && c != '?') return 0;
  std::size_t end = at + 1;
  while (end < text.size() && std::string_view(".!?\"')]").find(text[end]) != std::string_view::npos) ++end;
  if (end == text.size()) return end - at;
  if (!IsSpace(text[end]) || (c == '.' && EndsInAbbreviation(text.substr(0, at)))) return 0;
  std::size_t next = end;
  while (next < text.size() && IsSpace(text[next])) ++next;
  return next < text.size() && IsLower(text[next]) ? 0 : end - at;
}

// Collects one paragraph, remembering on which line each of its bytes stood.
class Paragraph {
 public:
  Paragraph(const std::string& file, std::size_t max_bytes, std::vector<Passage>* out)
      : file_(file), max_bytes_(max_bytes), out_(out) {}

  void AddLine(std::string_view line, std::int64_t number) {
    line = Trim(line);
    if (line.empty()) return;
    if (!text_.empty()) text_ += ' ';
    starts_.push_back({text_.size(), number});
    bool space = false;
    for (const char c : line) {
      if (!IsSpace(c)) text_ += c;
      if (IsSpace(c) && !space) text_ += ' ';
      space = IsSpace(c);
    }
  }

  void Flush() {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t stop = SentenceEnd(text_, at);
      at += stop == 0 ? 1 : stop;
      if (stop == 0 && at < text_.size()) continue;
      Emit(begin, at);
      begin = at;
    }
    text_.clear();
    starts_.clear();
  }

 private:
  struct Start {
    std::size_t offset;
    std::int64_t line;
  };

  void Emit(std::size_t begin, std::size_t end) {
    while (begin < end) {
      std::size_t cut = end;
      if (end - begin > max_bytes_) {
        cut = text_.rfind(' ', begin + max_bytes_);
        if (cut == std::string::npos || cut <= begin) cut = begin + max_bytes_;
        while (cut > begin + 1 && IsContinuation(text_[cut])) --cut;
      }
      const std::string_view piece = Trim(std::string_view(text_).substr(begin, cut - begin));
      if (HasWord(piece))
        out_->push_back({file_, LineAt(static_cast<std::size_t>(piece.data() - text_.data())), std::string(piece)});
      begin = cut;
    }
  }

  std::int64_t LineAt(std::size_t offset) const {
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset,
                                        [](std::size_t o, const Start& s) { return o < s.offset; });
    return std::prev(after)->line;
  }

  const std::string& file_;
  std::size_t max_bytes_;
  std::vector<Passage>* out_;
  std::string text_;
  std::vector<Start> starts_;
};

bool IsHeading(std::string_view line) { return line.starts_with('#'); }

// "- item", "* item", "12. item".
bool IsListItem(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ") || line.starts_with("+ ")) return true;
  const std::size_t digits = line.find_first_not_of("0123456789");
  return digits != 0 && digits != std::string_view::npos && digits <= 3 &&
         (line.substr(digits).starts_with(". ") || line.substr(digits).starts_with(") "));
}

// Why a file cannot be searched, or nothing.
std::optional<std::string> Unsuitable(const std::string& text) {
  if (text.find('\0') != std::string::npos) return "it is binary";
  const std::size_t offset = InvalidUtf8Offset(text);
  if (offset != std::string::npos) return "it is not UTF-8 (offset " + std::to_string(offset) + ")";
  return std::nullopt;
}

// Every regular file under `folder`, sorted. Links to files count, links to folders do not.
std::vector<fs::path> ListFiles(const fs::path& folder, const std::function<void(const std::string&)>& note) {
  std::vector<fs::path> files;
  std::vector<fs::path> pending = {folder};
  while (!pending.empty()) {
    const fs::path current = std::move(pending.back());
    pending.pop_back();
    std::error_code error;
    fs::directory_iterator entries(current, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::directory_entry& entry = *entries;
      if (entry.path().filename().native().starts_with('.')) continue;
      std::error_code ignored;  // a broken link, or a file that vanished meanwhile: not a regular file
      if (entry.is_directory(ignored)) {
        if (!entry.is_symlink(ignored)) pending.push_back(entry.path());
      } else if (entry.is_regular_file(ignored)) {
        files.push_back(entry.path());
      }
    }
    if (error) note("skipped " + current.string() + ": " + error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<Passage> SplitPassages(std::string_view text, const std::string& file, std::size_t max_bytes) {
  std::vector<Passage> passages;
  Paragraph paragraph(file, max_bytes, &passages);
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || IsHeading(line) || IsListItem(line)) paragraph.Flush();
    paragraph.AddLine(line, number);
    if (IsHeading(line)) paragraph.Flush();
  }
  paragraph.Flush();
  return passages;
}

std::vector<Passage> ReadPassages(const fs::path& folder, const FolderOptions& options,
                                  const std::function<void(const std::string&)>& note) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) {
    throw Error(ErrorCode::kNotFound, folder.string() + " does not exist", "name a folder of text files, or one file");
  }
  if (!fs::is_directory(status) && !fs::is_regular_file(status)) {  // reading a pipe would wait for its writer
    throw Error(ErrorCode::kInvalidArgument, folder.string() + " is neither a folder nor a regular file",
                "name a folder of text files, or one file");
  }
  std::vector<Passage> passages;
  const std::vector<fs::path> files =
      fs::is_directory(status) ? ListFiles(folder, note) : std::vector<fs::path>{folder};
  for (const fs::path& file : files) {
    const std::uint64_t size = fs::file_size(file, error);
    if (!error && size > options.max_file_bytes) {
      note("skipped " + file.string() + ": " + HumanBytes(size) + " is over the limit of " +
           HumanBytes(options.max_file_bytes) + " (--max-file-mb)");
      continue;
    }
    try {
      const std::string text = ReadInput(file.string(), options.max_file_bytes);
      if (const std::optional<std::string> reason = Unsuitable(text)) {
        note("skipped " + file.string() + ": " + *reason);
        continue;
      }
      std::vector<Passage> found = SplitPassages(text, file.string());
      std::move(found.begin(), found.end(), std::back_inserter(passages));
    } catch (const Error& e) {
      note("skipped " + file.string() + ": " + e.message());
    }
  }
  return passages;
}

}  // namespace mconnect::cli
