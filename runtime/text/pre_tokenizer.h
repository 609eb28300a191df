// The "pre_tokenizer" of tokenizer.json: cuts text into the pieces that the model then tokenizes one by one.
#ifndef MCONNECT_TEXT_PRE_TOKENIZER_H_
#define MCONNECT_TEXT_PRE_TOKENIZER_H_

#include <memory>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/aligned_text.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Replaces the pieces of text by finer ones. Added tokens stay; empty pieces vanish.
  virtual void Split(std::vector<Piece>* pieces, TextScratch* scratch) const = 0;

  // Throws Error(kUnsupported) naming a type that is not BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits,
  // FixedLength, Metaspace, Punctuation, Sequence, Split, UnicodeScripts, Whitespace or WhitespaceSplit.
  //
  // `bytes_stay`: the model reads bytes, so that ByteLevel, where it comes last, need not write them in its alphabet;
  // it is set to whether that happened.
  static std::unique_ptr<const PreTokenizer> FromJson(const JsonView& json, bool* bytes_stay);
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_PRE_TOKENIZER_H_
