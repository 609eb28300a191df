#include "runtime/text/constraint/vocabulary_trie.h"

#include <algorithm>
#include <utility>

namespace mconnect {
namespace {

constexpr std::size_t kLongest = 60'000;  // bytes of a token that can be chosen

}  // namespace

VocabularyTrie::VocabularyTrie(TokenBytes tokens) : bytes_(std::move(tokens.bytes)), skips_space_(tokens.skips_space) {
  for (std::size_t id = 0; id < bytes_.size(); ++id) {
    if (!bytes_[id].empty() && bytes_[id].size() <= kLongest) ids_.push_back(static_cast<TokenId>(id));
  }
  std::ranges::sort(ids_, [this](TokenId a, TokenId b) { return bytes(a) != bytes(b) ? bytes(a) < bytes(b) : a < b; });
  std::vector<std::uint32_t> open;  // nodes on the way to the last token
  const auto close = [&](std::size_t depth) {
    while (open.size() > depth) {
      nodes_[open.back()].skip = static_cast<std::uint32_t>(nodes_.size());
      open.pop_back();
    }
  };
  const std::string* last = nullptr;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::string& text = bytes(ids_[i]);
    std::size_t common = 0;
    if (last != nullptr) {
      common = static_cast<std::size_t>(std::ranges::mismatch(*last, text).in1 - last->begin());
    }
    if (last != nullptr && common == text.size() && common == last->size()) continue;  // the same bytes again
    close(common);
    for (std::size_t depth = common; depth < text.size(); ++depth) {
      open.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({0, static_cast<std::uint32_t>(i), static_cast<std::uint16_t>(depth),
                        static_cast<unsigned char>(text[depth])});
    }
    last = &text;
  }
  close(0);
}

TokenMask VocabularyTrie::Allowed(Automaton& automaton, Automaton::State state) const {
  TokenMask mask((bytes_.size() + 63) / 64);
  std::vector<Automaton::State> states = {state};  // by depth
  for (std::size_t at = 0; at < nodes_.size();) {
    const Node& node = nodes_[at];
    states.resize(std::size_t{node.depth} + 1);
    const Automaton::State next = automaton.Next(states.back(), node.byte);
    if (next == Automaton::kDead) {
      at = node.skip;
      continue;
    }
    states.push_back(next);
    // Sorted by bytes, the tokens that end here are the first of those below this node.
    for (std::size_t i = node.first_token; i < ids_.size() && bytes(ids_[i]).size() == node.depth + 1u; ++i) {
      if (i > node.first_token && bytes(ids_[i]) != bytes(ids_[node.first_token])) break;
      mask[static_cast<std::size_t>(ids_[i]) / 64] |= std::uint64_t{1} << (ids_[i] % 64);
    }
    ++at;
  }
  return mask;
}

}  // namespace mconnect
