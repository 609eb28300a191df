#include "runtime/cli/watched_bundle.h"

#include <utility>

namespace mconnect::cli {

WatchedBundle::WatchedBundle(std::shared_ptr<const Bundle> bundle, Report report)
    : Bundle(bundle->path()), bundle_(std::move(bundle)), report_(std::move(report)) {
  id_ = bundle_->id();
  manifest_ = bundle_->manifest();
  members_ = bundle_->members();
}

Bundle::Sink WatchedBundle::Watched(const Sink& sink) const {
  return [this, &sink](std::size_t member, std::uint64_t offset, std::span<const std::byte> data) {
    if (sink) sink(member, offset, data);
    const std::lock_guard lock(mutex_);
    report_(done_ += data.size());
  };
}

void WatchedBundle::Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const {
  bundle_->Stream(members, Watched(sink), threads);
}

void WatchedBundle::Verify(std::size_t threads, const Sink& watch) const { bundle_->Verify(threads, Watched(watch)); }

}  // namespace mconnect::cli
