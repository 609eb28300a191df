// Tokens and their ids.
#ifndef MCONNECT_TEXT_MODEL_VOCABULARY_H_
#define MCONNECT_TEXT_MODEL_VOCABULARY_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// Hashes and compares strings and views alike, so that lookups need no copy.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

using TokenMap = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

class Vocabulary {
 public:
  // Ids may leave gaps, but not many: they are below this limit.
  static constexpr TokenId kMaxId = 1 << 24;

  // The object "vocab": {"token": id, ...}. Throws Error(kCorrupt).
  explicit Vocabulary(const JsonView& json);

  // Tokens whose places are their ids. Of equal ones, the last one's id is found. `json` is where they come from.
  Vocabulary(const JsonView& json, const std::vector<std::string>& tokens);

  std::optional<TokenId> Id(std::string_view token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  // Null: no token has this id.
  const std::string* Text(TokenId id) const {
    return id < 0 || static_cast<std::size_t>(id) >= texts_.size() ? nullptr : texts_[static_cast<std::size_t>(id)];
  }

  const TokenMap& ids() const noexcept { return ids_; }
  std::size_t size() const noexcept { return size_; }

 private:
  TokenMap ids_;
  std::size_t size_;
  std::vector<const std::string*> texts_;  // by id; into ids_, whose nodes stay where they are
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_VOCABULARY_H_
