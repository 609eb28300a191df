#include "runtime/base/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mconnect {
namespace {

class LogTest : public testing::Test {
 protected:
  void TearDown() override { SetLogSink(nullptr); }
};

TEST_F(LogTest, IsSilentByDefault) { Log(LogLevel::kWarning, "nobody listens"); }

TEST_F(LogTest, ReachesTheSinkWithItsLevel) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel level, std::string_view message) {
    lines.push_back(std::to_string(static_cast<int>(level)) + std::string(message));
  });
  Log(LogLevel::kDebug, "a");
  Log(LogLevel::kWarning, "b");
  SetLogSink(nullptr);
  Log(LogLevel::kInfo, "c");
  EXPECT_EQ(lines, (std::vector<std::string>{"0a", "2b"}));
}

TEST_F(LogTest, DropsTheSinksExceptions) {
  SetLogSink([](LogLevel, std::string_view) { throw std::runtime_error("full disk"); });
  Log(LogLevel::kInfo, "message");
}

TEST_F(LogTest, ASinkMayLogAndReplaceItself) {
  int calls = 0;
  SetLogSink([&](LogLevel, std::string_view) {
    if (++calls == 1) Log(LogLevel::kInfo, "again");
    SetLogSink(nullptr);
  });
  Log(LogLevel::kInfo, "first");
  EXPECT_EQ(calls, 2);
}

TEST_F(LogTest, IsSafeWhileTheSinkIsReplaced) {
  std::atomic<int> calls = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        SetLogSink([&](LogLevel, std::string_view) { ++calls; });
        Log(LogLevel::kInfo, "x");
      }
    });
  }
  threads.clear();
  EXPECT_EQ(calls, 4000);
}

}  // namespace
}  // namespace mconnect
