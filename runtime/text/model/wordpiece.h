// WordPiece (Schuster and Nakajima 2012; BERT): the longest token of the vocabulary, again and again.
#ifndef MCONNECT_TEXT_MODEL_WORDPIECE_H_
#define MCONNECT_TEXT_MODEL_WORDPIECE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/model/model.h"
#include "runtime/text/model/token_trie.h"

namespace mconnect {

class WordPieceModel : public TokenModel {
 public:
  explicit WordPieceModel(const JsonView& json);

  void Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const override;
  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::string unk_token_;
  std::size_t max_chars_;
  TokenTrie initial_;
  TokenTrie continuing_;  // the tokens that begin with the prefix, without it
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_WORDPIECE_H_
