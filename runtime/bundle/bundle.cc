#include "runtime/bundle/bundle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "mconnect/error.h"
#include "runtime/bundle/archive.h"
#include "runtime/bundle/folder.h"
#include "runtime/bundle/format.h"

namespace mconnect {

std::shared_ptr<const Bundle> Bundle::Open(const std::filesystem::path& path) {
  std::error_code error;  // whatever it is, the open below reports it
  if (std::filesystem::is_directory(path, error)) {
    if (!std::filesystem::exists(path / kManifestPath, error)) {
      throw Error(ErrorCode::kNotFound,
                  path.string() + ": is a folder without manifest.json, so not an unpacked bundle");
    }
    return std::make_shared<const FolderBundle>(path);
  }
  return std::make_shared<const ArchiveBundle>(path);
}

std::size_t Bundle::IndexOf(std::string_view path) const {
  if (path == kManifestPath) return 0;
  const auto found = std::lower_bound(members_.begin() + 1, members_.end(), path,
                                      [](const MemberInfo& info, std::string_view p) { return info.path < p; });
  if (found == members_.end() || found->path != path) {
    throw Error(ErrorCode::kNotFound, path_.string() + ": has no member '" + std::string(path) + "'");
  }
  return static_cast<std::size_t>(found - members_.begin());
}

std::string Bundle::Read(std::string_view path, std::uint64_t limit) const {
  const std::size_t position = IndexOf(path);
  const MemberInfo& info = members_[position];
  if (info.size > limit) {
    throw Error(ErrorCode::kResourceExhausted, path_.string() + ": member '" + info.path + "' has " +
                                                   std::to_string(info.size) + " bytes, more than the limit of " +
                                                   std::to_string(limit));
  }
  std::string content;
  try {
    content.resize(info.size);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kResourceExhausted, path_.string() + ": no memory for the " + std::to_string(info.size) +
                                                   " bytes of member '" + info.path + "'");
  }
  const std::array<std::size_t, 1> members = {position};
  Stream(members, [&](std::size_t, std::uint64_t offset, std::span<const std::byte> data) {
    std::memcpy(content.data() + offset, data.data(), data.size());
  });
  return content;
}

}  // namespace mconnect
