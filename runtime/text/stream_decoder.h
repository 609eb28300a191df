// Text of a growing sequence of token ids.
#ifndef MCONNECT_TEXT_STREAM_DECODER_H_
#define MCONNECT_TEXT_STREAM_DECODER_H_

#include <memory>
#include <string>

#include "runtime/text/tokenizer.h"

namespace mconnect {

class DecoderChain;

// Gives out the text of the ids put in so far as soon as no later id can change it: never part of a character.
//
//     StreamDecoder decoder(tokenizer);
//     for (TokenId id : ids) std::cout << decoder.Put(id);
//     std::cout << decoder.Finish();
//
// The concatenation of all results equals `tokenizer.Decode(ids, skip_special_tokens)`. The tokenizer must outlive it.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true);
  StreamDecoder(StreamDecoder&&) noexcept;
  ~StreamDecoder();

  // The text that has become final, possibly empty.
  std::string Put(TokenId id);

  // The rest of the text; the decoder is then as new.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_tokens_;
  std::unique_ptr<DecoderChain> chain_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_STREAM_DECODER_H_
