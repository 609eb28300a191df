#include "runtime/cli/npy.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mconnect/error.h"

namespace mconnect::cli {
namespace {

TEST(Npy, FollowsFormatOneOfNumpy) {
  const std::array<float, 6> values = {0, 1, 2, 3, 4, 5};
  const std::string bytes = NpyBytes(values, 2, 3);
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t header = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ((10 + header) % 64, 0u);
  EXPECT_EQ(bytes[9 + header], '\n');
  EXPECT_NE(bytes.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"), std::string::npos);
  ASSERT_EQ(bytes.size(), 10 + header + sizeof values);
  EXPECT_EQ(std::memcmp(bytes.data() + 10 + header, values.data(), sizeof values), 0);
}

TEST(Npy, AlignsTheDataForEveryLengthOfHeader) {
  for (std::int64_t rows = 1; rows <= 1'000'000'000'000; rows *= 10)
    EXPECT_EQ(NpyBytes({}, rows, 1).size() % 64, 0u) << rows;
}

TEST(WriteFileAtomically, ReplacesAFileAndLeavesNothingElse) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "atomic";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "x").string();
  WriteFileAtomically(path, "old");
  WriteFileAtomically(path, "new");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(WriteFileAtomically, WritesThroughADeviceInsteadOfReplacingIt) {
  WriteFileAtomically("/dev/null", "bytes");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(RequireWritable, NamesThePathThatCannotBeWritten) {
  for (const std::string& path : {testing::TempDir() + "absent/x", testing::TempDir(), std::string()}) {
    try {
      RequireWritable(path);
      FAIL() << path;
    } catch (const Error& e) {
      EXPECT_NE(e.message().find("'" + path + "'"), std::string::npos) << e.message();
      EXPECT_FALSE(e.remedy().empty());
    }
  }
  RequireWritable(testing::TempDir() + "new");
  RequireWritable("new");
  RequireWritable("/dev/null");
}

TEST(WriteFileAtomically, NamesThePathThatItCannotWrite) {
  for (const std::string& path : {testing::TempDir() + "absent/x", testing::TempDir()}) {
    try {
      WriteFileAtomically(path, "bytes");
      FAIL() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kIo);
      EXPECT_NE(e.message().find(path), std::string::npos) << e.message();
    }
  }
}

}  // namespace
}  // namespace mconnect::cli
