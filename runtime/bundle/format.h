// Bundle format 1, the parts that are arithmetic: limits, member paths, tar headers. docs/bundle-format.md is the
// specification; tools/builder/bundle/format.py is the same in Python.
#ifndef MCONNECT_BUNDLE_FORMAT_H_
#define MCONNECT_BUNDLE_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mconnect {

inline constexpr std::uint64_t kTarBlock = 512;
inline constexpr std::uint64_t kFrameContent = 4 << 20;  // bytes of tar stream in each frame but a member's last
inline constexpr std::uint64_t kTarEnd = 2 * kTarBlock;  // zero bytes that end a tar stream
inline constexpr std::uint32_t kSkippableMagic = 0x184D2A5D;
inline constexpr std::string_view kFooterMagic = "MCBUNDLE";
inline constexpr std::string_view kManifestPath = "manifest.json";
inline constexpr std::string_view kDigestsPath = "sha256sums";  // of the folder form

inline constexpr std::size_t kMaxPath = 255;
inline constexpr std::size_t kMaxMembers = 65536;
inline constexpr std::uint64_t kMaxMemberSize = std::uint64_t{1} << 40;
inline constexpr std::uint64_t kMaxManifestSize = 16 << 20;
inline constexpr std::uint64_t kMaxIndexSize = 16 << 20;

// What is wrong with a member path, for a message: "'..' is all dots". Empty when it may name a member.
std::string PathProblem(std::string_view path);

// What keeps those paths from living in one folder on any file system, each being valid by itself: two that differ only
// in case, one that is a folder of another, a reserved name. Empty when nothing does.
std::string CollisionProblem(const std::vector<std::string_view>& paths);

// The 512 bytes before a member's content, every field of which follows from the path and the size.
std::array<char, kTarBlock> TarHeader(std::string_view path, std::uint64_t size);

// Bytes of a member in the tar stream: header, content and padding.
constexpr std::uint64_t TarSize(std::uint64_t size) {
  return kTarBlock + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// Frames that those bytes are cut into.
constexpr std::uint64_t NumFrames(std::uint64_t size) { return (TarSize(size) + kFrameContent - 1) / kFrameContent; }

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_FORMAT_H_
