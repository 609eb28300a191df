#include "runtime/bundle/index.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/base/sha256.h"
#include "runtime/bundle/format.h"

namespace mconnect {
namespace {

constexpr std::uint64_t kFooter = 56;           // sha256, size of the index, format, zero, magic
constexpr std::uint64_t kSkippableHeader = 8;   // magic, size
constexpr std::uint64_t kFirstRead = 64 << 10;  // most indices fit, so that one read finds footer and index

// Little-endian, whatever the machine.
std::uint64_t LoadLittle(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string FromHex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  return bytes;
}

class IndexReader {
 public:
  explicit IndexReader(const File& file) : file_(file) {}

  Index Read() {
    const std::string text = ReadText();
    const Json json = ParseJson(text, file_.path().string() + ": index", {.bytes = kMaxIndexSize, .depth = 4});
    return Parse(JsonView(json, file_.path().string() + ": index"));
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ErrorCode::kCorrupt, file_.path().string() + ": " + what,
                "the file is damaged or no bundle: copy or build it again");
  }

  // Finds the index from the end of the file and checks its digest. Sets start_.
  std::string ReadText() {
    if (file_.size() < kSkippableHeader + kFooter) {
      Fail("has " + std::to_string(file_.size()) + " bytes, too few for a bundle");
    }
    std::string tail(std::min(file_.size(), kFirstRead), '\0');
    file_.ReadAt(file_.size() - tail.size(), std::as_writable_bytes(std::span(tail)));
    const std::string_view footer = std::string_view(tail).substr(tail.size() - kFooter);
    if (footer.substr(48) != kFooterMagic) Fail("does not end with the footer of a bundle");
    if (const auto format = LoadLittle(footer.substr(40, 4)); format != kBundleFormat) {
      throw Error(ErrorCode::kUnsupported,
                  file_.path().string() + ": has bundle format " + std::to_string(format) +
                      ", this build reads format " + std::to_string(kBundleFormat),
                  "build the bundle with this release, or run it with the release that built it");
    }
    if (LoadLittle(footer.substr(44, 4)) != 0) Fail("the footer's reserved field is not zero");
    const std::uint64_t size = LoadLittle(footer.substr(32, 8));
    if (size > kMaxIndexSize) {
      Fail("the index has " + std::to_string(size) + " bytes, more than the limit of " + std::to_string(kMaxIndexSize));
    }
    const std::uint64_t total = kSkippableHeader + size + kFooter;
    if (total > file_.size()) Fail("the index has " + std::to_string(size) + " bytes, more than the file");
    start_ = file_.size() - total;
    if (total > tail.size()) {
      tail.resize(total);
      file_.ReadAt(start_, std::as_writable_bytes(std::span(tail)));
    }
    const std::string_view frame = std::string_view(tail).substr(tail.size() - total);
    if (LoadLittle(frame.substr(0, 4)) != kSkippableMagic || LoadLittle(frame.substr(4, 4)) != size + kFooter) {
      Fail("the index does not begin with its skippable frame's header");
    }
    const std::string_view text = frame.substr(kSkippableHeader, size);
    if (FromHex(Sha256Hex(text)) != frame.substr(kSkippableHeader + size, 32)) Fail("the index's digest is wrong");
    return std::string(text);
  }

  Index Parse(const JsonView& view) {
    view.Closed({"end", "format", "members"});
    view["format"].Int(kBundleFormat, kBundleFormat);
    Index index;
    std::uint64_t offset = 0;
    for (const JsonView& item : view["members"].Items(kMaxMembers + 1)) {
      index.entries.push_back(ParseEntry(item, &offset));
    }
    index.end = NextFrame(view["end"], kTarEnd, &offset);
    if (offset != start_) {
      Fail("the frames end at byte " + std::to_string(offset) + ", the index begins at byte " + std::to_string(start_));
    }
    CheckPaths(index);
    return index;
  }

  IndexEntry ParseEntry(const JsonView& view, std::uint64_t* offset) {
    view.Closed({"frames", "path", "sha256", "size"});
    IndexEntry entry;
    entry.info.path = view["path"].String();
    if (const std::string problem = PathProblem(entry.info.path); !problem.empty()) view["path"].Fail(problem);
    entry.info.sha256 = view["sha256"].String();
    if (!IsSha256Hex(entry.info.sha256)) view["sha256"].Fail("is not 64 lower-case hex digits");
    entry.info.size = static_cast<std::uint64_t>(view["size"].Int(0, kMaxMemberSize));
    const JsonView frames = view["frames"];
    const std::uint64_t count = NumFrames(entry.info.size);
    if (frames.json().size() != count) {
      frames.Fail("has " + std::to_string(frames.json().size()) + " frames, a member of " +
                  std::to_string(entry.info.size) + " bytes has " + std::to_string(count));
    }
    std::uint64_t left = TarSize(entry.info.size);
    for (const JsonView& item : frames.Items()) {
      entry.frames.push_back(NextFrame(item, std::min(left, kFrameContent), offset));
      left -= entry.frames.back().content;
    }
    return entry;
  }

  // The frame that begins at *offset, which moves to its end.
  Frame NextFrame(const JsonView& view, std::uint64_t content, std::uint64_t* offset) {
    const Frame frame = {*offset, static_cast<std::uint64_t>(view.Int(1, ZSTD_compressBound(content))), content};
    *offset += frame.compressed;
    if (*offset > start_) view.Fail("the frame reaches beyond the start of the index");
    return frame;
  }

  void CheckPaths(const Index& index) {
    if (index.entries.empty() || index.entries[0].info.path != kManifestPath)
      Fail("the first member is not manifest.json");
    if (index.entries[0].info.size > kMaxManifestSize) {
      Fail("manifest.json has " + std::to_string(index.entries[0].info.size) + " bytes, more than the limit of " +
           std::to_string(kMaxManifestSize));
    }
    std::vector<std::string_view> paths;
    for (std::size_t i = 1; i < index.entries.size(); ++i) paths.push_back(index.entries[i].info.path);
    if (!std::ranges::is_sorted(paths)) Fail("the index is not sorted by path");
    if (const std::string problem = CollisionProblem(paths); !problem.empty()) Fail("member path " + problem);
  }

  const File& file_;
  std::uint64_t start_ = 0;  // of the index's skippable frame
};

}  // namespace

Index ReadIndex(const File& file) { return IndexReader(file).Read(); }

}  // namespace mconnect
