#include "runtime/engine/openvino/residency.h"

#include <sys/mman.h>

#include <chrono>

namespace mconnect {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(2);

}  // namespace

ResidencyGuard::ResidencyGuard(const void* mapping, std::size_t size)
    : mapping_(const_cast<void*>(mapping)), size_(size) {
  if (mapping_ == nullptr || size_ == 0) return;
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kPeriod, [this] { return done_; })) Release();
  });
}

ResidencyGuard::~ResidencyGuard() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
  Release();
}

// MADV_DONTNEED is safe on a private mapping that nobody writes: the next access maps the file's page again.
void ResidencyGuard::Release() const noexcept { ::madvise(mapping_, size_, MADV_DONTNEED); }

}  // namespace mconnect
