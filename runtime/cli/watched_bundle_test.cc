#include "runtime/cli/watched_bundle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace mconnect::cli {
namespace {

// A bundle in memory whose every member arrives in pieces of `kPiece` zero bytes, from as many threads as there are
// members.
class FakeBundle : public Bundle {
 public:
  static constexpr std::size_t kPiece = 100;

  explicit FakeBundle(std::vector<MemberInfo> members) : Bundle("fake.bundle") {
    id_ = "id";
    members_ = std::move(members);
  }

  void Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t) const override {
    std::vector<std::jthread> threads;
    for (const std::size_t i : members) {
      threads.emplace_back([this, i, &sink] {
        const std::array<std::byte, kPiece> piece{};
        for (std::uint64_t at = 0; at < members_[i].size; at += kPiece) {
          sink(i, at, std::span(piece).first(std::min<std::size_t>(kPiece, members_[i].size - at)));
        }
      });
    }
  }

  void Verify(std::size_t threads, const Sink& watch) const override {
    const std::array<std::size_t, 2> both = {0, 1};
    Stream(both, watch, threads);
    ++verified;
  }
  std::filesystem::path FileOf(std::string_view path) const override { return path; }

  mutable int verified = 0;
};

TEST(WatchedBundle, CountsTheBytesOfEveryThread) {
  const auto inner =
      std::make_shared<FakeBundle>(std::vector<MemberInfo>{{"a", 1050, ""}, {"b", 20000, ""}, {"c", 0, ""}});
  std::vector<std::uint64_t> reports;
  const WatchedBundle watched(inner, [&](std::uint64_t done) { reports.push_back(done); });
  const std::array<std::size_t, 3> all = {0, 1, 2};
  std::atomic<std::uint64_t> received = 0;
  watched.Stream(
      all, [&](std::size_t, std::uint64_t, std::span<const std::byte> data) { received += data.size(); }, 0);
  EXPECT_EQ(received, 21050u);
  ASSERT_EQ(reports.size(), 211u);
  EXPECT_EQ(reports.back(), 21050u);
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
}

TEST(WatchedBundle, IsTheBundleThatItWraps) {
  const auto inner =
      std::make_shared<FakeBundle>(std::vector<MemberInfo>{{"manifest.json", 1, ""}, {"a", 1, "digest"}});
  const WatchedBundle watched(inner, [](std::uint64_t) {});
  EXPECT_EQ(watched.path(), "fake.bundle");
  EXPECT_EQ(watched.id(), "id");
  EXPECT_EQ(watched.member("a").sha256, "digest");
  EXPECT_EQ(watched.FileOf("a"), "a");
}

TEST(WatchedBundle, VerifyingReadsOnceAndReportsEveryByte) {
  const auto inner =
      std::make_shared<FakeBundle>(std::vector<MemberInfo>{{"manifest.json", 250, ""}, {"a", 300, "digest"}});
  std::vector<std::uint64_t> reports;
  const WatchedBundle watched(inner, [&](std::uint64_t done) { reports.push_back(done); });
  std::atomic<std::uint64_t> received = 0;
  watched.Verify(0, [&](std::size_t, std::uint64_t, std::span<const std::byte> data) { received += data.size(); });
  EXPECT_EQ(inner->verified, 1);
  EXPECT_EQ(received, 550u);
  EXPECT_EQ(reports.back(), 550u);
  watched.Verify(0, nullptr);
  EXPECT_EQ(reports.back(), 1100u);
}

}  // namespace
}  // namespace mconnect::cli
