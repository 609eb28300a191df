#include "runtime/text/model/token_trie.h"

#include <algorithm>
#include <utility>

namespace mconnect {

TokenTrie::TokenTrie(const TokenMap& tokens) {
  using Entry = std::pair<std::string_view, TokenId>;
  std::vector<Entry> sorted(tokens.begin(), tokens.end());
  std::ranges::sort(sorted);  // by bytes, as char_traits<char> compares them

  struct Range {
    std::size_t begin, end, depth;  // the tokens below a node have their first `depth` bytes in common
  };
  std::vector<Range> ranges = {{0, sorted.size(), 0}};  // of nodes_
  nodes_.emplace_back();
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    auto [begin, end, depth] = ranges[at];
    if (begin < end && sorted[begin].first.size() == depth) nodes_[at].id = sorted[begin++].second;
    nodes_[at].children = static_cast<std::uint32_t>(nodes_.size());
    while (begin < end) {
      const char byte = sorted[begin].first[depth];
      std::size_t next = begin;
      while (next < end && sorted[next].first[depth] == byte) ++next;
      nodes_.emplace_back().byte = static_cast<unsigned char>(byte);
      ranges.push_back({begin, next, depth + 1});
      begin = next;
    }
    nodes_[at].count = static_cast<std::uint16_t>(nodes_.size() - nodes_[at].children);
  }
  for (std::uint32_t i = 0; i < nodes_[0].count; ++i) {
    roots_[nodes_[nodes_[0].children + i].byte] = nodes_[0].children + i;
  }
}

}  // namespace mconnect
