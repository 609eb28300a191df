// Reading a bundle: a .bundle file or the folder that `unpack` makes of one. docs/bundle-format.md describes both.
#ifndef MCONNECT_BUNDLE_BUNDLE_H_
#define MCONNECT_BUNDLE_BUNDLE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/manifest.h"

namespace mconnect {

// What a bundle says about one of its members, manifest.json included.
struct MemberInfo {
  std::string path;
  std::uint64_t size;  // bytes
  std::string sha256;  // 64 hex digits; empty only in a folder without sha256sums, for a member with a build key
};

// An open bundle. Immutable: any number of threads may use one.
class Bundle {
 public:
  // Receives consecutive or parallel pieces of a member: `data` belongs at `offset` of it. May be called by several
  // threads at once, for pieces that do not overlap. An exception stops the read and reaches the caller.
  using Sink = std::function<void(std::size_t member, std::uint64_t offset, std::span<const std::byte> data)>;

  // Reads the index and the manifest only. Throws Error: kNotFound (no such file), kIo, kCorrupt (names what is wrong),
  // kUnsupported (a newer format).
  static std::shared_ptr<const Bundle> Open(const std::filesystem::path& path);

  virtual ~Bundle() = default;

  // Where it was opened.
  const std::filesystem::path& path() const noexcept { return path_; }

  // sha256 of manifest.json, 64 hex digits.
  const std::string& id() const noexcept { return id_; }

  const Manifest& manifest() const noexcept { return manifest_; }

  // manifest.json first, the rest sorted by path.
  const std::vector<MemberInfo>& members() const noexcept { return members_; }

  // Throws Error(kNotFound) that names the bundle.
  const MemberInfo& member(std::string_view path) const { return members_[IndexOf(path)]; }

  // The whole of a member, its digest checked. Throws Error(kResourceExhausted) when it is larger than `limit` bytes.
  std::string Read(std::string_view path, std::uint64_t limit = kReadLimit) const;

  // The text of an asset by its name in the manifest: `Asset("tokenizer")`.
  std::string Asset(std::string_view name) const { return Read(manifest_.asset(name)); }

  // Passes members, given by their positions in members(), to `sink` and checks their digests. `threads`: 0 = one per
  // core. Throws Error(kCorrupt) when a digest or the format is wrong: what the sink got is then worthless.
  virtual void Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads = 0) const = 0;

  // Reads everything once and checks every promise of the format; `watch`, if any, sees what Stream() would give it.
  // Throws Error(kCorrupt) that names the first member that is damaged.
  virtual void Verify(std::size_t threads = 0, const Sink& watch = nullptr) const = 0;

  // The file that holds a member as it is, when the bundle is a folder; else empty.
  virtual std::filesystem::path FileOf(std::string_view path) const = 0;

  static constexpr std::uint64_t kReadLimit = std::uint64_t{1} << 30;

 protected:
  explicit Bundle(std::filesystem::path path) : path_(std::move(path)) {}

  std::size_t IndexOf(std::string_view path) const;

  std::filesystem::path path_;
  std::string id_;
  Manifest manifest_;
  std::vector<MemberInfo> members_;
};

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_BUNDLE_H_
