#include "runtime/bundle/bundle.h"

#include "runtime/base/sha256.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

using namespace testing_bundle;  // NOLINT

class BundleTest : public FolderTest {};

TEST_F(BundleTest, OpensWhatTheWriterWrote) {
  const auto bundle = Bundle::Open(Small());
  EXPECT_EQ(bundle->path(), Small());
  EXPECT_EQ(bundle->manifest().name, "example");
  EXPECT_EQ(bundle->id(), Sha256Hex(bundle->Read("manifest.json")));
  ASSERT_EQ(bundle->members().size(), 6u);
  EXPECT_EQ(bundle->members()[0].path, "manifest.json");
  EXPECT_EQ(bundle->Asset("text-embedding"), "{\"max_tokens\":256,\"normalize\":true,\"pooling\":\"mean\"}\n");
  EXPECT_EQ(bundle->FileOf("manifest.json"), "");
  EXPECT_NO_THROW(bundle->Verify());
}

TEST_F(BundleTest, NamesWhatItDoesNotHave) {
  const auto bundle = Bundle::Open(Small());
  EXPECT_EQ(CodeOf([&] { bundle->Read("none"); }, "has no member 'none'"), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { bundle->Read("zzz"); }, "has no member 'zzz'"), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { bundle->Asset("none"); }, "has no asset 'none'"), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { Bundle::Open(folder_ / "none"); }, (folder_ / "none").string()), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { Bundle::Open(folder_); }, "folder without manifest.json"), ErrorCode::kNotFound);
}

TEST_F(BundleTest, ReadHasALimit) {
  const auto bundle = Bundle::Open(Small());
  EXPECT_EQ(bundle->Read("modules/encoder/openvino.xml", 700).size(), 700u);
  EXPECT_EQ(CodeOf([&] { bundle->Read("modules/encoder/openvino.xml", 699); }, "700 bytes, more than the limit of 699"),
            ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace mconnect
