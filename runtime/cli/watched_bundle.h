// A bundle that reports how far its reading has come.
#ifndef MCONNECT_RUNTIME_CLI_WATCHED_BUNDLE_H_
#define MCONNECT_RUNTIME_CLI_WATCHED_BUNDLE_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "runtime/bundle/bundle.h"

namespace mconnect::cli {

// Reads as the bundle that it wraps does, and calls `report(done)` with the bytes streamed so far: what the store and
// Unpack() do with a bundle can thus be watched without their knowing. Calls of `report` never overlap and `done` never
// falls.
class WatchedBundle : public Bundle {
 public:
  using Report = std::function<void(std::uint64_t done)>;

  WatchedBundle(std::shared_ptr<const Bundle> bundle, Report report);

  void Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const override;
  void Verify(std::size_t threads, const Sink& watch) const override;
  std::filesystem::path FileOf(std::string_view path) const override { return bundle_->FileOf(path); }

 private:
  Sink Watched(const Sink& sink) const;

  std::shared_ptr<const Bundle> bundle_;
  Report report_;
  mutable std::mutex mutex_;
  mutable std::uint64_t done_ = 0;
};

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_WATCHED_BUNDLE_H_
