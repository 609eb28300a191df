#include "runtime/bundle/archive.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/bundle/format.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;
using namespace testing_bundle;  // NOLINT

constexpr std::size_t kXml = 4;  // modules/encoder/openvino.xml, 700 bytes

// The tar stream of a member of one frame.
std::string Stream(const std::string& path, const std::string& content) {
  const auto header = TarHeader(path, content.size());
  std::string stream = std::string(header.data(), header.size()) + content;
  stream.resize(TarSize(content.size()));
  return stream;
}

// The same for the member kXml as it is, with `bytes` put at an offset.
std::string XmlStreamWith(const Parts& parts, std::size_t offset, std::string_view bytes) {
  const std::string path = parts.index["members"][kXml]["path"];
  std::string content;
  for (int i = 0; i < 100; ++i) content += "<net/>\n";
  std::string stream = Stream(path, content);
  return stream.replace(offset, bytes.size(), bytes);
}

struct Case {
  const char* name;
  std::function<void(Parts&)> change;
  const char* message;
};

void SetXml(Parts& p, std::size_t offset, std::string_view bytes) {
  p.SetFrame(kXml, 0, Compress(XmlStreamWith(p, offset, bytes)));
}

const Case kCases[] = {
    {"HeaderOfAnotherName", [](Parts& p) { SetXml(p, 0, "modules/encoder/openvino.xmm"); }, "tar header differs"},
    {"HeaderThatEscapes", [](Parts& p) { SetXml(p, 0, "../"); }, "tar header differs"},
    {"HeaderOfAnotherSize", [](Parts& p) { SetXml(p, 124, "00000000001"); }, "tar header differs"},
    {"HeaderOfASymbolicLink", [](Parts& p) { SetXml(p, 156, "2"); }, "tar header differs"},
    {"HeaderWithModeSetuid", [](Parts& p) { SetXml(p, 100, "0004755"); }, "tar header differs"},
    {"HeaderWithPrefix", [](Parts& p) { SetXml(p, 345, "/etc"); }, "tar header differs"},
    {"HeaderChecksum", [](Parts& p) { SetXml(p, 148, "9"); }, "tar header differs"},
    {"Padding", [](Parts& p) { SetXml(p, 512 + 700, "x"); }, "padding is not zero"},
    {"Content", [](Parts& p) { SetXml(p, 512, "x"); }, "digest is wrong"},
    {"DigestOfTheIndex", [](Parts& p) { p.index["members"][kXml]["sha256"] = Sha256Hex(""); },
     "not what the index says"},
    {"FrameWithoutChecksum", [](Parts& p) { p.SetFrame(kXml, 0, Compress(XmlStreamWith(p, 0, ""), false)); },
     "not one zstd frame"},
    {"FrameWithoutSize", [](Parts& p) { p.SetFrame(kXml, 0, Compress(XmlStreamWith(p, 0, ""), true, false)); },
     "not one zstd frame"},
    {"FrameThatIsABomb", [](Parts& p) { p.SetFrame(kXml, 0, Compress(std::string(256 << 20, '\0'))); }, ""},
    {"FrameLonger", [](Parts& p) { p.SetFrame(kXml, 0, Compress(XmlStreamWith(p, 0, "") + std::string(512, '\0'))); },
     "not one zstd frame"},
    {"FrameShorter", [](Parts& p) { p.SetFrame(kXml, 0, Compress(XmlStreamWith(p, 0, "").substr(512))); },
     "not one zstd frame"},
    {"FrameThatIsTwo", [](Parts& p) { p.SetFrame(kXml, 0, Compress(XmlStreamWith(p, 0, "")) + Compress("")); },
     "not one zstd frame"},
    {"FrameInHalves",
     [](Parts& p) {
       const std::string stream = XmlStreamWith(p, 0, "");
       p.SetFrame(kXml, 0, Compress(stream.substr(0, 512)) + Compress(stream.substr(512)));
     },
     "not one zstd frame"},
    {"FrameSkippable", [](Parts& p) { p.SetFrame(kXml, 0, std::string("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12)); },
     "not one zstd frame"},
    {"FrameOfOneByte", [](Parts& p) { p.SetFrame(kXml, 0, "\x28"); }, "not one zstd frame"},
    {"FrameEmptyMagic", [](Parts& p) { p.SetFrame(kXml, 0, "\x28\xb5\x2f\xfd"); }, "not one zstd frame"},
    {"FrameWithDictionary",
     [](Parts& p) {
       std::string frame = p.frames[kXml][0];
       frame[4] = static_cast<char>(frame[4] | 1);
       frame.insert(5, "\x07");
       p.SetFrame(kXml, 0, frame);
     },
     ""},
    {"FrameOfAnotherMember", [](Parts& p) { p.SetFrame(kXml, 0, p.frames[3][0]); }, "not one zstd frame"},
    {"EndOfAnotherSize",
     [](Parts& p) {
       p.end = Compress(std::string(512, '\0'));
       p.index["end"] = p.end.size();
     },
     "not one zstd frame"},
    {"EndNotZero",
     [](Parts& p) {
       p.end = Compress(std::string(1024, 'x'));
       p.index["end"] = p.end.size();
     },
     "end of the tar is not zero"},
    {"ManifestOfAnotherDigest", [](Parts& p) { p.index["members"][0]["sha256"] = Sha256Hex(""); }, "digest is wrong"},
    {"ManifestNotJson", [](Parts& p) { p.SetManifest("hello\n"); }, "manifest.json: is not valid JSON"},
    {"ManifestWithUnknownKey",
     [](Parts& p) {
       p.manifest["surprise"] = 1;
       p.SetManifest();
     },
     "unknown key \"surprise\""},
    {"ManifestWithSpaces", [](Parts& p) { p.SetManifest(p.manifest.dump(1) + "\n"); }, "not canonical"},
    {"ManifestWithFewerMembers",
     [](Parts& p) {
       p.manifest["assets"] = Json::object();
       p.manifest["members"].erase(0);
       p.SetManifest();
     },
     "lists 4 members, the index 5"},
    {"ManifestWithMoreMembers",
     [](Parts& p) {
       p.manifest["members"].push_back({{"path", "x"}, {"size", 0}, {"sha256", Sha256Hex("")}});
       p.SetManifest();
     },
     "lists 6 members, the index 5"},
    {"ManifestWithAnotherSize",
     [](Parts& p) {
       p.manifest["members"][0]["size"] = 1;
       p.SetManifest();
     },
     "not what the index says"},
    {"ManifestWithAnotherMemberDigest",
     [](Parts& p) {
       p.manifest["members"][0]["sha256"] = Sha256Hex("");
       p.SetManifest();
     },
     "not what the index says"},
    {"MemberRenamed", [](Parts& p) { p.Set(kXml, "modules/encoder/openvino.xmm", "x"); }, "not what the index says"},
};

class ArchiveTest : public FolderTest {
 protected:
  ErrorCode Refuse(const std::string& content, std::string_view message) {
    WriteAll(folder_ / "x.bundle", content);
    return CodeOf([&] { Bundle::Open(folder_ / "x.bundle")->Verify(1); }, message);
  }

  // True when the file is refused, with a code that blames the file; false when it verifies and holds what `good`
  // holds.
  bool IsRefusedOrEqual(const std::string& content, const Bundle& good) {
    WriteAll(folder_ / "x.bundle", content);
    try {
      const auto bundle = Bundle::Open(folder_ / "x.bundle");
      bundle->Verify(1);
      EXPECT_EQ(bundle->id(), good.id());
      for (const MemberInfo& info : good.members()) EXPECT_EQ(bundle->Read(info.path), good.Read(info.path));
      return false;
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::kCorrupt || e.code() == ErrorCode::kUnsupported) << e.what();
      return true;
    }
  }
};

class HostileArchiveTest : public ArchiveTest, public testing::WithParamInterface<Case> {};

TEST_P(HostileArchiveTest, IsRefused) {
  Parts parts = Parts::Of(Small());
  GetParam().change(parts);
  EXPECT_EQ(Refuse(parts.Assemble(), GetParam().message), ErrorCode::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(All, HostileArchiveTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(ArchiveTest, RefusesANewerManifestAndSaysWhatToDo) {
  Parts parts = Parts::Of(Small());
  parts.manifest["format"] = 2;
  parts.SetManifest();
  EXPECT_EQ(Refuse(parts.Assemble(), "format is 2, this build reads format 1"), ErrorCode::kUnsupported);
}

TEST_F(ArchiveTest, ReadsOnWhenItsFileIsRemovedOrAnotherTakesItsPlace) {
  const fs::path path = folder_ / "x.bundle";
  fs::copy_file(Large(), path);
  const ArchiveBundle bundle(path);
  fs::copy_file(Small(), folder_ / "other");
  fs::rename(folder_ / "other", path);
  bundle.Verify(2, nullptr);
  fs::remove(path);
  bundle.Verify(2, nullptr);
}

TEST_F(ArchiveTest, SaysThatItsFileWasOverwrittenWhileItWasRead) {
  const fs::path path = folder_ / "x.bundle";
  WriteAll(path, ReadAll(Large()));
  const ArchiveBundle bundle(path);
  const ArchiveBundle shortened(path);
  std::string bytes = ReadAll(Large());
  bytes[9 << 20] ^= 1;
  WriteAll(path, bytes);
  EXPECT_EQ(CodeOf([&] { bundle.Verify(2, nullptr); }, "x.bundle: was changed while it was read: member"),
            ErrorCode::kCorrupt);
  WriteAll(path, bytes.substr(0, 1 << 20));
  try {
    shortened.Verify(2, nullptr);
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error& e) {
    EXPECT_NE(e.remedy().find("changed while it was read"), std::string::npos) << e.what();
  }
}

TEST_F(ArchiveTest, VerifyReadsTheFileOnceAndShowsEveryByte) {
  const ArchiveBundle bundle(Large());
  const std::uint64_t opened = bundle.bytes_read();
  std::atomic<std::uint64_t> seen = 0;
  bundle.Verify(2, [&](std::size_t, std::uint64_t, std::span<const std::byte> data) { seen += data.size(); });
  std::uint64_t total = 0;
  for (const MemberInfo& info : bundle.members()) total += info.size;
  EXPECT_EQ(seen, total);
  EXPECT_LE(bundle.bytes_read() - opened, fs::file_size(Large()));
}

TEST_F(ArchiveTest, ReadsEveryMember) {
  const ArchiveBundle bundle(Large());
  bundle.Verify(0, nullptr);
  EXPECT_EQ(bundle.id(), Sha256Hex(bundle.Read("manifest.json")));
  for (const MemberInfo& info : bundle.members()) {
    const std::string content = bundle.Read(info.path);
    EXPECT_EQ(content.size(), info.size) << info.path;
    EXPECT_EQ(Sha256Hex(content), info.sha256) << info.path;
  }
}

TEST_F(ArchiveTest, StreamsInPiecesThatTileEachMember) {
  const ArchiveBundle bundle(Large());
  for (const std::size_t threads : {1, 4}) {
    std::mutex mutex;
    std::vector<std::size_t> all(bundle.members().size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    std::vector<std::map<std::uint64_t, std::uint64_t>> pieces(all.size());
    bundle.Stream(
        all,
        [&](std::size_t member, std::uint64_t offset, std::span<const std::byte> data) {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(pieces[member].emplace(offset, data.size()).second);
        },
        threads);
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::uint64_t end = 0;
      for (const auto& [offset, size] : pieces[i]) {
        EXPECT_EQ(offset, end);
        end += size;
      }
      EXPECT_EQ(end, bundle.members()[i].size);
    }
  }
}

TEST_F(ArchiveTest, OpeningReadsTheEndAndTheManifestOnly) {
  const ArchiveBundle bundle(Large());
  EXPECT_GT(std::filesystem::file_size(Large()), std::uint64_t{12} << 20);
  EXPECT_LT(bundle.bytes_read(), 70000u);
}

TEST_F(ArchiveTest, ReadingAMemberReadsNoOther) {
  const ArchiveBundle bundle(Large());
  const std::uint64_t before = bundle.bytes_read();
  bundle.Read("assets/tokenizer.json");
  EXPECT_LT(bundle.bytes_read() - before, 1000u);
}

TEST_F(ArchiveTest, StopsAtTheSinksException) {
  const ArchiveBundle bundle(Large());
  std::vector<std::size_t> all(bundle.members().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const auto sink = [](std::size_t, std::uint64_t offset, std::span<const std::byte>) {
    if (offset > 0) throw Error(ErrorCode::kCancelled, "enough");
  };
  for (const std::size_t threads : {1, 4}) {
    EXPECT_EQ(CodeOf([&] { bundle.Stream(all, sink, threads); }, "enough"), ErrorCode::kCancelled);
  }
  bundle.Verify(2, nullptr);  // and can be used again
}

TEST_F(ArchiveTest, DamageInALaterFrameStopsAllThreads) {
  std::string bytes = ReadAll(Large());
  bytes[9 << 20] ^= 1;  // in the third frame of a member that hardly compresses
  WriteAll(folder_ / "x.bundle", bytes);
  const auto bundle = Bundle::Open(folder_ / "x.bundle");
  for (const std::size_t threads : {1, 2, 8}) {
    EXPECT_EQ(CodeOf([&] { bundle->Verify(threads); }, "frame 2"), ErrorCode::kCorrupt);
  }
  EXPECT_NO_THROW(bundle->Read("assets/tokenizer.json"));
}

TEST_F(ArchiveTest, ManyThreadsShareOneBundle) {
  const ArchiveBundle bundle(Small());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(bundle.Read("modules/encoder/openvino.xml").size(), 700u);
    });
  }
}

// Every byte, changed in three ways: refused, or of no consequence (a few bits of a zstd frame carry no meaning).
TEST_F(ArchiveTest, SurvivesAChangeOfAnyByte) {
  const std::string good = ReadAll(Small());
  const ArchiveBundle bundle(Small());
  std::size_t refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ mask);
      refused += IsRefusedOrEqual(bad, bundle);
    }
  }
  EXPECT_GT(refused, 3 * good.size() * 99 / 100);
}

// Edits of whole ranges, and edits of the index and the manifest below right digests, so that every check is reached.
TEST_F(ArchiveTest, SurvivesRandomEdits) {
  std::mt19937 random(20240601);  // NOLINT: the same edits every time
  const ArchiveBundle bundle(Small());
  const Parts good = Parts::Of(Small());
  const std::string whole = good.Assemble();
  const std::string index = good.index.dump() + "\n";
  const std::string manifest = good.manifest.dump() + "\n";
  const auto edit = [&](std::string text) {
    const std::size_t count = 1 + random() % 3;
    for (std::size_t k = 0; k < count && !text.empty(); ++k) {
      const std::size_t at = random() % text.size();
      const std::size_t length = std::min<std::size_t>(1 + random() % 16, text.size() - at);
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text[at] = "0123456789-\",:[]{}"[random() % 18];
          break;
      }
    }
    return text;
  };
  for (int i = 0; i < 3000; ++i) {
    IsRefusedOrEqual(edit(whole), bundle);
    IsRefusedOrEqual(Seal(good.Body(), edit(index)), bundle);
    Parts parts = good;
    const std::string text = edit(manifest);
    parts.SetManifest(text);
    // A changed manifest may be valid; then it is another bundle, and must be read without a fault.
    WriteAll(folder_ / "x.bundle", parts.Assemble());
    try {
      const auto other = Bundle::Open(folder_ / "x.bundle");
      other->Verify(1);
      EXPECT_EQ(other->id(), Sha256Hex(text));
    } catch (const Error& e) {
      EXPECT_TRUE(e.code() == ErrorCode::kCorrupt || e.code() == ErrorCode::kUnsupported) << e.what();
    }
  }
}

}  // namespace
}  // namespace mconnect
