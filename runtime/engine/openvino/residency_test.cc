#include "runtime/engine/openvino/residency.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace mconnect {
namespace {

constexpr std::size_t kSize = std::size_t{32} << 20;

// A private read-only mapping of a file in which byte i is i mod 251.
class Mapping {
 public:
  Mapping() {
    std::string path = ::testing::TempDir() + "/weightsXXXXXX";
    const int fd = ::mkstemp(path.data());
    std::vector<unsigned char> bytes(kSize);
    for (std::size_t i = 0; i < kSize; ++i) bytes[i] = static_cast<unsigned char>(i % 251);
    EXPECT_EQ(::write(fd, bytes.data(), kSize), static_cast<ssize_t>(kSize));
    data_ = static_cast<const unsigned char*>(::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE, fd, 0));
    ::close(fd);
    ::unlink(path.c_str());
  }
  ~Mapping() { ::munmap(const_cast<unsigned char*>(data_), kSize); }
  const unsigned char* data() const { return data_; }
  std::size_t Sum() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < kSize; i += 4096) sum += data_[i];
    return sum;
  }

  // Bytes of the mapping that this process holds, from /proc/self/smaps.
  std::size_t Resident() const {
    char begin[32];
    std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(data_));
    std::ifstream smaps("/proc/self/smaps");
    std::string line;
    bool here = false;
    while (std::getline(smaps, line)) {
      if (line.rfind(begin, 0) == 0) here = true;
      if (here && line.rfind("Rss:", 0) == 0) return std::strtoul(line.c_str() + 4, nullptr, 10) << 10;
    }
    ADD_FAILURE() << "the mapping is not in /proc/self/smaps";
    return 0;
  }

 private:
  const unsigned char* data_;
};

TEST(ResidencyGuard, GivesPagesBackAtTheEnd) {
  Mapping mapping;
  const std::size_t sum = mapping.Sum();
  EXPECT_GE(mapping.Resident(), kSize / 2);
  { ResidencyGuard guard(mapping.data(), kSize); }
  EXPECT_EQ(mapping.Resident(), 0u);
  EXPECT_EQ(mapping.Sum(), sum);  // the bytes are those of the file again
}

TEST(ResidencyGuard, GivesPagesBackWhileItLives) {
  Mapping mapping;
  ResidencyGuard guard(mapping.data(), kSize);
  mapping.Sum();
  // Waits for the event, with a limit that only a broken guard reaches.
  for (int i = 0; i < 10000 && mapping.Resident() != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(mapping.Resident(), 0u);
}

TEST(ResidencyGuard, LeavesNoMappingAlone) { ResidencyGuard guard(nullptr, 0); }

}  // namespace
}  // namespace mconnect
