#include "runtime/cli/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "mconnect/error.h"

namespace mconnect::cli {
namespace {

// Standard output goes elsewhere while one lives.
class Redirect {
 public:
  explicit Redirect(int target) : saved_(::dup(STDOUT_FILENO)) { ::dup2(target, STDOUT_FILENO); }
  ~Redirect() {
    ::dup2(saved_, STDOUT_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

TEST(Console, WritesBytesInUnitsThatPeopleRead) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(1023), "1023 B");
  EXPECT_EQ(HumanBytes((1u << 20) - 1), "1.0 MiB");
  EXPECT_EQ(HumanBytes(612), "612 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(std::uint64_t{3} << 30), "3.0 GiB");
}

TEST(Console, DrawsProgressInProportion) {
  EXPECT_EQ(ProgressLine("unpacking", Progress::Unit::kItems, 1, 2),
            "unpacking  [############------------]  50 %  1 of 2");
  EXPECT_EQ(ProgressLine("unpacking", Progress::Unit::kBytes, 4096, 2048),
            "unpacking  [########################]  100 %  4.0 KiB of 2.0 KiB");
}

TEST(Console, TurnsAReaderThatWentAwayIntoBrokenPipe) {
  PrepareStandardStreams();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Redirect redirect(ends[1]);
  ::close(ends[1]);
  EXPECT_THROW(Print("text"), BrokenPipe);
}

TEST(Console, ReportsAFullDiskAsAnError) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  const Redirect redirect(full);
  ::close(full);
  try {
    Print("text");
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kIo);
    EXPECT_NE(e.message().find("standard output"), std::string::npos);
  }
}

TEST(Console, KeepsAClosedOutputFromReachingTheNextFile) {
  const int saved = ::dup(STDOUT_FILENO);
  ::close(STDOUT_FILENO);
  PrepareStandardStreams();
  const int next = ::open("/dev/null", O_WRONLY);
  EXPECT_NE(next, STDOUT_FILENO);
  EXPECT_THROW(Print("text"), Error);
  ::close(next);
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
}

TEST(Console, AsksTheWorkToStopOnTheFirstInterrupt) {
  const InterruptGuard guard;
  EXPECT_FALSE(guard.token().stop_requested());
  std::raise(SIGINT);
  while (!guard.token().stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ConsoleDeathTest, EndsTheProgramOnTheSecondInterrupt) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::ExitedWithCode(kInterrupted), "");
}

}  // namespace
}  // namespace mconnect::cli
