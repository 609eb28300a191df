// The index at the end of a bundle file.
#ifndef MCONNECT_BUNDLE_INDEX_H_
#define MCONNECT_BUNDLE_INDEX_H_

#include <cstdint>
#include <vector>

#include "runtime/base/file.h"
#include "runtime/bundle/bundle.h"

namespace mconnect {

// One zstd frame: `compressed` bytes at `offset` of the file hold `content` bytes of the tar stream.
struct Frame {
  std::uint64_t offset;
  std::uint64_t compressed;
  std::uint64_t content;
};

struct IndexEntry {
  MemberInfo info;
  std::vector<Frame> frames;
};

struct Index {
  std::vector<IndexEntry> entries;  // manifest.json first
  Frame end;                        // the end of the tar stream
};

// Reads the footer and the index. The frames that it returns tile the file from byte 0 to the index: none overlaps or
// leaves a gap, and each holds what the sizes of the members say.
// Throws Error(kCorrupt) that says what does not add up, Error(kUnsupported) for another format.
Index ReadIndex(const File& file);

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_INDEX_H_
