#include "runtime/text/stream_decoder.h"

#include "runtime/text/decoder.h"
#include "runtime/text/tokenizer_impl.h"

namespace mconnect {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : tokenizer_(tokenizer),
      skip_special_tokens_(skip_special_tokens),
      chain_(std::make_unique<DecoderChain>(tokenizer.impl_->decoder)) {}

StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

std::string StreamDecoder::Put(TokenId id) {
  std::string text;
  const std::string* token = tokenizer_.impl_->DecodedToken(id, skip_special_tokens_);
  if (token != nullptr) chain_->Put(*token, &text);
  return text;
}

std::string StreamDecoder::Finish() {
  std::string text;
  chain_->Finish(&text);
  chain_ = std::make_unique<DecoderChain>(tokenizer_.impl_->decoder);
  return text;
}

}  // namespace mconnect
