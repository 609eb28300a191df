#include "runtime/text/token_cache.h"

#include <new>

namespace mconnect {

void TokenCache::Put(std::string_view part, std::uint8_t kind, std::span<const CachedToken> tokens) {
  if (part.empty() || part.size() > kMaxBytes || tokens.size() > kMaxTokens ||
      part.size() + tokens.size() * kTokenBytes > sizeof Slot::data) {
    return;
  }
  if (slots_ == nullptr) {
    slots_.reset(static_cast<Slot*>(std::calloc(kSlots, sizeof(Slot))));
    if (slots_ == nullptr) throw std::bad_alloc();
  }
  Slot* slot = &slots_.get()[Place(part, kind)];
  slot[1] = slot[0];
  slot->byte_count = static_cast<std::uint8_t>(part.size());
  slot->token_count = static_cast<std::uint8_t>(tokens.size());
  slot->kind = kind;
  std::memcpy(slot->data, part.data(), part.size());
  char* at = slot->data + part.size();
  for (const CachedToken& token : tokens) {
    std::memcpy(at, &token.id, sizeof token.id);
    at[4] = static_cast<char>(token.begin);
    at[5] = static_cast<char>(token.end);
    at += kTokenBytes;
  }
}

}  // namespace mconnect
