// The "model" of tokenizer.json: tokens of one piece of text.
#ifndef MCONNECT_TEXT_MODEL_MODEL_H_
#define MCONNECT_TEXT_MODEL_MODEL_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/model/vocabulary.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// A token and how many bytes of the piece it covers. The tokens of a piece lie one after the other from its beginning.
struct PieceToken {
  TokenId id;
  std::uint32_t size;
};

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the tokens of a piece, which is not empty. Throws Error(kCorrupt) when the piece needs the unknown token
  // and the vocabulary lacks it.
  virtual void Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const = 0;

  virtual const Vocabulary& vocabulary() const noexcept = 0;

  // Can Tokenize take bytes in place of text in the byte-level alphabet, with the same result? `json` is the model's.
  static bool CanReadBytes(const JsonView& json);

  // Throws Error(kUnsupported) naming a type that is not BPE or WordPiece.
  static std::unique_ptr<const TokenModel> FromJson(const JsonView& json, bool reads_bytes);
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_MODEL_H_
