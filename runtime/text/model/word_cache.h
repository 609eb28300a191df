// The tokens of pieces seen before, in bounded memory.
#ifndef MCONNECT_TEXT_MODEL_WORD_CACHE_H_
#define MCONNECT_TEXT_MODEL_WORD_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/text/model/model.h"

namespace mconnect {

// A table in which each piece has one place, where the last one wins. Pieces that are long or have many tokens are not
// kept. 2 MiB at most, of which the operating system gives out what is used. For one thread.
class WordCache {
 public:
  // Appends the tokens of the piece by the model. All calls must be with the same model.
  void Tokenize(const TokenModel& model, std::string_view piece, std::vector<PieceToken>* tokens);

 private:
  static constexpr std::size_t kSlots = 1 << 14;
  static constexpr std::size_t kMaxTokens = 12;
  static constexpr std::size_t kMaxBytes = 62;

  struct Slot {
    TokenId ids[kMaxTokens];
    std::uint8_t sizes[kMaxTokens];
    std::uint8_t token_count;  // 0: free
    std::uint8_t byte_count;
    char bytes[kMaxBytes + 4];
  };
  static_assert(sizeof(Slot) == 128);

  std::vector<Slot> slots_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_WORD_CACHE_H_
