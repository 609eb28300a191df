// The tokens that a text begins with.
#ifndef MCONNECT_TEXT_MODEL_TOKEN_TRIE_H_
#define MCONNECT_TEXT_MODEL_TOKEN_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/text/model/vocabulary.h"

namespace mconnect {

// A trie over bytes in a double array (Aoe 1989): the child of a node by a byte lies at the node's base XOR the byte,
// if the node is what that place names as its parent.
class TokenTrie {
 public:
  explicit TokenTrie(const TokenMap& tokens);

  // Calls each(size, id) for every token that `text` begins with, the shortest first. Not for the empty token.
  template <typename F>
  void ForEachPrefix(std::string_view text, F each) const {
    const Unit* const units = units_.data();
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::uint32_t child = units[node].base ^ static_cast<unsigned char>(text[i]);
      if (units[child].parent != node) return;
      node = child;
      if (units[node].id >= 0) each(i + 1, units[node].id);
    }
  }

 private:
  static constexpr std::uint32_t kFree = 0xFFFFFFFF;

  struct Unit {
    std::uint32_t base = 0;
    std::uint32_t parent = kFree;
    TokenId id = -1;
  };

  std::vector<Unit> units_;  // whole blocks of 256; the first is the root
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_TOKEN_TRIE_H_
