#include "runtime/text/model/token_trie.h"

#include <algorithm>
#include <utility>

namespace mconnect {
namespace {

// The places that are free for children, in the last blocks of the array: earlier ones are almost full.
class FreePlaces {
 public:
  static constexpr std::uint32_t kBlock = 256;
  static constexpr std::uint32_t kOpenBlocks = 16;

  // The base of a node with children by these bytes, whose places are then taken. May add a block.
  std::uint32_t Take(const std::vector<unsigned char>& bytes) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::uint32_t base = places_[i] ^ bytes[0];
      if (std::ranges::all_of(bytes, [&](unsigned char byte) { return free_[base ^ byte]; })) return Take(base, bytes);
    }
    const auto begin = static_cast<std::uint32_t>(free_.size());
    free_.resize(begin + kBlock, true);
    std::erase_if(places_, [&](std::uint32_t place) { return place + kOpenBlocks * kBlock < begin + kBlock; });
    for (std::uint32_t place = begin; place < begin + kBlock; ++place) places_.push_back(place);
    return Take(begin, bytes);
  }

  // The place of the root.
  void TakeRoot() { Take({0}); }

  std::size_t size() const noexcept { return free_.size(); }

 private:
  std::uint32_t Take(std::uint32_t base, const std::vector<unsigned char>& bytes) {
    for (const unsigned char byte : bytes) free_[base ^ byte] = false;
    if (++taken_ % 16 == 0 || bytes.size() > 4)
      std::erase_if(places_, [&](std::uint32_t place) { return !free_[place]; });
    return base;
  }

  std::vector<bool> free_;
  std::vector<std::uint32_t> places_;  // some may have been taken
  std::size_t taken_ = 0;
};

}  // namespace

TokenTrie::TokenTrie(const TokenMap& tokens) {
  using Entry = std::pair<std::string_view, TokenId>;
  std::vector<Entry> sorted(tokens.begin(), tokens.end());
  std::ranges::sort(sorted);  // by bytes, as char_traits<char> compares them

  struct Range {
    std::uint32_t node;
    std::size_t begin, end, depth;  // the tokens below the node have their first `depth` bytes in common
  };
  FreePlaces places;
  places.TakeRoot();
  units_.resize(places.size());
  std::vector<Range> todo = {{0, 0, sorted.size(), 0}};
  std::vector<Range> children;
  std::vector<unsigned char> bytes;
  while (!todo.empty()) {
    auto [node, begin, end, depth] = todo.back();
    todo.pop_back();
    if (begin < end && sorted[begin].first.size() == depth) units_[node].id = sorted[begin++].second;
    if (begin == end) continue;
    children.clear();
    bytes.clear();
    while (begin < end) {
      const char byte = sorted[begin].first[depth];
      std::size_t next = begin;
      while (next < end && sorted[next].first[depth] == byte) ++next;
      children.push_back({0, begin, next, depth + 1});
      bytes.push_back(static_cast<unsigned char>(byte));
      begin = next;
    }
    const std::uint32_t base = places.Take(bytes);
    units_.resize(places.size());
    units_[node].base = base;
    for (std::size_t i = 0; i < children.size(); ++i) {
      children[i].node = base ^ bytes[i];
      units_[children[i].node].parent = node;
    }
    todo.insert(todo.end(), children.rbegin(), children.rend());
  }
}

}  // namespace mconnect
