#include "runtime/bundle/folder.h"

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

}  // namespace
}  // namespace mconnect
