// The parts of a Tokenizer.
#ifndef MCONNECT_TEXT_TOKENIZER_IMPL_H_
#define MCONNECT_TEXT_TOKENIZER_IMPL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/decoder.h"
#include "runtime/text/model/model.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/post_processor.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/safe_cuts.h"
#include "runtime/text/token_cache.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

struct Tokenizer::Impl {
  explicit Impl(const JsonView& json);

  // The tokens of a text, without those that a post-processor adds.
  struct TextTokens {
    std::vector<EncodedToken> tokens;
    bool wants_texts = false;
    std::vector<std::string_view> texts;  // of the tokens, where they are wanted
  };

  // What one thread needs to encode a text.
  struct Scratch {
    TextScratch text;
    TokenCache known_parts;   // between safe cuts
    TokenCache known_pieces;  // as the model gets them
    std::vector<Piece> raw;
    std::vector<Piece> pieces;
    std::vector<PieceToken> tokens;
    std::array<TextTokens, 2> texts;
    EncodingDraft draft;
  };

  // One text or two, from text to the result before padding.
  Encoding Encode(std::string_view text, const std::string_view* pair, const EncodeOptions& options) const;

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
  std::optional<SafeCuts> cuts;  // nothing: texts are tokenized as a whole

 private:
  enum class Outcome {
    kDone,
    kKeep,         // and the part has these tokens wherever it stands
    kNotByItself,  // what stands behind the part is needed
  };

  // All append to `result`, or to what is of it in `scratch`. The text must be well-formed UTF-8 and outlive it.
  void TokenizeText(std::string_view text, std::span<const Span> plain, Scratch* scratch, TextTokens* result) const;
  // Text without raw added tokens, part by part.
  void TokenizeParts(const AlignedText& text, std::span<const Span> plain, Scratch* scratch, TextTokens* result) const;
  // One part of it. `inside`: text stands before it; `last`: nothing stands behind it.
  Outcome TokenizePart(const AlignedText& part, bool inside, bool last, std::span<const Span> plain, Scratch* scratch,
                       TextTokens* result) const;
  // The tokens of a piece for the model, into scratch->tokens.
  void TokenizePiece(std::string_view piece, Scratch* scratch) const;
  // Remembers the tokens of `part`, which begins at byte `begin`: those of `result` from `first` on.
  void Keep(std::string_view part, std::uint8_t kind, std::uint32_t begin, std::size_t first, const TextTokens& result,
            Scratch* scratch) const;

  // Returns whether it cuts at the beginning.
  bool Truncate(const EncodeOptions& options, EncodingDraft* draft) const;
  // The windows of a text behind the first one.
  std::vector<Encoding> Overflowing(const EncodeOptions& options, const Segment& whole,
                                    const std::vector<std::pair<std::size_t, std::size_t>>& windows) const;

  std::unique_ptr<Scratch> TakeScratch() const;
  void GiveBack(std::unique_ptr<Scratch> scratch) const;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> idle_;  // one for each thread that ever encoded at the same time
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_TOKENIZER_IMPL_H_
