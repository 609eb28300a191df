// The folder form of a bundle.
#ifndef MCONNECT_BUNDLE_FOLDER_H_
#define MCONNECT_BUNDLE_FOLDER_H_

#include <filesystem>
#include <span>
#include <string>

#include "runtime/bundle/bundle.h"

namespace mconnect {

class FolderBundle : public Bundle {
 public:
  explicit FolderBundle(const std::filesystem::path& path);

  void Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const override;
  void Verify(std::size_t threads, const Sink& watch) const override;
  std::filesystem::path FileOf(std::string_view path) const override { return path_ / member(path).path; }

 private:
  void ReadDigests();
  [[noreturn]] void Fail(const std::string& what) const;
};

// The text of sha256sums for a bundle's members, as sha256sum(1) reads it.
std::string DigestsText(std::span<const MemberInfo> members);

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_FOLDER_H_
