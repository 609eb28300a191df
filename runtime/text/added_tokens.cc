#include "runtime/text/added_tokens.h"

#include <algorithm>
#include <limits>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

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

void AddedTokens::Trie::Add(std::string_view key, TokenId id) {
  if (key.empty()) return;  // normalized to nothing: never found
  std::uint32_t node = 0;
  for (const char b : key) {
    const auto [entry, made] =
        nodes_[node].next.try_emplace(static_cast<unsigned char>(b), static_cast<std::uint32_t>(nodes_.size()));
    node = entry->second;
    if (made) nodes_.emplace_back();
  }
  TokenId& known = nodes_[node].id;  // of equal keys, the lowest id is found
  known = known == Piece::kText ? id : std::min(known, id);
  begins_[static_cast<unsigned char>(key[0])] = true;
}

template <typename Accept>
std::size_t AddedTokens::Trie::Find(std::string_view text, std::size_t start, Accept accept, std::size_t* size,
                                    TokenId* id) const {
  for (std::size_t begin = start; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
    std::uint32_t node = 0;
    *size = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      const auto next = nodes_[node].next.find(static_cast<unsigned char>(text[at]));
      if (next == nodes_[node].next.end()) break;
      node = next->second;
      if (nodes_[node].id != Piece::kText && accept(begin, at + 1 - begin, nodes_[node].id)) {
        *size = at + 1 - begin;
        *id = nodes_[node].id;
      }
    }
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
    ids_[token.content] = id;
    if (token.special) special_.insert(token.content);
    tokens_.insert_or_assign(id, std::move(token));
  }
  for (const auto& [id, token] : tokens_) (token.normalized ? normalized_ : raw_).Add(token.text, id);
}

void AddedTokens::Find(const Trie& trie, const AlignedText& aligned, std::span<const Span> plain,
                       std::vector<Piece>* pieces) const {
  const std::string_view text = aligned.text();
  if (trie.empty()) {
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
  for (std::size_t begin = 0; (begin = trie.Find(text, begin, accept, &size, &id)) != std::string_view::npos;
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

void AddedTokens::Split(std::string_view text, std::span<const Span> plain, const Normalizer* normalizer,
                        std::vector<Piece>* pieces, TextScratch* scratch) const {
  std::vector<Piece> raw;
  Find(raw_, AlignedText(text), plain, &raw);
  for (const Piece& piece : raw) {
    if (piece.added_token != Piece::kText) {
      pieces->push_back(piece);
    } else {
      Find(normalized_, normalizer == nullptr ? piece.text : normalizer->Normalize(piece.text, scratch), plain, pieces);
    }
  }
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
