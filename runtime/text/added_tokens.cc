#include "runtime/text/added_tokens.h"

#include <algorithm>
#include <limits>
#include <string>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Of an added token: a search looks at so many bytes from each place of a text.
constexpr std::size_t kMostBytes = 1024;

std::size_t SkipSpaceBackward(std::string_view text, std::size_t at) {
  while (at > 0) {
    std::size_t previous = at;
    if (!unicode::IsWhitespace(unicode::Previous(text, &previous))) break;
    at = previous;
  }
  return at;
}

std::size_t SkipSpaceForward(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t next = at;
    if (!unicode::IsWhitespace(unicode::Next(text, &next))) break;
    at = next;
  }
  return at;
}

bool WordBefore(std::string_view text, std::size_t at) {
  return at > 0 && unicode::IsWord(unicode::Previous(text, &at));
}
bool WordAt(std::string_view text, std::size_t at) {
  return at < text.size() && unicode::IsWord(unicode::Next(text, &at));
}

}  // namespace

AddedTokens::Wanted::Wanted(const TokenMap& tokens) : trie(tokens), empty(tokens.empty()) {
  for (const auto& [token, id] : tokens) begins[static_cast<unsigned char>(token[0])] = true;
}

template <typename Accept>
std::size_t AddedTokens::Wanted::Find(std::string_view text, std::size_t start, Accept accept, std::size_t* size,
                                      TokenId* id) const {
  for (std::size_t begin = start; begin < text.size(); ++begin) {
    if (!begins[static_cast<unsigned char>(text[begin])]) continue;
    *size = 0;
    trie.ForEachPrefix(text.substr(begin), [&](std::size_t bytes, TokenId found) {
      if (!accept(begin, bytes, found)) return;
      *size = bytes;
      *id = found;
    });
    if (*size > 0) return begin;
  }
  return std::string_view::npos;
}

AddedTokens::AddedTokens(const JsonView& json, const Normalizer* normalizer, const ModelLookup& model,
                         std::size_t model_size) {
  auto next_id = static_cast<TokenId>(model_size);
  TextScratch scratch;
  for (const JsonView& item : json.Items()) {
    Token token{item["content"].String(), item["content"].String(),  item["single_word"].Bool(), item["lstrip"].Bool(),
                item["rstrip"].Bool(),    item["normalized"].Bool(), item["special"].Bool()};
    item["id"].Int(0, std::numeric_limits<TokenId>::max());
    if (token.content.empty()) continue;
    const std::optional<TokenId> known = ids_.contains(token.content) ? ids_[token.content] : model(token.content);
    if (!known) ++beyond_model_;
    const TokenId id = known ? *known : next_id++;
    if (token.normalized && normalizer != nullptr) {
      token.text = normalizer->Normalize(AlignedText(token.content), &scratch).text();
    }
    if (token.text.size() > kMostBytes) {
      throw Error(ErrorCode::kUnsupported, "added_tokens: the token with id " + std::to_string(id) + " has " +
                                               std::to_string(token.text.size()) + " bytes; at most " +
                                               std::to_string(kMostBytes) + " are allowed");
    }
    ids_[token.content] = id;
    if (token.special) special_.insert(token.content);
    tokens_.insert_or_assign(id, std::move(token));
  }
  TokenMap raw, normalized;
  for (const auto& [id, token] : tokens_) {
    if (token.text.empty()) continue;  // normalized to nothing: never found
    normalized_special_ = normalized_special_ || (token.normalized && token.special);
    TokenId& known = (token.normalized ? normalized : raw).try_emplace(token.text, id).first->second;
    known = std::min(known, id);  // of equal texts, the lowest id is found
  }
  raw_ = Wanted(raw);
  normalized_ = Wanted(normalized);
}

bool AddedTokens::NormalizedEndBefore(std::span<const std::string_view> starts) const {
  return std::ranges::none_of(tokens_, [&](const auto& entry) {
    const Token& token = entry.second;
    if (!token.normalized) return false;
    if (token.single_word || token.lstrip || token.rstrip) return true;  // looks at what stands beside it
    return std::ranges::any_of(starts,
                               [&](std::string_view start) { return token.text.find(start, 1) != std::string::npos; });
  });
}

void AddedTokens::Find(const Wanted& wanted, const AlignedText& aligned, std::span<const Span> plain,
                       std::vector<Piece>* pieces) const {
  const std::string_view text = aligned.text();
  if (wanted.empty) {
    if (!text.empty()) pieces->push_back({aligned, Piece::kText});
    return;
  }
  const auto accept = [&](std::size_t begin, std::size_t length, TokenId found) {
    if (plain.empty()) return true;
    const Span original = aligned.Original(begin, begin + length);
    const auto range = std::ranges::upper_bound(plain, original.begin, {}, &Span::end);  // the first that ends behind
    return range == plain.end() || range->begin >= original.end || !tokens_.at(found).special;
  };
  std::size_t done = 0;  // end of what is in pieces
  std::size_t size = 0;
  TokenId id = Piece::kText;
  for (std::size_t begin = 0; (begin = wanted.Find(text, begin, accept, &size, &id)) != std::string_view::npos;
       begin += size) {
    const Token& token = tokens_.at(id);
    std::size_t first = begin;
    std::size_t last = begin + size;
    if (token.single_word && (WordBefore(text, first) || WordAt(text, last))) continue;
    if (token.lstrip) first = std::max(SkipSpaceBackward(text, first), done);
    if (token.rstrip) last = SkipSpaceForward(text, last);
    if (done < first) pieces->push_back({aligned.Slice(done, first), Piece::kText});
    if (first < last) pieces->push_back({aligned.Slice(first, last), id});
    done = last;
  }
  if (done < text.size()) pieces->push_back({aligned.Slice(done, text.size()), Piece::kText});
}

std::optional<TokenId> AddedTokens::Id(std::string_view content) const {
  const auto found = ids_.find(std::string(content));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* AddedTokens::Text(TokenId id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second.text;
}

bool AddedTokens::IsSpecial(TokenId id) const {
  const auto found = tokens_.find(id);
  return found != tokens_.end() && found->second.special;
}

}  // namespace mconnect
