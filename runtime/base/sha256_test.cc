#include "runtime/base/sha256.h"

#include <gtest/gtest.h>

namespace mconnect {
namespace {

// FIPS 180-4's examples.
TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesEqualTheWhole) {
  const std::string text(100000, 'a');
  Sha256 sha;
  for (std::size_t i = 0; i < text.size(); i += 777) {
    sha.Update(std::as_bytes(std::span(text).subspan(i, std::min<std::size_t>(777, text.size() - i))));
  }
  EXPECT_EQ(sha.Hex(), Sha256Hex(text));
}

TEST(Sha256, RecognisesItsHexForm) {
  EXPECT_TRUE(IsSha256Hex(Sha256Hex("")));
  EXPECT_FALSE(IsSha256Hex(""));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a')));
  EXPECT_FALSE(IsSha256Hex(std::string(64, 'A')));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a') + "/"));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a') + "g"));
}

}  // namespace
}  // namespace mconnect
