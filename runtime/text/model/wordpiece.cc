#include "runtime/text/model/wordpiece.h"

#include <algorithm>
#include <cstdint>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"

namespace mconnect {

WordPieceModel::WordPieceModel(const JsonView& json)
    : vocabulary_(json["vocab"]),
      unk_token_(json["unk_token"].String()),
      max_chars_(static_cast<std::size_t>(json["max_input_chars_per_word"].Int(0))) {
  const std::string& prefix = json["continuing_subword_prefix"].String();
  for (const auto& [token, id] : vocabulary_.ids()) {
    longest_ = std::max(longest_, token.size());
    if (token.starts_with(prefix)) continuing_.emplace(token.substr(prefix.size()), id);
  }
}

void WordPieceModel::Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const {
  const std::size_t first = tokens->size();
  bool known = unicode::CountChars(piece) <= max_chars_;
  for (std::size_t begin = 0; known && begin < piece.size();) {
    const TokenMap& map = begin == 0 ? vocabulary_.ids() : continuing_;
    std::size_t end = begin + std::min(longest_, piece.size() - begin);
    while (end > begin && end < piece.size() && unicode::IsContinuationByte(piece[end])) --end;
    auto found = map.end();
    while (end > begin && (found = map.find(piece.substr(begin, end - begin))) == map.end()) {
      do {
        --end;
      } while (unicode::IsContinuationByte(piece[end]));
    }
    known = end > begin;
    if (known) tokens->push_back({found->second, static_cast<std::uint32_t>(end - begin)});
    begin = end;
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
