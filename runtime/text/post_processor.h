// The "post_processor" of tokenizer.json: puts special tokens around one or two encoded texts.
#ifndef MCONNECT_TEXT_POST_PROCESSOR_H_
#define MCONNECT_TEXT_POST_PROCESSOR_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// A part of an encoding in the making: an encoded text, or special tokens.
struct EncodingPart {
  Encoding encoding;
  bool has_offsets = false;              // else encoding's offsets stay empty
  std::vector<std::string_view> tokens;  // the tokens' texts, where a post-processor reads them

  void Append(const EncodingPart& other);
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;

  // Special tokens that are added to one text or to a pair.
  virtual std::size_t added_tokens(bool pair) const noexcept = 0;

  // Does Process need EncodingPart::tokens?
  virtual bool reads_tokens() const noexcept { return false; }

  // Replaces one or two texts by the parts of the result, in order.
  virtual void Process(bool add_special_tokens, std::vector<EncodingPart>* parts) const = 0;

  // Throws Error(kUnsupported) naming a type that is not BertProcessing, ByteLevel, RobertaProcessing, Sequence or
  // TemplateProcessing.
  static std::unique_ptr<const PostProcessor> FromJson(const JsonView& json);
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_POST_PROCESSOR_H_
