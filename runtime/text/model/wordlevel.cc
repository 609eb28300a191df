#include "runtime/text/model/wordlevel.h"

#include "mconnect/error.h"

namespace mconnect {

WordLevelModel::WordLevelModel(const JsonView& json)
    : vocabulary_(json["vocab"]), unk_token_(json["unk_token"].String()) {}

void WordLevelModel::Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const {
  auto id = vocabulary_.Id(piece);
  if (!id) id = vocabulary_.Id(unk_token_);
  if (!id) {
    throw Error(ErrorCode::kCorrupt,
                "a word is not in the vocabulary, and neither is its unk_token '" + unk_token_ + "'");
  }
  tokens->push_back({*id, static_cast<std::uint32_t>(piece.size())});
}

}  // namespace mconnect
