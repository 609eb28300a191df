// The ids of whole tokens, for fast look-ups.
#ifndef MCONNECT_TEXT_MODEL_TOKEN_TABLE_H_
#define MCONNECT_TEXT_MODEL_TOKEN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/model/vocabulary.h"

namespace mconnect {

// A hash table with open addressing, whose tokens lie behind each other in one text: a look-up of what is not there
// most often touches one line of memory.
class TokenTable {
 public:
  TokenTable() = default;  // empty
  explicit TokenTable(const TokenMap& tokens);

  // -1: not there.
  TokenId Find(std::string_view token) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t begin = 0;  // in text_
    std::uint32_t size = 0;
    TokenId id = -1;  // -1: free
  };

  std::vector<Slot> slots_;  // a power of two, or none
  std::string text_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_TOKEN_TABLE_H_
