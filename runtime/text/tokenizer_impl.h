// The parts of a Tokenizer.
#ifndef MCONNECT_TEXT_TOKENIZER_IMPL_H_
#define MCONNECT_TEXT_TOKENIZER_IMPL_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/decoder.h"
#include "runtime/text/model/model.h"
#include "runtime/text/model/word_cache.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/post_processor.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

struct Tokenizer::Impl {
  explicit Impl(const JsonView& json);

  // What one thread needs to encode a text.
  struct Scratch {
    TextScratch text;
    WordCache words;
    std::vector<Piece> pieces;
    std::vector<PieceToken> tokens;
  };

  // One text or two, from text to the padded result.
  Encoding Encode(std::string_view text, const std::string_view* pair, const EncodeOptions& options) const;

  // `text` as tokens of the model and added tokens, nothing around them. It must be well-formed UTF-8 and outlive the
  // part.
  EncodingPart EncodeText(std::string_view text, std::int32_t type_id, std::span<const Span> plain, bool offsets,
                          Scratch* scratch) const;

  void Truncate(const EncodeOptions& options, std::vector<EncodingPart>* parts) const;

  // The token as the decoder gets it. Null: no such token, or one to skip.
  const std::string* DecodedToken(TokenId id, bool skip_special_tokens) const;

  std::unique_ptr<const Normalizer> normalizer;       // null: none
  std::unique_ptr<const PreTokenizer> pre_tokenizer;  // null: none
  std::unique_ptr<const TokenModel> model;
  std::optional<AddedTokens> added;
  std::unique_ptr<const PostProcessor> post_processor;  // null: none
  Decoder decoder;
  std::optional<Truncation> truncation;
  Padding padding;

 private:
  std::unique_ptr<Scratch> TakeScratch() const;
  void GiveBack(std::unique_ptr<Scratch> scratch) const;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;  // one for each thread that ever encoded at the same time
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_TOKENIZER_IMPL_H_
