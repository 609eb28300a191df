#include "runtime/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace mconnect {

std::size_t NumCores() noexcept {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());  // more than 1024 cores
}

void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex mutex;
  std::exception_ptr first;
  const auto work = [&] {
    while (!stop) {
      const std::size_t i = next++;
      if (i >= count) return;
      try {
        body(i);
      } catch (...) {
        stop = true;
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    const std::size_t wanted = std::min(count, threads == 0 ? NumCores() : threads);
    try {
      for (std::size_t i = 1; i < wanted; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads to be had: those that there are do the work
    }
    work();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace mconnect
