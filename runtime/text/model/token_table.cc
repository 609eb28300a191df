#include "runtime/text/model/token_table.h"

#include <bit>

namespace mconnect {

TokenTable::TokenTable(const TokenMap& tokens) : slots_(std::bit_ceil(2 * tokens.size() + 1)) {
  for (const auto& [token, id] : tokens) {
    const std::size_t hash = TextHash()(token);
    std::size_t at = hash & (slots_.size() - 1);
    while (slots_[at].id >= 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(text_.size()),
                  static_cast<std::uint32_t>(token.size()), id};
    text_ += token;
  }
}

TokenId TokenTable::Find(std::string_view token) const {
  if (slots_.empty()) return -1;
  const std::size_t hash = TextHash()(token);
  for (std::size_t at = hash & (slots_.size() - 1); slots_[at].id >= 0; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.hash == static_cast<std::uint32_t>(hash >> 32) && slot.size == token.size() &&
        token == std::string_view(text_).substr(slot.begin, slot.size)) {
      return slot.id;
    }
  }
  return -1;
}

}  // namespace mconnect
