// Files: mapping, positioned reads and atomic writes. Errors name the path and what the system said.
#ifndef MCONNECT_BASE_FILE_H_
#define MCONNECT_BASE_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace mconnect {

// Throws the Error for an errno value: kNotFound (ENOENT, ENOTDIR), kResourceExhausted (ENOSPC, EDQUOT, EFBIG, EMFILE,
// ENFILE, ENOMEM) or kIo. The message is "<path>: cannot <what>: <the system's words>".
[[noreturn]] void ThrowErrno(int error, const std::filesystem::path& path, std::string_view what);

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { Close(); }
  int get() const noexcept { return fd_; }
  void Close() noexcept;

 private:
  int fd_ = -1;
};

// A regular file, read at given offsets. Threads may share one.
class File {
 public:
  // Throws Error(kNotFound) or Error(kIo); Error(kInvalidArgument) for what is not a regular file.
  explicit File(std::filesystem::path path);

  const std::filesystem::path& path() const noexcept { return path_; }
  std::uint64_t size() const noexcept { return size_; }

  // Whether somebody has written to the file since it was opened (not: removed it, or put another in its place).
  bool changed() const noexcept;

  // Fills `out`. Throws Error(kCorrupt) when the file ends before that.
  void ReadAt(std::uint64_t offset, std::span<std::byte> out) const;

  // How many bytes all calls together have read.
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  std::filesystem::path path_;
  Descriptor fd_;
  std::uint64_t size_ = 0;
  std::timespec written_{};  // when the file was last written to
  mutable std::atomic<std::uint64_t> bytes_read_ = 0;
};

// A whole file mapped read-only. The file must not be shortened meanwhile (blobs of the store never are).
class MappedFile {
 public:
  static std::shared_ptr<const MappedFile> Open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  // Lets the system take the pages back: for weights that were copied to a device. They come back when touched.
  void DontNeed() const noexcept;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

// The content of a file. Throws Error(kResourceExhausted) when it is larger than `limit` bytes.
std::string ReadFile(const std::filesystem::path& path, std::uint64_t limit);

// A new file that is written at given offsets, by several threads if need be.
class OutputFile {
 public:
  // Throws Error(kIo) when the path exists.
  explicit OutputFile(std::filesystem::path path);

  // Allocates the space, so that a full disk is found before the work is done.
  void Reserve(std::uint64_t size);

  // In any order.
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data);

  // Sets the permissions and makes the content, not yet the name, survive a crash of the machine.
  void Finish(unsigned mode = 0644);

 private:
  friend class AtomicFile;
  OutputFile(std::filesystem::path path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  Descriptor fd_;
};

// A file that appears complete or not at all: written as "<path>.partial", synced, then renamed over `path`.
//
// The writer holds a lock (flock) on the partial file. So writers of one path take turns, whatever process or thread
// they are in, and what a dead writer left is taken over by the next one.
class AtomicFile {
 public:
  // Waits for other writers of the path. The folder must exist.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Removes the partial file unless Commit() was called.
  ~AtomicFile();

  // As OutputFile's.
  void Reserve(std::uint64_t size) { output_.Reserve(size); }
  void WriteAt(std::uint64_t offset, std::span<const std::byte> data) { output_.WriteAt(offset, data); }

  // Makes the file appear, with those permissions, and survive a crash of the machine.
  void Commit(unsigned mode = 0644);

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  OutputFile output_;
};

void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// Removes each "*.partial" of a folder whose writer is dead. Never throws: what cannot be removed stays.
void RemoveStalePartials(const std::filesystem::path& folder) noexcept;

// Makes names that were created in or renamed into a folder survive a crash of the machine.
void SyncFolder(const std::filesystem::path& folder);

}  // namespace mconnect

#endif  // MCONNECT_BASE_FILE_H_
