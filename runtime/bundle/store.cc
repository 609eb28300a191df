#include "runtime/bundle/store.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/parallel.h"
#include "runtime/base/sha256.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBatch = 32;  // blobs written at a time: each holds a file descriptor

bool IsComplete(const fs::path& blob, std::uint64_t size) {
  std::error_code error;
  const std::uint64_t found = fs::file_size(blob, error);
  return !error && found == size;
}

void RequireSpace(const fs::path& folder, std::uint64_t size) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error || space.available >= size) return;  // an unknown amount shows when it is reserved
  throw Error(
      ErrorCode::kResourceExhausted,
      folder.string() + ": needs " + std::to_string(size) + " bytes, " + std::to_string(space.available) + " are free",
      "free some space or set MCONNECT_STORE to a folder on another disk");
}

// Extracts some members, given by digest and position. `missing` is sorted, so that processes that want several of the
// same blobs lock them in the same order.
void Extract(const Bundle& bundle, const fs::path& blobs,
             std::span<const std::pair<std::string, std::size_t>> missing) {
  std::map<std::size_t, std::unique_ptr<AtomicFile>> files;
  std::vector<std::size_t> positions;
  for (const auto& [sha256, position] : missing) {
    auto file = std::make_unique<AtomicFile>(blobs / sha256);  // waits for whoever is writing it
    const std::uint64_t size = bundle.members()[position].size;
    if (IsComplete(blobs / sha256, size)) continue;
    RequireSpace(blobs, size);
    file->Reserve(size);
    files.emplace(position, std::move(file));
    positions.push_back(position);
  }
  bundle.Stream(positions, [&](std::size_t member, std::uint64_t offset, std::span<const std::byte> data) {
    files.find(member)->second->WriteAt(offset, data);
  });
  for (const auto& [position, file] : files) file->Commit(0444);
}

const char* Environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace

fs::path Store::DefaultFolder() {
  constexpr std::pair<const char*, const char*> kChoices[] = {
      {"MCONNECT_STORE", ""}, {"XDG_CACHE_HOME", "mconnect/store"}, {"HOME", ".cache/mconnect/store"}};
  for (const auto& [variable, below] : kChoices) {
    const char* value = Environment(variable);
    if (value == nullptr) continue;
    const fs::path folder = value;
    // Its specification wants a relative path to be ignored, not refused.
    if (!folder.is_absolute() && std::string_view(variable) == "XDG_CACHE_HOME") continue;
    if (!folder.is_absolute()) {
      throw Error(ErrorCode::kInvalidArgument, std::string(variable) + " is '" + value + "', not an absolute path");
    }
    return *below == '\0' ? folder : folder / below;
  }
  throw Error(ErrorCode::kInvalidArgument, "no folder for the store is known",
              "set MCONNECT_STORE, XDG_CACHE_HOME or HOME to an absolute path");
}

std::vector<fs::path> Store::Materialize(const Bundle& bundle, std::span<const std::string> members) const {
  const fs::path blobs = folder_ / "blobs";
  std::vector<fs::path> paths;
  std::map<std::string, std::size_t> missing;  // digest → position
  for (const std::string& member : members) {
    const MemberInfo& info = bundle.member(member);
    if (fs::path file = bundle.FileOf(member); !file.empty()) {
      paths.push_back(std::move(file));
      continue;
    }
    paths.push_back(blobs / info.sha256);
    if (!missing.contains(info.sha256) && !IsComplete(paths.back(), info.size)) {
      if (std::error_code none; fs::exists(paths.back(), none)) {
        Log(LogLevel::kWarning, paths.back().string() + ": damaged, its size is wrong; extracting it again");
      }
      missing.emplace(info.sha256, static_cast<std::size_t>(&info - bundle.members().data()));
    }
  }
  if (missing.empty()) return paths;
  std::error_code error;
  fs::create_directories(blobs, error);
  if (error) ThrowErrno(error.value(), blobs, "create the store");
  RemoveStalePartials(blobs);
  const std::vector<std::pair<std::string, std::size_t>> sorted(missing.begin(), missing.end());
  for (std::size_t i = 0; i < sorted.size(); i += kBatch) {
    Extract(bundle, blobs, std::span(sorted).subspan(i, std::min(kBatch, sorted.size() - i)));
  }
  return paths;
}

VariantFiles Store::Materialize(const Bundle& bundle, const Variant& variant) const {
  std::vector<std::string> members = {variant.path};
  if (variant.weights) members.push_back(*variant.weights);
  std::vector<fs::path> paths = Materialize(bundle, members);
  return {paths[0], variant.weights ? paths[1] : fs::path()};
}

std::vector<std::string> Store::Verify() const {
  std::vector<fs::path> blobs;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_ / "blobs", error)) {
    if (IsSha256Hex(entry.path().filename().string())) blobs.push_back(entry.path());
  }
  return VerifyBlobs(blobs);
}

std::vector<std::string> Store::Verify(const Bundle& bundle) const {
  std::set<fs::path> blobs;  // members may be equal
  for (const MemberInfo& info : bundle.members()) {
    const fs::path blob = folder_ / "blobs" / info.sha256;
    if (std::error_code error; !info.sha256.empty() && fs::exists(blob, error)) blobs.insert(blob);
  }
  return VerifyBlobs({blobs.begin(), blobs.end()});
}

std::vector<std::string> Store::VerifyBlobs(const std::vector<fs::path>& blobs) const {
  std::mutex mutex;
  std::vector<std::string> damaged;
  ParallelFor(blobs.size(), 0, [&](std::size_t i) {
    const auto file = MappedFile::Open(blobs[i]);
    Sha256 digest;
    digest.Update(file->bytes());
    if (digest.Hex() == blobs[i].filename()) return;
    if (std::error_code failed; !fs::remove(blobs[i], failed) && failed) ThrowErrno(failed.value(), blobs[i], "remove");
    const std::lock_guard lock(mutex);
    damaged.push_back(blobs[i].filename());
  });
  std::ranges::sort(damaged);
  return damaged;
}

}  // namespace mconnect
