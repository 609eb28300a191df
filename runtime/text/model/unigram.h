// The unigram language model (Kudo 2018; SentencePiece): of all ways to cut a piece into tokens, the most probable one.
#ifndef MCONNECT_TEXT_MODEL_UNIGRAM_H_
#define MCONNECT_TEXT_MODEL_UNIGRAM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/model/model.h"
#include "runtime/text/model/token_trie.h"

namespace mconnect {

class UnigramModel : public TokenModel {
 public:
  // "vocab": [["token", log probability], ...], where a token's place is its id.
  explicit UnigramModel(const JsonView& json);

  void Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const override;
  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }

 private:
  // The best way to get to a byte of the piece.
  struct Best {
    double score;
    std::uint32_t begin;  // of the last token on it
    std::uint32_t next;   // the end of the token after it, where it is part of the whole piece's best way
    TokenId id;
  };
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFF;

  // Fills `best`, which has an entry for each byte of the piece and one for its end.
  void FindBest(std::string_view piece, std::span<Best> best) const;
  // Appends the tokens of a run of unknown characters.
  void AppendUnknown(std::string_view run, std::vector<PieceToken>* tokens) const;

  std::vector<double> scores_;  // by id
  Vocabulary vocabulary_;
  TokenTrie trie_;
  std::optional<TokenId> unk_id_;
  double unk_score_ = 0;
  bool byte_fallback_ = false;
  std::vector<TokenId> id_of_byte_;  // empty unless all bytes have tokens; -1: none
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_UNIGRAM_H_
