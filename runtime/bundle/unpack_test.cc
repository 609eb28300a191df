#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "runtime/bundle/store.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;
using namespace testing_bundle;  // NOLINT

class UnpackTest : public FolderTest {
 protected:
  static std::vector<std::string> EntriesOf(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }
};

TEST_F(UnpackTest, WritesTheMembersAndTheirDigests) {
  const auto bundle = Bundle::Open(Small());
  Unpack(*bundle, folder_ / "new");
  std::vector<std::string> expected = {"sha256sums"};
  std::string digests;
  for (const MemberInfo& info : bundle->members()) {
    expected.push_back(info.path);
    digests += info.sha256 + "  " + info.path + "\n";
  }
  std::ranges::sort(expected);
  EXPECT_EQ(FilesBelow(folder_ / "new"), expected);
  EXPECT_EQ(ReadAll(folder_ / "new/sha256sums"), digests);
  EXPECT_EQ(EntriesOf(folder_), std::vector<std::string>{"new"});
}

TEST_F(UnpackTest, FilesAreReadOnly) {
  Unpack(*Bundle::Open(Small()), folder_ / "new");
  for (const std::string& name : FilesBelow(folder_ / "new")) {
    EXPECT_EQ(fs::status(folder_ / "new" / name).permissions(), fs::perms{0444}) << name;
  }
}

TEST_F(UnpackTest, FillsAnEmptyFolder) {
  fs::create_directory(folder_ / "empty");
  Unpack(*Bundle::Open(Small()), folder_ / "empty/");
  Bundle::Open(folder_ / "empty")->Verify();
}

TEST_F(UnpackTest, RefusesATargetThatIsNotEmpty) {
  WriteAll(folder_ / "precious", "x");
  const auto bundle = Bundle::Open(Small());
  EXPECT_EQ(CodeOf([&] { Unpack(*bundle, folder_); }, "not an empty folder"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { Unpack(*bundle, folder_ / "precious"); }, "not an empty folder"), ErrorCode::kInvalidArgument);
  EXPECT_EQ(FilesBelow(folder_), std::vector<std::string>{"precious"});
}

TEST_F(UnpackTest, LeavesNothingOfADamagedBundle) {
  std::string bytes = ReadAll(Large());
  bytes[9 << 20] ^= 1;
  WriteAll(folder_ / "bad.bundle", bytes);
  EXPECT_EQ(CodeOf([&] { Unpack(*Bundle::Open(folder_ / "bad.bundle"), folder_ / "new"); }), ErrorCode::kCorrupt);
  EXPECT_EQ(EntriesOf(folder_), std::vector<std::string>{"bad.bundle"});
}

TEST_F(UnpackTest, RemovesWhatADeadProcessLeft) {
  fs::create_directories(folder_ / ".new.mconnect-a1B2c3/assets");
  WriteAll(folder_ / ".new.mconnect-a1B2c3/assets/tokenizer.json", "half");
  Unpack(*Bundle::Open(Small()), folder_ / "new");
  EXPECT_EQ(EntriesOf(folder_), std::vector<std::string>{"new"});
}

TEST_F(UnpackTest, TouchesNothingElseBesideTheTarget) {
  fs::create_directory(folder_ / "new.partial");
  WriteAll(folder_ / "new.partial/mine.txt", "precious");
  fs::create_directory(folder_ / ".new.mconnect-locked");
  const int other = ::open((folder_ / ".new.mconnect-locked").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);  // a process that is still unpacking
  Unpack(*Bundle::Open(Small()), folder_ / "new");
  EXPECT_EQ(ReadAll(folder_ / "new.partial/mine.txt"), "precious");
  EXPECT_TRUE(fs::exists(folder_ / ".new.mconnect-locked"));
  ::close(other);
}

TEST_F(UnpackTest, NamesAParentThatDoesNotExist) {
  const auto bundle = Bundle::Open(Small());
  EXPECT_EQ(CodeOf([&] { Unpack(*bundle, folder_ / "absent/new"); },
                   "new: the folder " + (folder_ / "absent").string() + " does not exist"),
            ErrorCode::kNotFound);
  EXPECT_EQ(EntriesOf(folder_), std::vector<std::string>{});
}

TEST_F(UnpackTest, OfManyAtOnceOneWinsAndTheOthersFindItsFolder) {
  const auto bundle = Bundle::Open(Small());
  for (int round = 0; round < 10; ++round) {
    const fs::path target = folder_ / ("new" + std::to_string(round));
    std::atomic<int> won = 0;
    {
      std::vector<std::jthread> racers;
      for (int i = 0; i < 8; ++i) {
        racers.emplace_back([&] {
          try {
            Unpack(*bundle, target);
            ++won;
          } catch (const Error& e) {
            EXPECT_NE(e.message().find("not an empty folder"), std::string::npos) << e.message();
          }
        });
      }
    }
    EXPECT_EQ(won, 1);
    Bundle::Open(target)->Verify();
  }
  EXPECT_EQ(EntriesOf(folder_).size(), 10u);
}

TEST_F(UnpackTest, UnpacksAFolderToo) {
  Unpack(*Bundle::Open(Large()), folder_ / "a");
  Unpack(*Bundle::Open(folder_ / "a"), folder_ / "b");
  Bundle::Open(folder_ / "b")->Verify();
  EXPECT_EQ(FilesBelow(folder_ / "a"), FilesBelow(folder_ / "b"));
}

}  // namespace
}  // namespace mconnect
