// The tokens of parts of text seen before, in bounded memory.
#ifndef MCONNECT_TEXT_TOKEN_CACHE_H_
#define MCONNECT_TEXT_TOKEN_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/text/tokenizer.h"

namespace mconnect {

// A token, and the bytes of the part that it comes from.
struct CachedToken {
  TokenId id;
  std::uint8_t begin;
  std::uint8_t end;
};

// A table in which each part has two places, of which the one seen last keeps the first. Parts that are long or have
// many tokens are not kept. 4 MiB at most, of which the operating system gives out what is used. For one thread.
class TokenCache {
 public:
  static constexpr std::size_t kMaxBytes = 62;
  static constexpr std::size_t kMaxTokens = 16;

  // Calls each(token) for the tokens of `part`. False: it is not known. Parts of the same text and of different kinds
  // are different parts.
  template <typename F>
  bool ForEachToken(std::string_view part, std::uint8_t kind, F each) const {
    if (part.empty() || part.size() > kMaxBytes || slots_ == nullptr) return false;
    const std::size_t place = Place(part, kind);
    const Slot* slot = &slots_.get()[place];
    if (!slot->Holds(part, kind) && !(++slot)->Holds(part, kind)) return false;
    const char* token = slot->data + part.size();
    for (const char* const end = token + std::size_t{slot->token_count} * kTokenBytes; token < end;
         token += kTokenBytes) {
      CachedToken cached;
      std::memcpy(&cached.id, token, sizeof cached.id);
      cached.begin = static_cast<std::uint8_t>(token[4]);
      cached.end = static_cast<std::uint8_t>(token[5]);
      each(cached);
    }
    return true;
  }

  // Remembers the tokens of `part`, if there is room for them.
  void Put(std::string_view part, std::uint8_t kind, std::span<const CachedToken> tokens);

 private:
  static constexpr std::size_t kSlots = 1 << 15;
  static constexpr std::size_t kTokenBytes = 6;

  struct Slot {
    bool Holds(std::string_view part, std::uint8_t of_kind) const {
      return byte_count == part.size() && kind == of_kind && std::memcmp(data, part.data(), part.size()) == 0;
    }

    std::uint8_t byte_count;  // 0: free
    std::uint8_t token_count;
    std::uint8_t kind;
    char data[125];  // the part, then its tokens: what is short lies in one line of the processor's cache
  };
  static_assert(sizeof(Slot) == 128);

  struct Free {
    void operator()(Slot* slots) const noexcept { std::free(slots); }
  };

  static std::uint64_t Mix(std::uint64_t hash, std::uint64_t chunk) {
    hash = (hash ^ chunk) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  }

  // The first of the two places of a part.
  static std::size_t Place(std::string_view part, std::uint8_t kind) {
    const char* data = part.data();
    std::size_t size = part.size();
    std::uint64_t hash = size << 8 | kind;
    std::uint64_t chunk = 0;
    for (; size > 8; data += 8, size -= 8) {
      std::memcpy(&chunk, data, 8);
      hash = Mix(hash, chunk);
    }
    if (part.size() >= 8) {
      std::memcpy(&chunk, part.data() + part.size() - 8, 8);
    } else if (size >= 4) {
      std::uint32_t first, last;
      std::memcpy(&first, data, 4);
      std::memcpy(&last, data + size - 4, 4);
      chunk = std::uint64_t{first} << 32 | last;
    } else {
      chunk = static_cast<unsigned char>(data[0]) | static_cast<unsigned char>(data[size / 2]) << 8 |
              static_cast<unsigned char>(data[size - 1]) << 16;
    }
    return Mix(hash, chunk) % kSlots & ~std::size_t{1};
  }

  std::unique_ptr<Slot, Free> slots_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_TOKEN_CACHE_H_
