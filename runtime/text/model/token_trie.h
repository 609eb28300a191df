// The tokens that a text begins with.
#ifndef MCONNECT_TEXT_MODEL_TOKEN_TRIE_H_
#define MCONNECT_TEXT_MODEL_TOKEN_TRIE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/text/model/vocabulary.h"

namespace mconnect {

// A trie over bytes, whose nodes lie breadth first in one array: the children of a node beside each other.
class TokenTrie {
 public:
  explicit TokenTrie(const TokenMap& tokens);

  // Calls each(size, id) for every token that `text` begins with, the shortest first. Not for the empty token.
  template <typename F>
  void ForEachPrefix(std::string_view text, F each) const {
    const Node* node = nullptr;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      node = i == 0 ? Root(byte) : Child(*node, byte);
      if (node == nullptr) return;
      if (node->id >= 0) each(i + 1, node->id);
    }
  }

 private:
  static constexpr std::uint16_t kFew = 8;  // children that are cheaper to look at one by one

  struct Node {
    std::uint32_t children = 0;
    TokenId id = -1;
    std::uint16_t count = 0;
    unsigned char byte = 0;
  };

  const Node* Root(unsigned char byte) const { return roots_[byte] == 0 ? nullptr : &nodes_[roots_[byte]]; }

  const Node* Child(const Node& node, unsigned char byte) const {
    const Node* child = nodes_.data() + node.children;
    const Node* const end = child + node.count;
    if (node.count > kFew) {
      child = std::lower_bound(child, end, byte, [](const Node& other, unsigned char b) { return other.byte < b; });
    } else {
      while (child < end && child->byte < byte) ++child;
    }
    return child < end && child->byte == byte ? child : nullptr;
  }

  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> roots_ = {};  // 0: none, as 0 is the root itself
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_TOKEN_TRIE_H_
