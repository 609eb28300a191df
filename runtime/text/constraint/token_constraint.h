// Keeps a continuation inside of a grammar, token by token.
#ifndef MCONNECT_TEXT_CONSTRAINT_TOKEN_CONSTRAINT_H_
#define MCONNECT_TEXT_CONSTRAINT_TOKEN_CONSTRAINT_H_

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "runtime/text/constraint/automaton.h"
#include "runtime/text/constraint/grammar.h"
#include "runtime/text/constraint/vocabulary_trie.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// A grammar over a vocabulary. What was computed for one sequence serves all; any number of threads may share it.
class TokenConstraint {
 public:
  static constexpr std::size_t kMaskBytes = std::size_t{64} << 20;  // of masks that are kept

  TokenConstraint(Grammar grammar, std::shared_ptr<const VocabularyTrie> tokens);

 private:
  friend class ConstraintMatcher;

  std::shared_ptr<const VocabularyTrie> tokens_;
  mutable std::mutex mutex_;
  mutable Automaton automaton_;
  mutable std::map<Automaton::State, std::shared_ptr<const TokenMask>> masks_;
};

// Where one sequence stands. A copy goes on by itself.
class ConstraintMatcher {
 public:
  explicit ConstraintMatcher(std::shared_ptr<const TokenConstraint> constraint);

  // Sets the logits of all tokens to -inf that cannot follow; those of `end_tokens` unless the text may end here.
  // Throws Error(kUnsupported) where no token can follow and the text cannot end: the vocabulary lacks bytes.
  void Mask(std::span<const TokenId> end_tokens, std::span<float> logits) const;

  // Takes a token that Mask() admitted.
  void Accept(TokenId token);

  bool MustEnd() const;  // the text is whole and nothing can follow

 private:
  std::shared_ptr<const TokenConstraint> constraint_;
  Automaton::State state_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_TOKEN_CONSTRAINT_H_
