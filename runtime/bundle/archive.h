// A bundle file.
#ifndef MCONNECT_BUNDLE_ARCHIVE_H_
#define MCONNECT_BUNDLE_ARCHIVE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/index.h"

namespace mconnect {

class ArchiveBundle : public Bundle {
 public:
  explicit ArchiveBundle(const std::filesystem::path& path);
  ~ArchiveBundle() override;

  void Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const override;
  void Verify(std::size_t threads, const Sink& watch) const override;
  std::filesystem::path FileOf(std::string_view) const override { return {}; }

  // Bytes of the file read so far, by all calls together.
  std::uint64_t bytes_read() const noexcept { return file_.bytes_read(); }

 private:
  struct Scratch;  // buffers and a zstd context

  std::unique_ptr<Scratch> TakeScratch() const;
  void ReturnScratch(std::unique_ptr<Scratch> scratch) const;

  // The content of a frame, in the scratch's buffer. `what` names the frame in messages.
  std::span<const std::byte> Decompress(const Frame& frame, Scratch& scratch, const std::string& what) const;

  // The part of a member's content that its frame number `number` holds: without header and padding, which are checked.
  std::span<const std::byte> Content(const IndexEntry& entry, std::size_t number, Scratch& scratch) const;

  void CheckManifest() const;
  [[noreturn]] void Fail(const std::string& what) const;

  File file_;
  Index index_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;  // of threads that are done, for the next ones
};

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_ARCHIVE_H_
