// Byte pair encoding (Sennrich et al. 2016): neighbours are merged in the order in which training learned the merges.
#ifndef MCONNECT_TEXT_MODEL_BPE_H_
#define MCONNECT_TEXT_MODEL_BPE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/model/model.h"
#include "runtime/text/model/token_table.h"

namespace mconnect {

class BpeModel : public TokenModel {
 public:
  // `reads_bytes`: pieces are bytes, where the vocabulary writes them in the byte-level alphabet.
  BpeModel(const JsonView& json, bool reads_bytes);

  void Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const override;
  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }

 private:
  struct Merge {
    std::uint32_t rank = kNoRank;
    TokenId id = 0;
  };
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFF;

  // From the ids of two neighbours to their merge: a hash table with open addressing.
  class MergeTable {
   public:
    explicit MergeTable(std::size_t count);
    void Insert(TokenId left, TokenId right, Merge merge);
    Merge Find(TokenId left, TokenId right) const;

   private:
    struct Slot {
      std::uint64_t pair = kEmpty;
      Merge merge;
    };
    static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
    static std::uint64_t Pair(TokenId left, TokenId right) {
      return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    }
    std::size_t Place(std::uint64_t pair) const;
    std::vector<Slot> slots_;
  };

  void AddMerges(const JsonView& merges);
  void AppendSymbols(std::string_view piece, std::vector<PieceToken>* symbols) const;
  TokenId UnknownId() const;
  // Merge the tokens from `first` on, in place.
  void MergeShort(std::size_t first, std::vector<PieceToken>* tokens) const;
  void MergeLong(std::size_t first, std::vector<PieceToken>* tokens) const;

  Vocabulary vocabulary_;
  MergeTable merges_;
  std::optional<std::string> unk_token_;
  std::string prefix_;  // of every symbol but the first
  std::string suffix_;  // of the last symbol
  bool fuse_unk_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  bool reads_bytes_;
  std::array<TokenId, 256> id_of_byte_ = {};  // reads_bytes
  std::vector<TokenId> id_of_char_;           // not reads_bytes: of the first code points, -1 for none; or empty
  TokenTable whole_;                          // what ignore_merges looks up
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_BPE_H_
