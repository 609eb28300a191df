#include "runtime/bundle/format.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mconnect {
namespace {

TEST(Format, AcceptsPathsUpToTheLimits) {
  for (const std::string& path :
       {std::string("a"), std::string("a/b"), std::string(".hidden"), std::string("a..b"), std::string(100, 'x'),
        std::string(155, 'd') + "/" + std::string(99, 'f'), "weights/" + std::string(64, 'a') + ".safetensors"}) {
    EXPECT_EQ(PathProblem(path), "") << path;
  }
}

TEST(Format, RefusesUnsafePaths) {
  for (const std::string& path :
       {std::string(""), std::string("/"), std::string("/a"), std::string("a/"), std::string("a//b"), std::string("."),
        std::string(".."), std::string("a/../b"), std::string("..."), std::string("a b"), std::string("a\\b"),
        std::string("a\0b", 3), std::string("a:b"), std::string("\xc3\xa9"), std::string(101, 'x'),
        std::string(156, 'd') + "/f", "d/" + std::string(101, 'f'), std::string(256, 'a')}) {
    EXPECT_NE(PathProblem(path), "") << path;
  }
}

TEST(Format, MessagesArePrintable) {
  for (const char c : PathProblem("a\n\x1b[31m\xff")) EXPECT_TRUE(c >= ' ' && c <= '~');
}

TEST(Format, RefusesPathsThatCollide) {
  EXPECT_EQ(CollisionProblem({"a", "b/c", "b/d"}), "");
  EXPECT_NE(CollisionProblem({"a", "a"}), "");
  EXPECT_NE(CollisionProblem({"a", "A"}), "");
  EXPECT_NE(CollisionProblem({"a", "a/b"}), "");
  EXPECT_NE(CollisionProblem({"A/B/c", "a/b"}), "");
  EXPECT_NE(CollisionProblem({"manifest.json"}), "");
  EXPECT_NE(CollisionProblem({"sha256sums"}), "");
}

// Field by field from POSIX.1-1988; that real tars agree is tested where the writer is.
TEST(Format, TarHeaderFollowsUstar) {
  const auto header = TarHeader("assets/tokenizer.json", 466247);
  EXPECT_STREQ(&header[0], "assets/tokenizer.json");
  EXPECT_STREQ(&header[100], "0000644");
  EXPECT_STREQ(&header[124], "00001616507");
  EXPECT_EQ(header[156], '0');
  EXPECT_EQ(std::memcmp(&header[257], "ustar\00000", 8), 0);
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < header.size(); ++i)
    sum += i < 148 || i >= 156 ? static_cast<unsigned char>(header[i]) : 0;
  EXPECT_EQ(std::stoul(&header[148], nullptr, 8), sum);
}

TEST(Format, TarHeaderSplitsLongPathsAtTheLeftmostSlash) {
  const std::string path = "a/" + std::string(60, 'b') + "/" + std::string(50, 'c');
  const auto header = TarHeader(path, 0);
  EXPECT_STREQ(&header[345], ("a/" + std::string(60, 'b')).c_str());
  EXPECT_STREQ(&header[0], std::string(50, 'c').c_str());
}

TEST(Format, TarHeaderCountsFrom8GiBInBase256) {
  const auto below = TarHeader("a", (std::uint64_t{8} << 30) - 1);
  EXPECT_STREQ(&below[124], "77777777777");
  const auto above = TarHeader("a", std::uint64_t{8} << 30);
  EXPECT_EQ(std::memcmp(&above[124], "\x80\0\0\0\0\0\0\2\0\0\0\0", 12), 0);
}

TEST(Format, CountsFramesAtTheirBorders) {
  EXPECT_EQ(TarSize(0), 512u);
  EXPECT_EQ(TarSize(1), 1024u);
  EXPECT_EQ(TarSize(512), 1024u);
  EXPECT_EQ(NumFrames(0), 1u);
  EXPECT_EQ(NumFrames(kFrameContent - 512), 1u);
  EXPECT_EQ(NumFrames(kFrameContent - 511), 2u);
  EXPECT_EQ(NumFrames(kMaxMemberSize), (std::uint64_t{1} << 18) + 1);
}

}  // namespace
}  // namespace mconnect
