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

// A token, how many bytes of the piece it covers, and how many bytes behind its beginning the next one begins: the
// first begins with the piece, and one token lies behind the other but for several that cover the same bytes.
struct PieceToken {
  PieceToken() = default;
  PieceToken(TokenId token, std::uint32_t bytes) : PieceToken(token, bytes, bytes) {}
  PieceToken(TokenId token, std::uint32_t bytes, std::uint32_t next) : id(token), size(bytes), step(next) {}

  TokenId id = 0;
  std::uint32_t size = 0;
  std::uint32_t step = 0;
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

  // Throws Error(kUnsupported) naming a type that is not BPE, Unigram, WordLevel or WordPiece.
  static std::unique_ptr<const TokenModel> FromJson(const JsonView& json, bool reads_bytes);
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_MODEL_MODEL_H_
