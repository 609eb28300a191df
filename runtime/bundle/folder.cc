#include "runtime/bundle/folder.h"

#include <algorithm>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/file.h"
#include "runtime/base/parallel.h"
#include "runtime/base/sha256.h"
#include "runtime/bundle/format.h"

namespace mconnect {

FolderBundle::FolderBundle(const std::filesystem::path& path) : Bundle(path) {
  const std::string text = ReadFile(path_ / kManifestPath, kMaxManifestSize);
  id_ = Sha256Hex(text);
  manifest_ = ParseManifest(text);
  members_.push_back({std::string(kManifestPath), text.size(), id_});
  for (const Member& member : manifest_.members) members_.push_back({member.path, member.size, member.sha256});
  for (const MemberInfo& info : members_) {
    const File file(path_ / info.path);
    if (file.size() != info.size) {
      Fail("member '" + info.path + "' has " + std::to_string(file.size()) + " bytes, the manifest says " +
           std::to_string(info.size));
    }
  }
  if (std::filesystem::exists(path_ / kDigestsPath)) ReadDigests();
}

void FolderBundle::Fail(const std::string& what) const {
  throw Error(ErrorCode::kCorrupt, path_.string() + ": " + what, "unpack the bundle again");
}

// Takes the digests of members with a build key from sha256sums, which must agree with the manifest on the others.
void FolderBundle::ReadDigests() {
  const std::string text = ReadFile(path_ / kDigestsPath, kMaxIndexSize);
  std::vector<MemberInfo> complete = members_;
  std::size_t line = 0;
  for (MemberInfo& info : complete) {
    if (info.sha256.empty()) info.sha256 = text.substr(std::min(line, text.size()), 64);
    if (!IsSha256Hex(info.sha256)) break;
    line += 64 + 2 + info.path.size() + 1;
  }
  if (text != DigestsText(complete)) Fail("sha256sums does not list the members of the manifest");
  members_ = std::move(complete);
}

void FolderBundle::Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const {
  ParallelFor(members.size(), threads, [&](std::size_t i) {
    const MemberInfo& info = members_.at(members[i]);
    const File file(path_ / info.path);
    std::vector<std::byte> buffer(std::min(info.size, kFrameContent));
    Sha256 digest;
    for (std::uint64_t offset = 0; offset < info.size; offset += buffer.size()) {
      const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), info.size - offset));
      file.ReadAt(offset, piece);
      if (sink) sink(members[i], offset, piece);
      digest.Update(piece);
    }
    if (file.size() != info.size) Fail("member '" + info.path + "' has changed its size");
    if (!info.sha256.empty() && digest.Hex() != info.sha256) Fail("member '" + info.path + "': the digest is wrong");
  });
}

void FolderBundle::Verify(std::size_t threads, const Sink& watch) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].sha256.empty()) {
      throw Error(
          ErrorCode::kNotFound,
          path_.string() + ": there is no sha256sums, so nothing is known to verify '" + members_[i].path + "' by",
          "unpack the bundle again");
    }
    all.push_back(i);
  }
  Stream(all, watch, threads);
}

std::string DigestsText(std::span<const MemberInfo> members) {
  std::string text;
  for (const MemberInfo& info : members) text += info.sha256 + "  " + info.path + "\n";
  return text;
}

}  // namespace mconnect
