#include "runtime/text/model/word_cache.h"

#include <cstring>

namespace mconnect {
namespace {

std::uint64_t Hash(std::string_view text) {
  std::uint64_t hash = text.size();
  const auto mix = [&hash](std::uint64_t chunk) {
    hash = (hash ^ chunk) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  };
  while (text.size() >= 8) {
    std::uint64_t chunk;
    std::memcpy(&chunk, text.data(), 8);
    mix(chunk);
    text.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  for (const char b : text) rest = rest << 8 | static_cast<unsigned char>(b);
  mix(rest);
  return hash;
}

}  // namespace

void WordCache::Tokenize(const TokenModel& model, std::string_view piece, std::vector<PieceToken>* tokens) {
  if (piece.size() > kMaxBytes) return model.Tokenize(piece, tokens);
  if (slots_.empty()) slots_.resize(kSlots);
  Slot& slot = slots_[Hash(piece) % kSlots];
  if (slot.token_count > 0 && piece == std::string_view(slot.bytes, slot.byte_count)) {
    for (std::size_t i = 0; i < slot.token_count; ++i) tokens->push_back({slot.ids[i], slot.sizes[i]});
    return;
  }
  const std::size_t first = tokens->size();
  model.Tokenize(piece, tokens);
  const std::size_t count = tokens->size() - first;
  if (count == 0 || count > kMaxTokens) return;
  slot.token_count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const PieceToken& token = (*tokens)[first + i];
    if (token.step != token.size) return;  // rare: not worth a place in the slot
    slot.ids[i] = token.id;
    slot.sizes[i] = static_cast<std::uint8_t>(token.size);
  }
  slot.token_count = static_cast<std::uint8_t>(count);
  slot.byte_count = static_cast<std::uint8_t>(piece.size());
  std::memcpy(slot.bytes, piece.data(), piece.size());
}

}  // namespace mconnect
