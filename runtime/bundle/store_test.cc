#include "runtime/bundle/store.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>

#include "mconnect/log.h"
#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/bundle/archive.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;
using namespace testing_bundle;  // NOLINT

std::vector<std::string> AllMembers(const Bundle& bundle) {
  std::vector<std::string> paths;
  for (const MemberInfo& info : bundle.members()) paths.push_back(info.path);
  return paths;
}

// Runs `body` in a process of its own. Its exit status is the code of the Error that it throws, or 0.
pid_t Spawn(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  int code = 0;
  try {
    body();
  } catch (const Error& e) {
    code = static_cast<int>(e.code());
  } catch (...) {
    code = 100;
  }
  ::_exit(code);
}

int Wait(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// The wait status of a process that exited with an error's code.
int Exited(ErrorCode code) { return static_cast<int>(code) << 8; }

// Makes root obey permissions like everyone else.
void DropFileCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) std::abort();
  data[0].effective &= ~((1u << CAP_DAC_OVERRIDE) | (1u << CAP_DAC_READ_SEARCH) | (1u << CAP_FOWNER));
  if (::syscall(SYS_capset, &header, data) != 0) std::abort();
}

class StoreTest : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    folder_ /= "store";
  }
  void TearDown() override {
    SetLogSink(nullptr);
    folder_ = folder_.parent_path();
    FolderTest::TearDown();
  }

  Store store() const { return Store(folder_); }

  // Throws, or fails the test, unless the store holds the bundle's members, whole, and nothing else.
  void ExpectExactly(const Bundle& bundle) const {
    std::set<std::string> expected;
    for (const MemberInfo& info : bundle.members()) expected.insert("blobs/" + info.sha256);
    EXPECT_EQ(FilesBelow(folder_), std::vector<std::string>(expected.begin(), expected.end()));
    for (const std::string& name : expected) {
      EXPECT_EQ("blobs/" + Sha256Hex(ReadAll(folder_ / name)), name);
    }
  }

  bool HasPartial() const {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder_ / "blobs", error)) {
      if (entry.path().extension() == ".partial") return true;
    }
    return false;
  }
};

TEST_F(StoreTest, ExtractsOnceThenMaps) {
  const ArchiveBundle bundle(Large());
  const auto paths = store().Materialize(bundle, AllMembers(bundle));
  ASSERT_EQ(paths.size(), bundle.members().size());
  for (std::size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(ReadAll(paths[i]), bundle.Read(bundle.members()[i].path));
  ExpectExactly(bundle);
  const std::uint64_t before = bundle.bytes_read();
  EXPECT_EQ(store().Materialize(bundle, AllMembers(bundle)), paths);
  EXPECT_EQ(bundle.bytes_read(), before);
}

TEST_F(StoreTest, BlobsAreReadOnly) {
  const auto bundle = Bundle::Open(Small());
  const auto paths = store().Materialize(*bundle, AllMembers(*bundle));
  struct stat status;
  ASSERT_EQ(::stat(paths[1].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0444u);
}

TEST_F(StoreTest, GivesAVariantsTwoFiles) {
  const auto bundle = Bundle::Open(Small());
  const Variant& variant = bundle->manifest().module("encoder").variants[0];
  const VariantFiles files = store().Materialize(*bundle, variant);
  EXPECT_EQ(ReadAll(files.artifact), bundle->Read(variant.path));
  EXPECT_EQ(ReadAll(files.weights), bundle->Read(*variant.weights));
  EXPECT_EQ(FilesBelow(folder_).size(), 2u);
}

TEST_F(StoreTest, UsesAFolderBundleInPlace) {
  Unpack(*Bundle::Open(Small()), folder_.parent_path() / "x");
  const auto bundle = Bundle::Open(folder_.parent_path() / "x");
  const auto files = store().Materialize(*bundle, bundle->manifest().module("encoder").variants[0]);
  EXPECT_EQ(files.artifact, folder_.parent_path() / "x/modules/encoder/openvino.xml");
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(StoreTest, BundlesShareBlobs) {
  const ArchiveBundle small(Small());
  const ArchiveBundle large(Large());
  store().Materialize(small, AllMembers(small));
  const std::uint64_t before = large.bytes_read();
  const std::vector<std::string> shared = {"modules/encoder/openvino.xml", "assets/tokenizer.json"};
  store().Materialize(large, shared);
  EXPECT_EQ(large.bytes_read(), before);
}

TEST_F(StoreTest, NamesAMissingMember) {
  const std::vector<std::string> members = {"none"};
  EXPECT_EQ(CodeOf([&] { store().Materialize(*Bundle::Open(Small()), members); }, "'none'"), ErrorCode::kNotFound);
}

TEST_F(StoreTest, LeavesNothingOfADamagedBundle) {
  std::string bytes = ReadAll(Large());
  bytes[9 << 20] ^= 1;
  fs::create_directories(folder_);
  const fs::path bad = folder_.parent_path() / "bad.bundle";
  WriteAll(bad, bytes);
  const auto bundle = Bundle::Open(bad);
  EXPECT_EQ(CodeOf([&] { store().Materialize(*bundle, AllMembers(*bundle)); }, "weights/large"), ErrorCode::kCorrupt);
  EXPECT_TRUE(FilesBelow(folder_).empty());
}

TEST_F(StoreTest, ReplacesABlobOfTheWrongSizeAndSaysSo) {
  std::vector<std::string> warnings;
  SetLogSink([&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) warnings.emplace_back(message);
  });
  const auto bundle = Bundle::Open(Small());
  const auto paths = store().Materialize(*bundle, AllMembers(*bundle));
  fs::permissions(paths[1], fs::perms::owner_write, fs::perm_options::add);
  fs::resize_file(paths[1], 3);
  EXPECT_TRUE(warnings.empty());
  store().Materialize(*bundle, AllMembers(*bundle));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find(paths[1].string()), std::string::npos);
  ExpectExactly(*bundle);
}

TEST_F(StoreTest, VerifyRemovesABlobOfTheWrongDigest) {
  const auto bundle = Bundle::Open(Small());
  const auto paths = store().Materialize(*bundle, AllMembers(*bundle));
  EXPECT_TRUE(store().Verify().empty());
  std::string content = ReadAll(paths[2]);
  content[0] ^= 1;
  fs::remove(paths[2]);
  WriteAll(paths[2], content);
  EXPECT_EQ(store().Verify(), std::vector<std::string>{paths[2].filename()});
  EXPECT_FALSE(fs::exists(paths[2]));
  store().Materialize(*bundle, AllMembers(*bundle));
  ExpectExactly(*bundle);
}

TEST_F(StoreTest, VerifyOfABundleReadsItsBlobsAlone) {
  const auto small = Bundle::Open(Small()), large = Bundle::Open(Large());
  EXPECT_TRUE(store().Verify(*small).empty());  // nothing there yet
  const auto own = store().Materialize(*small, AllMembers(*small));
  const auto others = store().Materialize(*large, AllMembers(*large));
  const auto blob = std::ranges::find_if(others, [&](const fs::path& p) { return std::ranges::count(own, p) == 0; });
  ASSERT_NE(blob, others.end());
  for (const fs::path& path : {own[2], *blob}) {
    std::string content = ReadAll(path);
    content[0] ^= 1;
    fs::remove(path);
    WriteAll(path, content);
  }
  EXPECT_EQ(store().Verify(*small), std::vector<std::string>{own[2].filename()});
  EXPECT_TRUE(fs::exists(*blob));
}

TEST_F(StoreTest, CleansUpAfterDeadProcesses) {
  fs::create_directories(folder_ / "blobs");
  WriteAll(folder_ / "blobs" / (std::string(64, 'a') + ".partial"), "left behind");
  const auto bundle = Bundle::Open(Small());
  store().Materialize(*bundle, AllMembers(*bundle));
  ExpectExactly(*bundle);
}

TEST_F(StoreTest, ManyThreadsLoadAtOnce) {
  const auto bundle = Bundle::Open(Large());
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back([&] { store().Materialize(*bundle, AllMembers(*bundle)); });
  threads.clear();
  ExpectExactly(*bundle);
}

// Eight processes load one bundle into an empty store. The one that writes is stopped in the middle of a blob, so that
// the others come to wait for it, and killed.
TEST_F(StoreTest, EightProcessesLoadAtOnceAndOneIsKilled) {
  const auto load = [&] {
    const auto bundle = Bundle::Open(Large());
    const auto paths = store().Materialize(*bundle, AllMembers(*bundle));
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (Sha256Hex(ReadAll(paths[i])) != bundle->members()[i].sha256) throw Error(ErrorCode::kCorrupt, paths[i]);
    }
  };
  pid_t victim;
  for (;;) {  // until the signal meets it in the middle
    fs::remove_all(folder_);
    victim = Spawn(load);
    while (!HasPartial() && ::waitpid(victim, nullptr, WNOHANG) == 0) std::this_thread::yield();
    ::kill(victim, SIGSTOP);
    if (HasPartial()) break;
    ::kill(victim, SIGKILL);
    ::waitpid(victim, nullptr, 0);
  }
  std::vector<pid_t> others;
  for (int i = 0; i < 7; ++i) others.push_back(Spawn(load));
  ::kill(victim, SIGKILL);
  for (const pid_t child : others) EXPECT_EQ(Wait(child), 0);
  EXPECT_TRUE(WIFSIGNALED(Wait(victim)));
  ExpectExactly(*Bundle::Open(Large()));
}

// A limit on the size of files stands in for a full disk: the same path through the code, EFBIG for ENOSPC.
TEST_F(StoreTest, AFullDiskIsATypedErrorAndLeavesNothingTorn) {
  const pid_t child = Spawn([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto bundle = Bundle::Open(Large());
    store().Materialize(*bundle, AllMembers(*bundle));
  });
  EXPECT_EQ(Wait(child), Exited(ErrorCode::kResourceExhausted));
  for (const std::string& name : FilesBelow(folder_)) EXPECT_EQ("blobs/" + Sha256Hex(ReadAll(folder_ / name)), name);
  const auto bundle = Bundle::Open(Large());
  store().Materialize(*bundle, AllMembers(*bundle));  // when there is room again
  ExpectExactly(*bundle);
}

TEST_F(StoreTest, AReadOnlyStoreServesWhatItHas) {
  const auto bundle = Bundle::Open(Small());
  const std::vector<std::string> tokenizer = {"assets/tokenizer.json"};
  store().Materialize(*bundle, tokenizer);
  fs::permissions(folder_ / "blobs", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(Wait(Spawn([&] {
              DropFileCapabilities();
              store().Materialize(*bundle, tokenizer);
            })),
            0);
  EXPECT_EQ(Wait(Spawn([&] {
              DropFileCapabilities();
              store().Materialize(*bundle, AllMembers(*bundle));
            })),
            Exited(ErrorCode::kIo));
  fs::permissions(folder_ / "blobs", fs::perms::owner_all);
  EXPECT_EQ(FilesBelow(folder_).size(), 1u);
}

TEST_F(StoreTest, AStoreThatCannotBeMadeIsATypedError) {
  WriteAll(folder_, "a file in its place");
  const auto bundle = Bundle::Open(Small());
  EXPECT_EQ(CodeOf([&] { store().Materialize(*bundle, AllMembers(*bundle)); }, folder_.string()), ErrorCode::kNotFound);
  EXPECT_EQ(ReadAll(folder_), "a file in its place");
}

TEST_F(StoreTest, DefaultFolderFollowsTheEnvironment) {
  ::setenv("MCONNECT_STORE", "/a/b", 1);
  ::setenv("XDG_CACHE_HOME", "/c", 1);
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(Store::DefaultFolder(), "/a/b");
  ::setenv("MCONNECT_STORE", "", 1);
  EXPECT_EQ(Store::DefaultFolder(), "/c/mconnect/store");
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // its specification: to be ignored
  EXPECT_EQ(Store::DefaultFolder(), "/h/.cache/mconnect/store");
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(Store::DefaultFolder(), "/h/.cache/mconnect/store");
  ::unsetenv("HOME");
  EXPECT_EQ(CodeOf([] { Store::DefaultFolder(); }, "no folder"), ErrorCode::kInvalidArgument);
  ::setenv("MCONNECT_STORE", "relative", 1);
  EXPECT_EQ(CodeOf([] { Store::DefaultFolder(); }, "'relative', not an absolute path"), ErrorCode::kInvalidArgument);
  ::unsetenv("MCONNECT_STORE");
}

}  // namespace
}  // namespace mconnect
