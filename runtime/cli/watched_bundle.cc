#include "runtime/cli/watched_bundle.h"

#include <utility>

namespace mconnect::cli {

WatchedBundle::WatchedBundle(std::shared_ptr<const Bundle> bundle, Report report)
    : Bundle(bundle->path()), bundle_(std::move(bundle)), report_(std::move(report)) {
  id_ = bundle_->id();
  manifest_ = bundle_->manifest();
  members_ = bundle_->members();
}

void WatchedBundle::Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const {
  const auto watch = [&](std::size_t member, std::uint64_t offset, std::span<const std::byte> data) {
    sink(member, offset, data);
    const std::lock_guard lock(mutex_);
    report_(done_ += data.size());
  };
  bundle_->Stream(members, watch, threads);
}

}  // namespace mconnect::cli
