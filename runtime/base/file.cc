#include "runtime/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {
namespace {

// Calls a system function again while a signal interrupts it.
template <typename Call>
auto Retry(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

bool IsSameFile(int fd, const std::filesystem::path& path) {
  struct stat a, b;
  return ::fstat(fd, &a) == 0 && ::lstat(path.c_str(), &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

void ThrowErrno(int error, const std::filesystem::path& path, std::string_view what) {
  ErrorCode code = ErrorCode::kIo;
  std::string remedy;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      code = ErrorCode::kNotFound;
      remedy = "check the spelling of the path";
      break;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      code = ErrorCode::kResourceExhausted;
      remedy = "free some space or choose another disk";
      break;
    case EMFILE:
    case ENFILE:
      code = ErrorCode::kResourceExhausted;
      remedy = "raise the limit on open files";
      break;
    case ENOMEM:
      code = ErrorCode::kResourceExhausted;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      remedy = "choose a path that this user may use";
      break;
    default:
      break;
  }
  throw Error(code,
              (path.empty() ? "''" : path.string()) + ": cannot " + std::string(what) + ": " +
                  std::generic_category().message(error),
              remedy);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Descriptor::Close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

File::File(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = Descriptor(Retry([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (fd_.get() < 0) ThrowErrno(errno, path_, "open");
  struct stat status;
  if (::fstat(fd_.get(), &status) != 0) ThrowErrno(errno, path_, "examine");
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::kInvalidArgument, path_.string() + ": not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  written_ = status.st_mtim;
}

bool File::changed() const noexcept {
  struct stat now;
  return ::fstat(fd_.get(), &now) != 0 || static_cast<std::uint64_t>(now.st_size) != size_ ||
         now.st_mtim.tv_sec != written_.tv_sec || now.st_mtim.tv_nsec != written_.tv_nsec;
}

void File::ReadAt(std::uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = Retry([&] { return ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset)); });
    if (count < 0) ThrowErrno(errno, path_, "read");
    if (count == 0) {
      throw Error(ErrorCode::kCorrupt,
                  path_.string() + ": ends at byte " + std::to_string(offset) + ", " + std::to_string(out.size()) +
                      " bytes too early",
                  changed() ? "it was changed while it was read: try again when whatever writes it is done" : "");
    }
    bytes_read_ += static_cast<std::uint64_t>(count);
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

std::shared_ptr<const MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  const Descriptor fd(Retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (fd.get() < 0) ThrowErrno(errno, path, "open");
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) ThrowErrno(errno, path, "examine");
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::kInvalidArgument, path.string() + ": not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (size != 0) {  // mmap refuses a length of zero
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) ThrowErrno(errno, path, "map");
    data = static_cast<const std::byte*>(address);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile({data, size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::DontNeed() const noexcept {
  if (!bytes_.empty()) ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

std::string ReadFile(const std::filesystem::path& path, std::uint64_t limit) {
  const File file(path);
  if (file.size() > limit) {
    throw Error(ErrorCode::kResourceExhausted, path.string() + ": has " + std::to_string(file.size()) +
                                                   " bytes, more than the limit of " + std::to_string(limit));
  }
  std::string content(file.size(), '\0');
  file.ReadAt(0, std::as_writable_bytes(std::span(content)));
  return content;
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = Descriptor(
      Retry([&] { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600); }));
  if (fd_.get() < 0) ThrowErrno(errno, path_, "create");
}

void OutputFile::Reserve(std::uint64_t size) {
  if (size == 0) return;
  if (Retry([&] { return ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(size)); }) == 0) return;
  if (errno == EOPNOTSUPP || errno == ENOSYS) return;  // then WriteAt finds out
  ThrowErrno(errno, path_, "reserve " + std::to_string(size) + " bytes");
}

void OutputFile::WriteAt(std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t count =
        Retry([&] { return ::pwrite(fd_.get(), data.data(), data.size(), static_cast<off_t>(offset)); });
    if (count < 0) ThrowErrno(errno, path_, "write");
    offset += static_cast<std::uint64_t>(count);
    data = data.subspan(static_cast<std::size_t>(count));
  }
}

void OutputFile::Finish(unsigned mode) {
  if (::fchmod(fd_.get(), mode) != 0) ThrowErrno(errno, path_, "set the permissions");
  if (Retry([&] { return ::fsync(fd_.get()); }) != 0) ThrowErrno(errno, path_, "sync");
}

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), partial_(path_.string() + ".partial"), output_(path_, Descriptor()) {
  Descriptor fd;
  do {  // until the file that we have locked is not one that its writer has renamed or removed meanwhile
    fd = Descriptor(
        Retry([&] { return ::open(partial_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600); }));
    if (fd.get() < 0) ThrowErrno(errno, partial_, "create");
    if (Retry([&] { return ::flock(fd.get(), LOCK_EX); }) != 0) ThrowErrno(errno, partial_, "lock");
  } while (!IsSameFile(fd.get(), partial_));
  if (::ftruncate(fd.get(), 0) != 0) ThrowErrno(errno, partial_, "truncate");
  output_.fd_ = std::move(fd);
}

AtomicFile::~AtomicFile() {
  if (output_.fd_.get() >= 0) ::unlink(partial_.c_str());
}

void AtomicFile::Commit(unsigned mode) {
  output_.Finish(mode);
  if (::rename(partial_.c_str(), path_.c_str()) != 0) ThrowErrno(errno, path_, "rename");
  output_.fd_.Close();
  SyncFolder(path_.parent_path());
}

void WriteFileAtomically(const std::filesystem::path& path, std::string_view content) {
  AtomicFile file(path);
  file.Reserve(content.size());
  file.WriteAt(0, std::as_bytes(std::span(content)));
  file.Commit();
}

void RemoveStalePartials(const std::filesystem::path& folder) noexcept try {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".partial") continue;
    const Descriptor fd(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() < 0 || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;  // a living writer holds the lock
    if (IsSameFile(fd.get(), entry.path())) ::unlink(entry.path().c_str());
  }
} catch (const std::exception&) {  // cleaning up is a courtesy
}

void SyncFolder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder.empty() ? "." : folder;
  const Descriptor fd(Retry([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd.get() < 0) ThrowErrno(errno, path, "open");
  // Some file systems cannot sync a folder and say EINVAL: there is nothing better to do then.
  if (Retry([&] { return ::fsync(fd.get()); }) != 0 && errno != EINVAL) ThrowErrno(errno, path, "sync");
}

}  // namespace mconnect
