#include "runtime/bundle/folder.h"

#include <algorithm>

#include "runtime/bundle/store.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;
using namespace testing_bundle;  // NOLINT

class FolderBundleTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    Unpack(*Bundle::Open(Large()), folder_ / "x");
  }
  std::shared_ptr<const Bundle> Open() const { return Bundle::Open(folder_ / "x"); }
};

TEST_F(FolderBundleTest, IsTheBundle) {
  const auto file = Bundle::Open(Large());
  const auto folder = Open();
  EXPECT_EQ(folder->id(), file->id());
  ASSERT_EQ(folder->members().size(), file->members().size());
  for (std::size_t i = 0; i < file->members().size(); ++i) {
    const MemberInfo& info = file->members()[i];
    EXPECT_EQ(folder->members()[i].path, info.path);
    EXPECT_EQ(folder->members()[i].sha256, info.sha256);
    EXPECT_EQ(folder->Read(info.path), file->Read(info.path));
    EXPECT_EQ(ReadAll(folder->FileOf(info.path)), file->Read(info.path));
  }
  EXPECT_NO_THROW(folder->Verify());
}

TEST_F(FolderBundleTest, WorksWithoutDigestsExceptToVerifyBuildKeys) {
  fs::remove(folder_ / "x/sha256sums");
  EXPECT_EQ(Open()->Read("modules/encoder/tensorrt/example.plan").size(), 5000u);
  EXPECT_EQ(CodeOf([&] { Open()->Verify(); }, "no sha256sums"), ErrorCode::kNotFound);
}

TEST_F(FolderBundleTest, FindsDamageOfEachMember) {
  const auto bundle = Open();
  for (const MemberInfo& info : bundle->members()) {
    const std::string good = ReadAll(folder_ / "x" / info.path);
    std::string bad = good;
    bad[bad.size() / 2] ^= 1;
    WriteAll(folder_ / "x" / info.path, bad);
    EXPECT_EQ(CodeOf([&] { Open()->Verify(); }), ErrorCode::kCorrupt) << info.path;
    WriteAll(folder_ / "x" / info.path, good);
  }
  Open()->Verify();
}

TEST_F(FolderBundleTest, RefusesAMemberOfAnotherSizeOrAbsent) {
  WriteAll(folder_ / "x/assets/tokenizer.json", "short");
  EXPECT_EQ(CodeOf([&] { Open(); }, "'assets/tokenizer.json' has 5 bytes, the manifest says"), ErrorCode::kCorrupt);
  fs::remove(folder_ / "x/assets/tokenizer.json");
  EXPECT_EQ(CodeOf([&] { Open(); }, "assets/tokenizer.json"), ErrorCode::kNotFound);
}

TEST_F(FolderBundleTest, RefusesDigestsOfAnotherBundle) {
  const std::string good = ReadAll(folder_ / "x/sha256sums");
  for (const std::string& bad : {std::string(), good.substr(1), good + "x", std::string(100, 'a')}) {
    WriteAll(folder_ / "x/sha256sums", bad);
    EXPECT_EQ(CodeOf([&] { Open(); }, "sha256sums does not list"), ErrorCode::kCorrupt);
  }
}

TEST_F(FolderBundleTest, RefusesAHostileManifest) {
  std::string text = ReadAll(folder_ / "x/manifest.json");
  text.replace(text.find("assets/tokenizer.json"), 21, "assets/../../etc/pass");
  WriteAll(folder_ / "x/manifest.json", text);
  EXPECT_EQ(CodeOf([&] { Open(); }, "segment of dots"), ErrorCode::kCorrupt);
}

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
