#include "runtime/base/file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <thread>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/parallel.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  ErrorCode CodeOf(const std::function<void()>& call) const {
    try {
      call();
    } catch (const Error& e) {
      EXPECT_NE(e.message().find(folder_.string()), std::string::npos) << e.what();
      return e.code();
    }
    ADD_FAILURE() << "no error";
    return ErrorCode::kInternal;
  }

  fs::path folder_;
};

TEST_F(FileTest, ReadsAtOffsetsAndCountsBytes) {
  WriteFileAtomically(folder_ / "f", "0123456789");
  const File file(folder_ / "f");
  EXPECT_EQ(file.size(), 10u);
  std::string out(3, ' ');
  file.ReadAt(4, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, "456");
  EXPECT_EQ(file.bytes_read(), 3u);
  EXPECT_EQ(CodeOf([&] { file.ReadAt(8, std::as_writable_bytes(std::span(out))); }), ErrorCode::kCorrupt);
}

TEST_F(FileTest, KnowsThatItsContentWasChangedNotItsName) {
  WriteFileAtomically(folder_ / "f", "0123456789");
  const File file(folder_ / "f");
  fs::rename(folder_ / "f", folder_ / "g");
  EXPECT_FALSE(file.changed());
  fs::resize_file(folder_ / "g", 3);
  EXPECT_TRUE(file.changed());
}

TEST_F(FileTest, NamesWhatItCannotOpen) {
  EXPECT_EQ(CodeOf([&] { File(folder_ / "none"); }), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { File{folder_}; }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { MappedFile::Open(folder_ / "none"); }), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { MappedFile::Open(folder_); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { AtomicFile(folder_ / "none" / "f"); }), ErrorCode::kNotFound);
}

TEST_F(FileTest, DoesNotHangOnAPipe) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(CodeOf([&] { File(folder_ / "pipe"); }), ErrorCode::kInvalidArgument);
}

TEST_F(FileTest, ReadFileHasALimit) {
  WriteFileAtomically(folder_ / "f", "01234");
  EXPECT_EQ(ReadFile(folder_ / "f", 5), "01234");
  EXPECT_EQ(CodeOf([&] { ReadFile(folder_ / "f", 4); }), ErrorCode::kResourceExhausted);
}

TEST_F(FileTest, MapsAFile) {
  WriteFileAtomically(folder_ / "f", "content");
  const auto mapped = MappedFile::Open(folder_ / "f");
  fs::remove(folder_ / "f");
  mapped->DontNeed();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()), "content");
}

TEST_F(FileTest, MapsAnEmptyFile) {
  WriteFileAtomically(folder_ / "f", "");
  EXPECT_TRUE(MappedFile::Open(folder_ / "f")->bytes().empty());
}

TEST_F(FileTest, OutputFileRefusesAnExistingPath) {
  OutputFile file(folder_ / "f");
  file.WriteAt(2, Bytes("cd"));
  file.WriteAt(0, Bytes("ab"));
  file.Finish(0400);
  EXPECT_EQ(ReadFile(folder_ / "f", 10), "abcd");
  EXPECT_EQ(CodeOf([&] { OutputFile(folder_ / "f"); }), ErrorCode::kIo);
}

TEST_F(FileTest, AtomicFileReplacesOnCommitOnly) {
  WriteFileAtomically(folder_ / "f", "old");
  {
    AtomicFile file(folder_ / "f");
    file.WriteAt(3, Bytes("DEF"));
    file.WriteAt(0, Bytes("ABC"));
    EXPECT_EQ(ReadFile(folder_ / "f", 10), "old");
    file.Commit(0444);
  }
  EXPECT_EQ(ReadFile(folder_ / "f", 10), "ABCDEF");
  struct stat status;
  ASSERT_EQ(::stat((folder_ / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444u);
  EXPECT_EQ(Names(), std::vector<std::string>{"f"});
}

TEST_F(FileTest, AbandonedAtomicFileLeavesNothing) {
  {
    AtomicFile file(folder_ / "f");
    file.WriteAt(0, Bytes("half"));
    EXPECT_EQ(Names(), std::vector<std::string>{"f.partial"});
  }
  EXPECT_TRUE(Names().empty());
}

TEST_F(FileTest, WritersOfOnePathTakeTurns) {
  ParallelFor(64, 8, [&](std::size_t i) {
    AtomicFile file(folder_ / "f");
    for (int k = 0; k < 100; ++k)
      file.WriteAt(static_cast<std::uint64_t>(k), Bytes(std::string(1, char('A' + i % 26))));
    if (i % 3 != 0) file.Commit();
  });
  const std::string content = ReadFile(folder_ / "f", 1000);
  EXPECT_EQ(content, std::string(100, content[0]));
  EXPECT_EQ(Names(), std::vector<std::string>{"f"});
}

TEST_F(FileTest, TakesOverWhatADeadWriterLeft) {
  std::ofstream(folder_ / "f.partial") << "left by a dead process, longer than what follows";
  WriteFileAtomically(folder_ / "f", "new");
  EXPECT_EQ(ReadFile(folder_ / "f", 100), "new");
}

TEST_F(FileTest, RemovesStalePartialsAndSparesLivingOnes) {
  std::ofstream(folder_ / "dead.partial") << "x";
  std::ofstream(folder_ / "other") << "x";
  AtomicFile living(folder_ / "living");
  RemoveStalePartials(folder_);
  EXPECT_EQ(Names(), (std::vector<std::string>{"living.partial", "other"}));
  RemoveStalePartials(folder_ / "none");
}

TEST_F(FileTest, DoesNotFollowALinkInPlaceOfThePartialFile) {
  WriteFileAtomically(folder_ / "victim", "precious");
  fs::create_symlink(folder_ / "victim", folder_ / "f.partial");
  EXPECT_EQ(CodeOf([&] { WriteFileAtomically(folder_ / "f", "x"); }), ErrorCode::kIo);
  EXPECT_EQ(ReadFile(folder_ / "victim", 100), "precious");
}

// A limit on the size of files stands in for a full disk: the same path through the code, EFBIG for ENOSPC.
TEST_F(FileTest, ReportsAFullDiskAndLeavesNothing) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int code = 0;
    for (const bool reserve : {true, false}) {
      try {
        AtomicFile file(folder_ / "f");
        if (reserve) file.Reserve(5000);
        file.WriteAt(0, Bytes(std::string(5000, 'x')));
        code = 1;
      } catch (const Error& e) {
        if (e.code() != ErrorCode::kResourceExhausted) code = 2;
      }
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Names().empty());
}

TEST(ThrowErrno, TranslatesTheCodes) {
  const auto code = [](int error) {
    try {
      ThrowErrno(error, "p", "open");
    } catch (const Error& e) {
      EXPECT_EQ(e.message().find("p: cannot open: "), 0u);
      return e.code();
    }
  };
  EXPECT_EQ(code(ENOENT), ErrorCode::kNotFound);
  EXPECT_EQ(code(ENOSPC), ErrorCode::kResourceExhausted);
  EXPECT_EQ(code(EMFILE), ErrorCode::kResourceExhausted);
  EXPECT_EQ(code(EROFS), ErrorCode::kIo);
  EXPECT_EQ(code(EIO), ErrorCode::kIo);
}

}  // namespace
}  // namespace mconnect
