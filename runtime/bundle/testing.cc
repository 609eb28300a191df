#include "runtime/bundle/testing.h"

#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runtime/base/file.h"
#include "runtime/base/sha256.h"
#include "runtime/bundle/archive.h"
#include "runtime/bundle/format.h"
#include "runtime/bundle/index.h"

namespace mconnect::testing_bundle {
namespace {

namespace fs = std::filesystem;

fs::path FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set: run the test with Bazel");
  return value;
}

std::string Little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

}  // namespace

fs::path Small() { return FromEnvironment("SMALL_BUNDLE"); }
fs::path Large() { return FromEnvironment("LARGE_BUNDLE"); }

void FolderTest::SetUp() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  folder_ = fs::path(testing::TempDir()) / (std::string(info->test_suite_name()) + "." + info->name());
  fs::remove_all(folder_);
  fs::create_directories(folder_);
}

void FolderTest::TearDown() { fs::remove_all(folder_); }

std::vector<std::string> FilesBelow(const fs::path& folder) {
  std::vector<std::string> names;
  if (!fs::exists(folder)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) names.push_back(entry.path().lexically_relative(folder));
  }
  std::ranges::sort(names);
  return names;
}

std::string ReadAll(const fs::path& path) { return ReadFile(path, std::uint64_t{1} << 30); }

void WriteAll(const fs::path& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

ErrorCode CodeOf(const std::function<void()>& call, std::string_view part) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find(part), std::string::npos) << "expected '" << part << "' in: " << e.what();
    return e.code();
  }
  ADD_FAILURE() << "nothing was refused; expected '" << part << "'";
  return ErrorCode::kInternal;
}

std::string Compress(std::string_view content, bool checksum, bool content_size) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, content_size);
  std::string out(ZSTD_compressBound(content.size()), '\0');
  const std::size_t size = ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  out.resize(size);
  return out;
}

Parts Parts::Of(const fs::path& path) {
  const std::string bytes = ReadAll(path);
  const File file(path);
  Parts parts;
  parts.index = {{"format", 1}, {"members", Json::array()}};
  const Index index = ReadIndex(file);
  for (const IndexEntry& entry : index.entries) {
    Json sizes = Json::array();
    parts.frames.emplace_back();
    for (const Frame& frame : entry.frames) {
      parts.frames.back().push_back(bytes.substr(frame.offset, frame.compressed));
      sizes.push_back(frame.compressed);
    }
    parts.index["members"].push_back(
        {{"path", entry.info.path}, {"size", entry.info.size}, {"sha256", entry.info.sha256}, {"frames", sizes}});
  }
  parts.end = bytes.substr(index.end.offset, index.end.compressed);
  parts.index["end"] = parts.end.size();
  parts.manifest = ParseJson(ArchiveBundle(path).Read(kManifestPath), "manifest.json");
  return parts;
}

void Parts::Set(std::size_t member, const std::string& path, const std::string& content) {
  const auto header = TarHeader(path, content.size());
  std::string stream = std::string(header.data(), header.size()) + content;
  stream.resize(TarSize(content.size()));
  frames.at(member).clear();
  Json sizes = Json::array();
  for (std::size_t i = 0; i < stream.size(); i += kFrameContent) {
    frames[member].push_back(Compress(std::string_view(stream).substr(i, kFrameContent)));
    sizes.push_back(frames[member].back().size());
  }
  index["members"][member] = {
      {"path", path}, {"size", content.size()}, {"sha256", Sha256Hex(content)}, {"frames", sizes}};
}

void Parts::SetFrame(std::size_t member, std::size_t number, const std::string& compressed) {
  frames.at(member).at(number) = compressed;
  index["members"][member]["frames"][number] = compressed.size();
}

std::string Parts::Body() const {
  std::string body;
  for (const auto& member : frames) {
    for (const std::string& frame : member) body += frame;
  }
  return body + end;
}

std::string Parts::Assemble() const { return Seal(Body(), index.dump() + "\n"); }

std::string Seal(const std::string& body, const std::string& index) {
  std::string digest;
  const std::string hex = Sha256Hex(index);
  for (std::size_t i = 0; i < hex.size(); i += 2) digest += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return body + Little(kSkippableMagic, 4) + Little(index.size() + 56, 4) + index + digest + Little(index.size(), 8) +
         Little(1, 4) + Little(0, 4) + std::string(kFooterMagic);
}

}  // namespace mconnect::testing_bundle
