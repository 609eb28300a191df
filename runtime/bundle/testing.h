// Help for the tests of this folder: valid bundles to start from, and the pieces to make bad ones.
#ifndef MCONNECT_BUNDLE_TESTING_H_
#define MCONNECT_BUNDLE_TESTING_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/json.h"

namespace mconnect::testing_bundle {

// Written by tools/builder/bundle/make_example.py.
std::filesystem::path Small();
std::filesystem::path Large();  // has members of several frames and a build key

// A test with an empty folder of its own.
class FolderTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::filesystem::path folder_;
};

// Names of the regular files below a folder, relative and sorted.
std::vector<std::string> FilesBelow(const std::filesystem::path& folder);

std::string ReadAll(const std::filesystem::path& path);
void WriteAll(const std::filesystem::path& path, std::string_view content);

// The code of the Error that `call` throws; its message must contain `part`. kInternal when it throws nothing.
ErrorCode CodeOf(const std::function<void()>& call, std::string_view part = "");

// One zstd frame.
std::string Compress(std::string_view content, bool checksum = true, bool content_size = true);

// A bundle taken apart. Assemble() puts index and footer as they are behind the frames, so that each part can lie.
struct Parts {
  std::vector<std::vector<std::string>> frames;  // of each member, compressed
  std::string end;                               // the last frame
  Json index;
  Json manifest;

  static Parts Of(const std::filesystem::path& path);

  // Replaces a member's content and what the index says of it.
  void Set(std::size_t member, const std::string& path, const std::string& content);

  // Replaces manifest.json by this text, or by the canonical form of `manifest`.
  void SetManifest(const std::string& text) { Set(0, "manifest.json", text); }
  void SetManifest() { SetManifest(manifest.dump() + "\n"); }

  // Replaces one frame and its size in the index.
  void SetFrame(std::size_t member, std::size_t number, const std::string& compressed);

  std::string Body() const;
  std::string Assemble() const;
};

// `body`, then the skippable frame of an index with a right digest.
std::string Seal(const std::string& body, const std::string& index);

}  // namespace mconnect::testing_bundle

#endif  // MCONNECT_BUNDLE_TESTING_H_
