// All tokens of a vocabulary, by their bytes.
#ifndef MCONNECT_TEXT_CONSTRAINT_VOCABULARY_TRIE_H_
#define MCONNECT_TEXT_CONSTRAINT_VOCABULARY_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/text/constraint/automaton.h"
#include "runtime/text/constraint/token_bytes.h"

namespace mconnect {

// A bit for each token.
using TokenMask = std::vector<std::uint64_t>;

// Immutable once made.
class VocabularyTrie {
 public:
  explicit VocabularyTrie(TokenBytes tokens);

  const std::string& bytes(TokenId id) const { return bytes_[static_cast<std::size_t>(id)]; }
  std::size_t vocabulary() const { return bytes_.size(); }
  bool skips_space() const { return skips_space_; }

  // The tokens whose bytes lead from `state` to a state that is not dead.
  TokenMask Allowed(Automaton& automaton, Automaton::State state) const;

 private:
  // In depth-first order: the children of a node follow it, and `skip` is the first node that is no descendant.
  struct Node {
    std::uint32_t skip;
    std::uint32_t first_token;  // in ids_: the first whose bytes go through this node; those that end here come first
    std::uint16_t depth;        // bytes before this node's
    unsigned char byte;
  };

  std::vector<std::string> bytes_;
  bool skips_space_;
  std::vector<TokenId> ids_;  // sorted by bytes
  std::vector<Node> nodes_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_VOCABULARY_TRIE_H_
