// The "decoder" of tokenizer.json: from tokens back to text, one token at a time.
#ifndef MCONNECT_TEXT_DECODER_H_
#define MCONNECT_TEXT_DECODER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/json.h"

namespace mconnect {

// One stage at work on one sequence of tokens. What it has passed on is final.
//
// A stage that fuses all tokens into one passes that one on in fragments, as soon as they are final.
class DecoderStage {
 public:
  using Sink = std::function<void(std::string text)>;

  virtual ~DecoderStage() = default;
  virtual void Put(std::string text, const Sink& next) = 0;
  virtual void Finish(const Sink& next) = 0;  // at the end of the tokens
};

// The configuration of a chain of stages. Immutable; threads share it.
class Decoder {
 public:
  // `fused`: the stage before passes on fragments of one token.
  using MakeStage = std::function<std::unique_ptr<DecoderStage>(bool fused)>;

  // No decoder: tokens are joined by spaces.
  Decoder();

  // Throws Error(kUnsupported) naming a type that is not BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, Metaspace,
  // Replace, Sequence, Strip or WordPiece.
  static Decoder FromJson(const JsonView& json);

 private:
  friend class DecoderChain;
  struct Part {
    MakeStage make;
    bool fuses;  // all tokens into one
  };
  void Add(const JsonView& json);
  std::vector<Part> parts_;
};

// A decoder at work on one sequence of tokens. The decoder must outlive it.
class DecoderChain {
 public:
  explicit DecoderChain(const Decoder& decoder);

  // Both append the text that has become final: well-formed, so that no character is split.
  void Put(std::string token, std::string* text);
  void Finish(std::string* text);

 private:
  void Pass(std::size_t stage, std::string text, std::string* out);
  std::vector<std::unique_ptr<DecoderStage>> stages_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_DECODER_H_
