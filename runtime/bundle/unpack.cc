#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/file.h"
#include "runtime/bundle/folder.h"
#include "runtime/bundle/format.h"
#include "runtime/bundle/store.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatch = 32;  // files written at a time

[[noreturn]] void ThrowNotEmpty(const fs::path& folder) {
  throw Error(ErrorCode::kInvalidArgument, folder.string() + ": exists and is not an empty folder",
              "choose a new folder");
}

// A locked folder beside the target, ".<name>.mconnect-<random>": a name that nobody else uses, so that nothing of the
// user's is ever removed. What dead processes left of such folders is.
class PartialFolder {
 public:
  explicit PartialFolder(const fs::path& folder) {
    const std::string prefix = "." + folder.filename().string() + ".mconnect-";
    RemoveStale(folder.parent_path(), prefix);
    // Between its creation and its lock another process may take the folder for a dead one's, for microseconds.
    for (int tries = 1;; ++tries) {
      std::string name = (folder.parent_path() / (prefix + "XXXXXX")).string();  // six X, which mkdtemp(3) replaces
      if (::mkdtemp(name.data()) == nullptr) ThrowErrno(errno, folder.parent_path(), "create a folder here");
      path_ = name;
      lock_ = Lock(path_);
      // Where a file system has no locks, nobody can take the folder for a dead one's: it needs none.
      if (lock_.get() >= 0 || (errno != EWOULDBLOCK && errno != ENOENT)) break;
      if (tries == kTries) ThrowErrno(errno, path_, "lock, for the 100th folder in a row that another process took");
    }
    if (::chmod(path_.c_str(), 0755) != 0) {
      const int failed = errno;
      ::rmdir(path_.c_str());
      ThrowErrno(failed, path_, "set the permissions");
    }
  }

  ~PartialFolder() {
    std::error_code error;
    if (!renamed_) fs::remove_all(path_, error);
  }

  const fs::path& path() const { return path_; }

  void RenameTo(const fs::path& folder) {
    SyncFolder(path_);
    if (::rename(path_.c_str(), folder.c_str()) != 0) {
      if (errno == ENOTEMPTY || errno == EEXIST) ThrowNotEmpty(folder);
      ThrowErrno(errno, folder, "rename the unpacked folder to this");
    }
    renamed_ = true;
    SyncFolder(folder.parent_path());
  }

 private:
  static constexpr int kTries = 100;

  // Below 0, and errno: EWOULDBLOCK (another process has the lock), ENOENT (the folder has gone, perhaps while it was
  // locked), or why folders cannot be locked here.
  static Descriptor Lock(const fs::path& path) {
    Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd.get() < 0 || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Failed(errno);
    struct stat locked, named;
    if (::fstat(fd.get(), &locked) != 0 || ::lstat(path.c_str(), &named) != 0) return Failed(errno);
    if (locked.st_ino != named.st_ino || locked.st_dev != named.st_dev) return Failed(ENOENT);
    return fd;
  }

  static Descriptor Failed(int error) {
    errno = error;
    return Descriptor();
  }

  static void RemoveStale(const fs::path& parent, const std::string& prefix) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error)) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      if (const Descriptor fd = Lock(entry.path()); fd.get() >= 0) fs::remove_all(entry.path(), error);
    }
  }

  fs::path path_;
  Descriptor lock_;
  bool renamed_ = false;
};

void WriteMembers(const Bundle& bundle, const fs::path& folder) {
  const auto& members = bundle.members();
  for (std::size_t begin = 0; begin < members.size(); begin += kBatch) {
    std::map<std::size_t, OutputFile> files;
    std::vector<std::size_t> positions;
    for (std::size_t i = begin; i < std::min(begin + kBatch, members.size()); ++i) {
      fs::create_directories((folder / members[i].path).parent_path());
      files.emplace(i, folder / members[i].path).first->second.Reserve(members[i].size);
      positions.push_back(i);
    }
    bundle.Stream(positions, [&](std::size_t member, std::uint64_t offset, std::span<const std::byte> data) {
      files.find(member)->second.WriteAt(offset, data);
    });
    for (auto& [position, file] : files) file.Finish(0444);
  }
  OutputFile digests(folder / kDigestsPath);
  const std::string text = DigestsText(members);
  digests.WriteAt(0, std::as_bytes(std::span(text)));
  digests.Finish(0444);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_directory()) SyncFolder(entry.path());
  }
}

}  // namespace

void Unpack(const Bundle& bundle, const fs::path& folder) {
  if (folder.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "the name of the folder to unpack to is empty", "choose a new folder");
  }
  fs::path target = fs::absolute(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "x/"
  std::error_code error;
  if (fs::exists(fs::symlink_status(target, error)) &&
      !(fs::is_directory(target, error) && fs::is_empty(target, error))) {
    ThrowNotEmpty(target);
  }
  if (!fs::is_directory(target.parent_path(), error)) {
    throw Error(ErrorCode::kNotFound,
                folder.string() + ": the folder " + target.parent_path().string() + " does not exist",
                "create it first (mkdir -p), or unpack to another place");
  }
  for (const MemberInfo& info : bundle.members()) {
    if (!info.sha256.empty()) continue;
    throw Error(ErrorCode::kNotFound, bundle.path().string() + ": has no sha256sums to verify '" + info.path + "' by",
                "unpack the bundle file that it came from");
  }
  try {
    PartialFolder partial(target);
    WriteMembers(bundle, partial.path());
    partial.RenameTo(target);
  } catch (const fs::filesystem_error& e) {
    ThrowErrno(e.code().value(), e.path1(), "unpack");
  }
}

}  // namespace mconnect
