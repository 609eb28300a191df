// Any bundle file: its footer, index, manifest, frames and tar headers, reading, verifying and unpacking it.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/file.h"
#include "runtime/base/testing/fuzzing.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/manifest.h"
#include "runtime/bundle/store.h"
#include "runtime/bundle/testing.h"

namespace mconnect {
namespace {

namespace fs = std::filesystem;
using testing_bundle::Parts;

constexpr std::uint64_t kMemberLimit = 64 << 20;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    Require(::write(fd_.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()),
            "a file in memory");
  }
  fs::path path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

 private:
  Descriptor fd_;
};

// A folder of this process's own, empty but for what a mistake leaves.
const fs::path& Folder() {
  static const fs::path folder = [] {
    const char* base = std::getenv("TEST_TMPDIR");
    fs::path path = fs::path(base != nullptr ? base : fs::temp_directory_path().c_str()) /
                    ("bundle_fuzz." + std::to_string(::getpid()));
    fs::create_directories(path / "beside");
    std::atexit([] { fs::remove_all(Folder()); });
    return path;
  }();
  return folder;
}

void Read(const Bundle& bundle) {
  std::uint64_t total = 0;
  for (const MemberInfo& info : bundle.members()) total += info.size;
  for (const MemberInfo& info : bundle.members()) {
    try {
      const std::string content = bundle.Read(info.path, kMemberLimit);
      Require(content.size() == info.size, "a member has the size that the index says");
    } catch (const Error&) {
    }
  }
  try {
    bundle.Verify(2);
  } catch (const Error&) {
  }
  if (total > kMemberLimit) return;
  try {
    Unpack(bundle, Folder() / "beside" / "out");
    Bundle::Open(Folder() / "beside" / "out")->Verify();
  } catch (const Error&) {
  }
  fs::remove_all(Folder() / "beside" / "out");
  Require(fs::is_empty(Folder() / "beside") && std::distance(fs::directory_iterator(Folder()), {}) == 1,
          "unpacking touches nothing beside its target");
}

// A frame of what a careless or hostile writer could put in it.
std::string OddFrame(const std::string& frame, fuzzing::Random& random) {
  switch (fuzzing::Below(5, random)) {
    case 0:
      return testing_bundle::Compress(std::string(fuzzing::Below(5 << 20, random), '\0'));
    case 1:
      return testing_bundle::Compress("text", /*checksum=*/false);
    case 2:
      return testing_bundle::Compress(std::string(1024, 'x'), true, /*content_size=*/false);
    case 3:
      return frame + frame;
    default:
      return fuzzing::MutateBytes(frame, random);
  }
}

// Changes one part of a bundle that is whole otherwise, so that its digests are right where they can be.
std::string ChangePart(Parts parts, fuzzing::Random& random) {
  const std::size_t member = fuzzing::Below(parts.frames.size(), random);
  switch (fuzzing::Below(6, random)) {
    case 0:
    case 1: {
      std::string manifest = parts.manifest.dump() + "\n";
      manifest = fuzzing::MutateJson(manifest, random);
      // Canonical, most of the time: objects with sorted keys.
      const Json json = Json::parse(manifest, nullptr, false);
      if (!json.is_discarded() && fuzzing::Below(8, random) > 0)
        manifest = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
      parts.SetManifest(manifest);
      return parts.Assemble();
    }
    case 2:
      return testing_bundle::Seal(parts.Body(), fuzzing::MutateJson(parts.index.dump(), random));
    case 3:
      if (parts.frames[member].empty()) return parts.Assemble();
      parts.SetFrame(member, fuzzing::Below(parts.frames[member].size(), random),
                     OddFrame(parts.frames[member][0], random));
      return parts.Assemble();
    case 4: {
      std::string path = parts.index["members"][member]["path"];
      if (fuzzing::Below(2, random) == 0) path = fuzzing::MutateBytes(path, random);
      const std::string old = parts.index["members"][member]["path"];
      parts.Set(member, path, fuzzing::MutateBytes("some content", random));
      for (Json& entry : parts.manifest["members"]) {
        if (entry["path"] != old) continue;
        entry["path"] = path;
        entry["size"] = parts.index["members"][member]["size"];
        if (entry.contains("sha256")) entry["sha256"] = parts.index["members"][member]["sha256"];
      }
      if (member != 0) {
        std::string manifest = parts.manifest.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        parts.SetManifest(manifest);
      }
      return testing_bundle::Seal(parts.Body(),
                                  parts.index.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
    default:
      return parts.Assemble().append(fuzzing::Below(100, random), '\0');
  }
}

std::string Mutate(const std::string& input, fuzzing::Random& random) {
  if (input.starts_with('{')) return fuzzing::Mutate(input, random);
  if (fuzzing::Below(5, random) > 0) {
    try {
      return ChangePart(Parts::Of(MemoryFile(input).path()), random);
    } catch (const std::exception&) {  // no whole bundle any more: a good one instead, or by bytes
      if (fuzzing::Below(2, random) == 0) return ChangePart(Parts::Of(testing_bundle::Small()), random);
    }
  }
  // Most of all the last kilobyte: footer and index.
  const std::size_t head =
      fuzzing::Below(2, random) == 0 ? 0 : input.size() - std::min<std::size_t>(input.size(), 1024);
  return input.substr(0, head) + fuzzing::MutateBytes(input.substr(head), random);
}

}  // namespace

// A bundle, and a manifest by itself.
const std::vector<std::string>& fuzzing::Seeds() {
  static const std::vector<std::string> seeds = {testing_bundle::ReadAll(testing_bundle::Small()),
                                                 Parts::Of(testing_bundle::Small()).manifest.dump() + "\n"};
  return seeds;
}

}  // namespace mconnect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mconnect;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    if (input.starts_with('{')) {
      ParseManifest(input);
      fuzzing::Accept();
      return 0;
    }
    const MemoryFile file(input);
    const auto bundle = Bundle::Open(file.path());
    fuzzing::Accept();
    Read(*bundle);
  } catch (const Error&) {  // a fair answer
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned int seed) {
  mconnect::fuzzing::Random random(seed);
  const std::string changed = mconnect::Mutate({reinterpret_cast<const char*>(data), size}, random);
  if (changed.size() > capacity) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
