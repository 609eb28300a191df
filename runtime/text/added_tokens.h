// The "added_tokens" of tokenizer.json: tokens that are found in the text before the model sees it.
#ifndef MCONNECT_TEXT_ADDED_TOKENS_H_
#define MCONNECT_TEXT_ADDED_TOKENS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

class AddedTokens {
 public:
  using ModelLookup = std::function<std::optional<TokenId>(std::string_view token)>;

  // Ids are those of the model's vocabulary; tokens that it lacks get the next free ids in order, as in the reference.
  AddedTokens(const JsonView& json, const Normalizer* normalizer, const ModelLookup& model, std::size_t model_size);

  // Cuts the text at added tokens and normalizes what lies between (null: as it is). A special token is not there where
  // it would share a byte with one of the ranges `plain` (ascending, disjoint).
  void Split(std::string_view text, std::span<const Span> plain, const Normalizer* normalizer,
             std::vector<Piece>* pieces, TextScratch* scratch) const;

  std::optional<TokenId> Id(std::string_view content) const;

  // The token's text as the decoder gets it. Null: not an added token.
  const std::string* Text(TokenId id) const;

  bool IsSpecial(TokenId id) const;
  bool IsSpecialText(std::string_view token) const { return special_.contains(std::string(token)); }

  // Tokens that are not in the model's vocabulary.
  std::size_t size_beyond_model() const noexcept { return beyond_model_; }

 private:
  struct Token {
    std::string content;
    std::string text;  // normalized where the token asks for it: what is looked for, and what is decoded
    bool single_word;
    bool lstrip;
    bool rstrip;
    bool normalized;
    bool special;
  };

  // A trie over bytes: the longest of several strings at a place.
  class Trie {
   public:
    void Add(std::string_view key, TokenId id);
    bool empty() const noexcept { return nodes_.size() == 1; }
    // The leftmost longest key at or after `start` for which accept(begin, size, id) is true. npos: none.
    template <typename Accept>
    std::size_t Find(std::string_view text, std::size_t start, Accept accept, std::size_t* size, TokenId* id) const;

   private:
    struct Node {
      std::map<unsigned char, std::uint32_t> next;
      TokenId id = Piece::kText;
    };
    std::vector<Node> nodes_ = std::vector<Node>(1);
    bool begins_[256] = {};
  };

  void Find(const Trie& trie, const AlignedText& text, std::span<const Span> plain, std::vector<Piece>* pieces) const;

  std::unordered_map<TokenId, Token> tokens_;
  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_set<std::string> special_;
  std::size_t beyond_model_ = 0;
  Trie raw_;         // looked for in the text
  Trie normalized_;  // looked for in the normalized text
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_ADDED_TOKENS_H_
