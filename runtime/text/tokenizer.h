// Text to token ids and back: the format `tokenizer.json` of the tokenizers library, with the same results as that
// library.
#ifndef MCONNECT_TEXT_TOKENIZER_H_
#define MCONNECT_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mconnect {

using TokenId = std::int32_t;

// A half-open range [begin, end) of the input text.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// One encoded text (or pair of texts). All vectors have one entry per token.
struct Encoding {
  std::vector<TokenId> ids;
  std::vector<std::int32_t> type_ids;             // 0 for the first text, 1 for the second, unless the template differs
  std::vector<std::int32_t> attention_mask;       // 1 = token, 0 = padding
  std::vector<std::int32_t> special_tokens_mask;  // 1 = added by the template or by padding
  std::vector<Span> byte_offsets;  // in bytes of the text that the token comes from; {0,0} where there is none
  std::vector<Span> char_offsets;  // the same in Unicode code points
  // The further windows of a text that was cut, in the order in which they go on from it, where EncodeOptions::stride
  // asks for them. They have special tokens of their own.
  std::vector<Encoding> overflowing;

  std::size_t size() const noexcept { return ids.size(); }
};

// How encodings of one batch are brought to one length.
struct Padding {
  enum class To { kNone, kLongest, kFixed };
  To to = To::kNone;
  std::size_t length = 0;       // for kFixed
  std::size_t multiple_of = 0;  // 0: no rounding
  bool left = false;
  TokenId id = 0;
  std::int32_t type_id = 0;
};

struct Truncation {
  enum class Strategy { kLongestFirst, kOnlyFirst, kOnlySecond };
  std::size_t max_tokens = 0;  // special tokens included
  std::size_t stride = 0;      // of overflowing windows: what EncodeOptions::stride may be set to
  Strategy strategy = Strategy::kLongestFirst;
  bool left = false;  // cut at the beginning
};

struct EncodeOptions {
  bool add_special_tokens = true;
  // Longest result, special tokens included. Unset: what the file's "truncation" says (null there: no limit). 0: no
  // limit.
  std::optional<std::size_t> max_tokens;
  // Set: a text that is cut gives its further windows, too (Encoding::overflowing), each of which begins with so many
  // tokens of the one before. It must be less than the tokens of a window without special ones. For one text: pairs
  // refuse it.
  std::optional<std::size_t> stride;
  // Unset: what the file's "padding" says (null there: none).
  std::optional<Padding> padding;
  // false leaves byte_offsets and char_offsets empty and is faster.
  bool offsets = true;
  // Byte ranges of the text, ascending and disjoint, in which *special* added tokens mean nothing: text that a user
  // wrote inside of a chat template. A special token is not recognised where it would share even one byte with a range;
  // what would have been it is text like any other, and a shorter or later token that shares no byte is found as ever.
  // Other added tokens are recognised everywhere. With the whole text as one range this is the reference's
  // `encode_special_tokens`. A special token outside of the ranges with lstrip or rstrip still takes the spaces beside
  // it into itself, also those in a range. Each range is made well-formed by itself, so that a border inside of a
  // character makes U+FFFD of both its parts. For one text: pairs and batches refuse it.
  std::vector<Span> plain_text;
};

// Immutable once made: any number of threads may use one.
//
// Text is UTF-8. Each maximal ill-formed part becomes U+FFFD (the Unicode standard's recommended practice, as in
// Python's errors="replace"); offsets then refer to the repaired text. Texts are limited to 2^32-1 bytes.
class Tokenizer {
 public:
  // Throws Error(kCorrupt) for text that is not a tokenizer.json, and Error(kUnsupported) naming the component for
  // one that asks for something this class lacks.
  static Tokenizer FromJson(std::string_view tokenizer_json);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  Encoding Encode(std::string_view text, const EncodeOptions& options = {}) const;
  Encoding Encode(std::string_view text, std::string_view pair, const EncodeOptions& options = {}) const;

  // In the order of the texts; Padding::To::kLongest pads to the longest of them.
  std::vector<Encoding> EncodeBatch(std::span<const std::string> texts, const EncodeOptions& options = {}) const;
  std::vector<Encoding> EncodeBatch(std::span<const std::pair<std::string, std::string>> pairs,
                                    const EncodeOptions& options = {}) const;

  // Ids that are not in the vocabulary are left out, as in the reference.
  std::string Decode(std::span<const TokenId> ids, bool skip_special_tokens = true) const;

  std::optional<TokenId> TokenToId(std::string_view token) const;
  std::optional<std::string> IdToToken(TokenId id) const;
  bool IsSpecial(TokenId id) const;  // an added token with "special": true

  // Number of distinct tokens, added tokens included.
  std::size_t vocab_size() const noexcept;
  // Tokens that the post-processor adds to one text (pair: to two).
  std::size_t num_special_tokens(bool pair = false) const noexcept;
  const std::optional<Truncation>& truncation() const noexcept;
  const Padding& padding() const noexcept;

 private:
  friend class StreamDecoder;
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_TOKENIZER_H_
