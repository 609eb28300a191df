#include "runtime/bundle/index.h"

#include "runtime/bundle/archive.h"
#include "runtime/bundle/format.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

using namespace testing_bundle;  // NOLINT

// A change to a valid index, what the refusal must mention, and its code.
struct Case {
  const char* name;
  std::function<void(Parts&)> change;
  const char* message;
};

Json& Entry(Parts& parts, std::size_t i) { return parts.index["members"][i]; }
Json& First(Parts& parts) { return Entry(parts, 1); }

void SetPath(Parts& parts, const std::string& path) { First(parts)["path"] = path; }

const Case kCases[] = {
    {"UnknownKey", [](Parts& p) { p.index["surprise"] = 1; }, "unknown key \"surprise\""},
    {"UnknownKeyOfAMember", [](Parts& p) { First(p)["mode"] = 1; }, "members[1]: unknown key \"mode\""},
    {"MissingEnd", [](Parts& p) { p.index.erase("end"); }, "the key 'end' is missing"},
    {"MissingMembers", [](Parts& p) { p.index.erase("members"); }, "the key 'members' is missing"},
    {"MissingPath", [](Parts& p) { First(p).erase("path"); }, "the key 'path' is missing"},
    {"MissingDigest", [](Parts& p) { First(p).erase("sha256"); }, "the key 'sha256' is missing"},
    {"AnotherFormat", [](Parts& p) { p.index["format"] = 2; }, "format: expected an integer from 1 to 1"},
    {"FormatOfAnotherType", [](Parts& p) { p.index["format"] = "1"; }, "format: expected an integer"},
    {"NotAnObject", [](Parts& p) { p.index = Json::array(); }, "expected an object"},
    {"NoMembers", [](Parts& p) { p.index["members"] = Json::array(); }, ""},
    {"DeepJson", [](Parts& p) { p.index["end"] = Json::parse(std::string(60, '[') + std::string(60, ']')); },
     "deeper than 4"},
    {"PathUpwards", [](Parts& p) { SetPath(p, "../evil"); }, "segment of dots"},
    {"PathUpwardsInside", [](Parts& p) { SetPath(p, "assets/../../evil"); }, "segment of dots"},
    {"PathAbsolute", [](Parts& p) { SetPath(p, "/etc/passwd"); }, "empty segment"},
    {"PathDot", [](Parts& p) { SetPath(p, "./a"); }, "segment of dots"},
    {"PathBackslash", [](Parts& p) { SetPath(p, "assets\\..\\evil"); }, "character outside"},
    {"PathDrive", [](Parts& p) { SetPath(p, "C:evil"); }, "character outside"},
    {"PathNul", [](Parts& p) { SetPath(p, std::string("assets/a\0b", 10)); }, "character outside"},
    {"PathUnicode", [](Parts& p) { SetPath(p, "assets/\u2215"); }, "character outside"},
    {"PathEmpty", [](Parts& p) { SetPath(p, ""); }, "empty segment"},
    {"PathFolder", [](Parts& p) { SetPath(p, "assets/"); }, "empty segment"},
    {"PathLong", [](Parts& p) { SetPath(p, std::string(256, 'a')); }, "256 characters"},
    {"PathUnsplittable", [](Parts& p) { SetPath(p, std::string(101, 'a')); }, "cannot be split"},
    {"PathReserved", [](Parts& p) { SetPath(p, "manifest.json"); }, ""},
    {"PathTwice", [](Parts& p) { SetPath(p, Entry(p, 2)["path"]); }, "differ only in case"},
    {"PathTwiceInAnotherCase", [](Parts& p) { SetPath(p, "assets/TOKENIZER.json"); }, "differ only in case"},
    {"PathThatIsAFolder", [](Parts& p) { SetPath(p, "assets"); }, "is a folder of"},
    {"PathNotSorted", [](Parts& p) { std::swap(Entry(p, 1)["path"], Entry(p, 2)["path"]); }, "not sorted"},
    {"ManifestNotFirst", [](Parts& p) { Entry(p, 0)["path"] = "a"; }, "first member is not manifest.json"},
    {"SizeNegative", [](Parts& p) { First(p)["size"] = -1; }, "size: expected an integer from 0"},
    {"SizeAbsurd", [](Parts& p) { First(p)["size"] = (std::int64_t{1} << 40) + 1; },
     "size: expected an integer from 0"},
    {"SizeOver64Bits", [](Parts& p) { First(p)["size"] = 1e30; }, "size: expected an integer"},
    {"SizeOfAnotherType", [](Parts& p) { First(p)["size"] = "1"; }, "size: expected an integer"},
    {"SizeBeyondItsFrames", [](Parts& p) { First(p)["size"] = std::int64_t{1} << 40; }, "has 1 frames"},
    {"ManifestAbsurd",
     [](Parts& p) {
       const int bytes = Entry(p, 0)["frames"][0];
       Entry(p, 0)["size"] = 17 << 20;
       Entry(p, 0)["frames"] = {bytes - 4, 1, 1, 1, 1};
     },
     "17825792 bytes, more than the limit"},
    {"FramesMissing", [](Parts& p) { First(p)["frames"] = Json::array(); }, "has 0 frames"},
    {"FramesTooMany", [](Parts& p) { First(p)["frames"].push_back(1); }, "has 2 frames"},
    {"FrameZero", [](Parts& p) { First(p)["frames"][0] = 0; }, "frames[0]: expected an integer from 1"},
    {"FrameNegative", [](Parts& p) { First(p)["frames"][0] = -5; }, "frames[0]: expected an integer from 1"},
    {"FrameAbsurd", [](Parts& p) { First(p)["frames"][0] = std::int64_t{1} << 62; },
     "frames[0]: expected an integer from 1"},
    {"FrameOfAnotherType", [](Parts& p) { First(p)["frames"] = "x"; }, ""},
    {"FramesOverlap", [](Parts& p) { First(p)["frames"][0] = First(p)["frames"][0].get<int>() - 1; },
     "the frames end at byte"},
    {"FramesReachTheIndex", [](Parts& p) { First(p)["frames"][0] = First(p)["frames"][0].get<int>() + 1; },
     "beyond the start of the index"},
    {"EndMissing", [](Parts& p) { p.index["end"] = 0; }, "end: expected an integer from 1"},
    {"EndShort", [](Parts& p) { p.index["end"] = p.index["end"].get<int>() - 1; }, "the frames end at byte"},
    {"DigestUpperCase", [](Parts& p) { First(p)["sha256"] = std::string(64, 'A'); }, "64 lower-case hex digits"},
    {"DigestShort", [](Parts& p) { First(p)["sha256"] = "ab"; }, "64 lower-case hex digits"},
    {"TooManyMembers",
     [](Parts& p) {
       for (int i = 0; i < 65540; ++i) p.index["members"].push_back(1);
     },
     "more than the limit of 65537"},
};

class IndexTest : public FolderTest {
 protected:
  // The code of the refusal of a file with that content.
  ErrorCode Refuse(const std::string& content, std::string_view message) {
    WriteAll(folder_ / "x.bundle", content);
    return CodeOf([&] { Bundle::Open(folder_ / "x.bundle"); }, message);
  }
};

class HostileIndexTest : public IndexTest, public testing::WithParamInterface<Case> {};

TEST_P(HostileIndexTest, IsRefused) {
  Parts parts = Parts::Of(Small());
  GetParam().change(parts);
  EXPECT_EQ(Refuse(parts.Assemble(), GetParam().message), ErrorCode::kCorrupt);
}

INSTANTIATE_TEST_SUITE_P(All, HostileIndexTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(IndexTest, TilesTheFile) {
  const File file(Large());
  const Index index = ReadIndex(file);
  std::uint64_t offset = 0;
  for (const IndexEntry& entry : index.entries) {
    std::uint64_t content = 0;
    for (const Frame& frame : entry.frames) {
      EXPECT_EQ(frame.offset, offset);
      offset += frame.compressed;
      content += frame.content;
    }
    EXPECT_EQ(content, TarSize(entry.info.size)) << entry.info.path;
  }
  EXPECT_EQ(index.end.offset, offset);
  EXPECT_EQ(index.end.content, 1024u);
}

TEST_F(IndexTest, AssembledPartsAreTheBundle) {
  const std::string bytes = ReadAll(Small());
  EXPECT_EQ(Parts::Of(Small()).Assemble(), bytes);
}

TEST_F(IndexTest, RefusesFilesThatAreNoBundles) {
  EXPECT_EQ(Refuse("", "has 0 bytes"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse("hello", "has 5 bytes"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(std::string(100000, '\0'), "does not end with the footer"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(Compress(std::string(1000, 'x')) + std::string(64, '\0'), "does not end with the footer"),
            ErrorCode::kCorrupt);
}

TEST_F(IndexTest, RefusesTextThatIsNotTheIndex) {
  const Parts parts = Parts::Of(Small());
  EXPECT_EQ(Refuse(Seal(parts.Body(), "{"), "is not valid JSON"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(Seal(parts.Body(), ""), "is not valid JSON"), ErrorCode::kCorrupt);
  std::string text = parts.index.dump();
  text.insert(text.size() - 1, ",\"end\":1");
  EXPECT_EQ(Refuse(Seal(parts.Body(), text), "appears twice"), ErrorCode::kCorrupt);
}

// Offsets in the footer, counted from the end of the file.
TEST_F(IndexTest, RefusesADamagedFooter) {
  const std::string good = Parts::Of(Small()).Assemble();
  const auto with = [&](std::size_t from_end, std::string_view bytes) {
    std::string bad = good;
    return bad.replace(bad.size() - from_end, bytes.size(), bytes);
  };
  EXPECT_EQ(Refuse(with(8, "MCBUNDLF"), "does not end with the footer"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(with(12, "\1"), "reserved field"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(with(16, "\2"), "has bundle format 2, this build reads format 1"), ErrorCode::kUnsupported);
  EXPECT_EQ(Refuse(with(24, "\xff\xff\xff\xff\xff\xff\xff\xff"), "18446744073709551615 bytes, more than the limit"),
            ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(with(24, std::string_view("\0\0\xff\0", 4)), "16711680 bytes, more than the file"),
            ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(with(24, std::string_view("\x10\0", 2)), "skippable frame"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(with(56, "x"), "digest is wrong"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(with(60, "x"), "digest is wrong"), ErrorCode::kCorrupt);
}

TEST_F(IndexTest, RefusesBytesBeforeOrAfter) {
  const std::string good = Parts::Of(Small()).Assemble();
  EXPECT_EQ(Refuse(good + "x", "does not end with the footer"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(good + std::string(512, '\0'), "does not end with the footer"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse("x" + good, "the frames end at byte"), ErrorCode::kCorrupt);
  EXPECT_EQ(Refuse(good + good, "the frames end at byte"), ErrorCode::kCorrupt);
}

TEST_F(IndexTest, RefusesTruncationAtEveryByte) {
  const std::string good = ReadAll(Small());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(Refuse(good.substr(0, size), ""), ErrorCode::kCorrupt) << size;
  }
}

}  // namespace
}  // namespace mconnect
