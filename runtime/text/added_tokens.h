// The "added_tokens" of tokenizer.json: tokens that are found in the text before the model sees it.
#ifndef MCONNECT_TEXT_ADDED_TOKENS_H_
#define MCONNECT_TEXT_ADDED_TOKENS_H_

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/model/token_trie.h"
#include "runtime/text/model/vocabulary.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

class AddedTokens {
 public:
  using ModelLookup = std::function<std::optional<TokenId>(std::string_view token)>;

  // Ids are those of the model's vocabulary; tokens that it lacks get the next free ids in order, as in the reference.
  AddedTokens(const JsonView& json, const Normalizer* normalizer, const ModelLookup& model, std::size_t model_size);

  // Appends the text cut at the added tokens that are looked for in it as it is. A special token is not there where it
  // would share a byte with one of the ranges `plain` (ascending, disjoint).
  void FindRaw(std::string_view text, std::span<const Span> plain, std::vector<Piece>* pieces) const {
    Find(raw_, AlignedText(text), plain, pieces);
  }

  // The same of those that are looked for in normalized text.
  void FindNormalized(const AlignedText& text, std::span<const Span> plain, std::vector<Piece>* pieces) const {
    Find(normalized_, text, plain, pieces);
  }

  // Is a special token looked for in normalized text?
  bool has_normalized_special() const noexcept { return normalized_special_; }

  // Is normalized text that is cut before each of `starts` sure to have the same added tokens as a whole?
  bool NormalizedEndBefore(std::span<const std::string_view> starts) const;

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

  // What is looked for, and the bytes that it begins with.
  struct Wanted {
    explicit Wanted(const TokenMap& tokens);
    // The leftmost longest token at or after `start` for which accept(begin, size, id) is true. npos: none.
    template <typename Accept>
    std::size_t Find(std::string_view text, std::size_t start, Accept accept, std::size_t* size, TokenId* id) const;

    TokenTrie trie;
    bool empty;
    std::array<bool, 256> begins = {};
  };

  void Find(const Wanted& wanted, const AlignedText& text, std::span<const Span> plain,
            std::vector<Piece>* pieces) const;

  std::unordered_map<TokenId, Token> tokens_;
  std::unordered_map<std::string, TokenId> ids_;
  std::unordered_set<std::string> special_;
  std::size_t beyond_model_ = 0;
  bool normalized_special_ = false;
  Wanted raw_ = Wanted({});         // looked for in the text
  Wanted normalized_ = Wanted({});  // looked for in the normalized text
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_ADDED_TOKENS_H_
