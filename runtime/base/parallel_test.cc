#include "runtime/base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace mconnect {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  for (const std::size_t threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> calls(1000);
    ParallelFor(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    EXPECT_TRUE(std::ranges::all_of(calls, [](const auto& count) { return count == 1; })) << threads;
  }
}

TEST(ParallelFor, ZeroCallsNothing) {
  ParallelFor(0, 4, [](std::size_t) { FAIL(); });
}

TEST(ParallelFor, ThrowsTheFirstExceptionAndStops) {
  std::atomic<int> calls = 0;
  EXPECT_THROW(ParallelFor(100000, 4,
                           [&](std::size_t i) {
                             ++calls;
                             if (i == 10) throw std::runtime_error("ten");
                           }),
               std::runtime_error);
  EXPECT_LT(calls, 100000);
}

TEST(ParallelFor, ABodyMayWaitForSmallerIndices) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::size_t> order;
  ParallelFor(200, 4, [&](std::size_t i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return order.size() == i; });
    order.push_back(i);
    changed.notify_all();
  });
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_EQ(order.size(), 200u);
}

TEST(NumCores, IsPositive) { EXPECT_GE(NumCores(), 1u); }

}  // namespace
}  // namespace mconnect
