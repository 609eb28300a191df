#include <algorithm>

#include "runtime/bundle/store.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;
using namespace testing_bundle;  // NOLINT

class UnpackTest : public FolderTest {};

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
  EXPECT_FALSE(fs::exists(folder_ / "new.partial"));
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
  EXPECT_EQ(FilesBelow(folder_), std::vector<std::string>{"bad.bundle"});
  EXPECT_FALSE(fs::exists(folder_ / "new"));
  EXPECT_FALSE(fs::exists(folder_ / "new.partial"));
}

TEST_F(UnpackTest, TakesOverWhatADeadProcessLeft) {
  fs::create_directories(folder_ / "new.partial/assets");
  WriteAll(folder_ / "new.partial/assets/tokenizer.json", "half");
  Unpack(*Bundle::Open(Small()), folder_ / "new");
  Bundle::Open(folder_ / "new")->Verify();
}

TEST_F(UnpackTest, UnpacksAFolderToo) {
  Unpack(*Bundle::Open(Large()), folder_ / "a");
  Unpack(*Bundle::Open(folder_ / "a"), folder_ / "b");
  Bundle::Open(folder_ / "b")->Verify();
  EXPECT_EQ(FilesBelow(folder_ / "a"), FilesBelow(folder_ / "b"));
}

}  // namespace
}  // namespace mconnect
