#include "runtime/text/model/wordpiece.h"

#include <cstdint>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"

namespace mconnect {

namespace {

TokenMap WithoutPrefix(const TokenMap& tokens, const std::string& prefix) {
  TokenMap result;
  for (const auto& [token, id] : tokens) {
    if (token.starts_with(prefix)) result.emplace(token.substr(prefix.size()), id);
  }
  return result;
}

}  // namespace

WordPieceModel::WordPieceModel(const JsonView& json)
    : vocabulary_(json["vocab"]),
      unk_token_(json["unk_token"].String()),
      max_chars_(static_cast<std::size_t>(json["max_input_chars_per_word"].Int(0))),
      initial_(vocabulary_.ids()),
      continuing_(WithoutPrefix(vocabulary_.ids(), json["continuing_subword_prefix"].String())) {}

void WordPieceModel::Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const {
  const std::size_t first = tokens->size();
  bool known = piece.size() <= max_chars_ || unicode::CountChars(piece) <= max_chars_;
  for (std::size_t begin = 0; known && begin < piece.size();) {
    PieceToken longest;
    (begin == 0 ? initial_ : continuing_).ForEachPrefix(piece.substr(begin), [&](std::size_t size, TokenId id) {
      longest = {id, static_cast<std::uint32_t>(size)};
    });
    known = longest.size > 0;
    if (known) tokens->push_back(longest);
    begin += longest.size;
  }
  if (known) return;
  tokens->resize(first);
  const auto unk = vocabulary_.Id(unk_token_);
  if (!unk) {
    throw Error(ErrorCode::kCorrupt,
                "a word is not in the vocabulary, and neither is its unk_token '" + unk_token_ + "'");
  }
  tokens->push_back({*unk, static_cast<std::uint32_t>(piece.size())});
}

}  // namespace mconnect
