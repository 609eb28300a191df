// WordLevel: a piece is a token or unknown.
#ifndef MCONNECT_TEXT_MODEL_WORDLEVEL_H_
#define MCONNECT_TEXT_MODEL_WORDLEVEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/model/model.h"

namespace mconnect {

class WordLevelModel : public TokenModel {
 public:
  explicit WordLevelModel(const JsonView& json);

  void Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const override;
  const Vocabulary& vocabulary() const noexcept override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  std::string unk_token_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_WORDLEVEL_H_
