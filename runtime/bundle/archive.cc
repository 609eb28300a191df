#include "runtime/bundle/archive.h"

#include <zstd.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/parallel.h"
#include "runtime/base/sha256.h"
#include "runtime/bundle/format.h"

namespace mconnect {
namespace {

constexpr unsigned char kChecksumFlag =
    4;  // of a zstd frame header's descriptor, the byte after the magic (RFC 8878, 3.1.1.1.1)

// Digests of several members whose pieces arrive out of order from several threads. Each piece waits for its turn.
class OrderedDigests {
 public:
  explicit OrderedDigests(std::size_t members) : digests_(members), next_(members) {}

  // Adds piece number `piece` of a member. Returns false when another thread has failed.
  bool Add(std::size_t member, std::size_t piece, std::span<const std::byte> data) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return failed_ || next_[member] == piece; });
      if (failed_) return false;
    }
    digests_[member].Update(data);  // no other thread has the turn
    const std::lock_guard lock(mutex_);
    ++next_[member];
    changed_.notify_all();
    return true;
  }

  // After the last piece.
  std::string Hex(std::size_t member) { return digests_[member].Hex(); }

  void Fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::vector<Sha256> digests_;
  std::vector<std::size_t> next_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool failed_ = false;
};

bool IsZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

struct ArchiveBundle::Scratch {
  struct Free {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context{ZSTD_createDCtx()};
  std::vector<std::byte> compressed;
  std::vector<std::byte> content;
};

ArchiveBundle::ArchiveBundle(const std::filesystem::path& path) : Bundle(path), file_(path), index_(ReadIndex(file_)) {
  for (const IndexEntry& entry : index_.entries) members_.push_back(entry.info);
  id_ = members_[0].sha256;
  manifest_ = ParseManifest(Read(kManifestPath, kMaxManifestSize));  // Read() checks the digest, and so the id
  CheckManifest();
}

ArchiveBundle::~ArchiveBundle() = default;

void ArchiveBundle::Fail(const std::string& what) const {
  if (file_.changed()) {
    throw Error(ErrorCode::kCorrupt, path_.string() + ": was changed while it was read: " + what,
                "try again when whatever writes it is done");
  }
  throw Error(ErrorCode::kCorrupt, path_.string() + ": " + what, "the file is damaged: copy or build it again");
}

// The manifest and the index list the same members.
void ArchiveBundle::CheckManifest() const {
  if (manifest_.members.size() + 1 != members_.size()) {
    Fail("the manifest lists " + std::to_string(manifest_.members.size()) + " members, the index " +
         std::to_string(members_.size() - 1));
  }
  for (std::size_t i = 0; i < manifest_.members.size(); ++i) {
    const Member& promised = manifest_.members[i];
    const MemberInfo& info = members_[i + 1];
    if (promised.path != info.path || promised.size != info.size ||
        (promised.build_key.empty() && promised.sha256 != info.sha256)) {
      Fail("the manifest's member '" + promised.path + "' is not what the index says of '" + info.path + "'");
    }
  }
}

std::unique_ptr<ArchiveBundle::Scratch> ArchiveBundle::TakeScratch() const {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Scratch>();
  auto scratch = std::move(idle_.back());
  idle_.pop_back();
  return scratch;
}

void ArchiveBundle::ReturnScratch(std::unique_ptr<Scratch> scratch) const {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

std::span<const std::byte> ArchiveBundle::Decompress(const Frame& frame, Scratch& scratch,
                                                     const std::string& what) const {
  auto& [context, compressed, content] = scratch;
  if (context == nullptr)
    throw Error(ErrorCode::kResourceExhausted, path_.string() + ": no memory to decompress " + what);
  compressed.resize(frame.compressed);
  file_.ReadAt(frame.offset, compressed);
  // Only what the index promises is allocated, and only one frame of exactly that content is accepted.
  if (ZSTD_findFrameCompressedSize(compressed.data(), compressed.size()) != frame.compressed ||
      ZSTD_getFrameContentSize(compressed.data(), compressed.size()) != frame.content ||
      (static_cast<unsigned char>(compressed[4]) & kChecksumFlag) == 0) {
    Fail(what + " is not one zstd frame of " + std::to_string(frame.content) + " bytes with a checksum");
  }
  content.resize(frame.content);
  const std::size_t size =
      ZSTD_decompressDCtx(context.get(), content.data(), content.size(), compressed.data(), compressed.size());
  if (ZSTD_isError(size)) Fail(what + " cannot be decompressed: " + ZSTD_getErrorName(size));
  if (size != frame.content) Fail(what + " is shorter than its header says");
  return content;
}

std::span<const std::byte> ArchiveBundle::Content(const IndexEntry& entry, std::size_t number, Scratch& scratch) const {
  const auto& [path, size, sha256] = entry.info;
  const auto frame =
      Decompress(entry.frames[number], scratch, "member '" + path + "': frame " + std::to_string(number));
  const std::uint64_t begin = number == 0 ? kTarBlock : 0;
  // Where the content ends in this frame: beyond the frame when more frames follow.
  const std::uint64_t end = std::min<std::uint64_t>(kTarBlock + size - number * kFrameContent, frame.size());
  if (number == 0) {
    const auto header = TarHeader(path, size);
    if (std::memcmp(frame.data(), header.data(), header.size()) != 0)
      Fail("member '" + path + "': the tar header differs from the index");
  }
  if (!IsZero(frame.subspan(end))) Fail("member '" + path + "': the padding is not zero");
  return frame.subspan(begin, end - begin);
}

void ArchiveBundle::Stream(std::span<const std::size_t> members, const Sink& sink, std::size_t threads) const {
  struct Job {
    std::size_t position;  // in `members`
    std::size_t frame;
  };
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < index_.entries.at(members[i]).frames.size(); ++k) jobs.push_back({i, k});
  }
  OrderedDigests digests(members.size());
  const auto run = [&](const Job& job, Scratch& scratch) {
    const IndexEntry& entry = index_.entries[members[job.position]];
    const auto data = Content(entry, job.frame, scratch);
    if (sink && !data.empty())
      sink(members[job.position], job.frame == 0 ? 0 : job.frame * kFrameContent - kTarBlock, data);
    if (!digests.Add(job.position, job.frame, data)) return;
    if (job.frame + 1 < entry.frames.size() || digests.Hex(job.position) == entry.info.sha256) return;
    Fail("member '" + entry.info.path + "': the digest is wrong");
  };
  ParallelFor(jobs.size(), threads, [&](std::size_t i) {
    try {
      auto scratch = TakeScratch();
      run(jobs[i], *scratch);
      ReturnScratch(std::move(scratch));
    } catch (...) {
      digests.Fail();  // before other threads wait for this one's piece
      throw;
    }
  });
  const std::lock_guard lock(mutex_);
  idle_.clear();
}

void ArchiveBundle::Verify(std::size_t threads, const Sink& watch) const {
  std::vector<std::size_t> all(members_.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  Stream(all, watch, threads);
  Scratch scratch;
  if (!IsZero(Decompress(index_.end, scratch, "the end of the tar"))) Fail("the end of the tar is not zero");
}

}  // namespace mconnect
