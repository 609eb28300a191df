// The "post_processor" of tokenizer.json: puts special tokens around one or two encoded texts.
#ifndef MCONNECT_TEXT_POST_PROCESSOR_H_
#define MCONNECT_TEXT_POST_PROCESSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/json.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// A token of a text, and where it comes from.
struct EncodedToken {
  TokenId id = 0;
  Span bytes;
  Span chars;
};

// A run of tokens in an encoding in the making: those of a text, or special tokens. It owns none of them.
struct Segment {
  std::size_t part = 0;  // the number of the text, or of the piece of a template, that it belongs to
  std::int32_t type_id = 0;
  std::span<EncodedToken> tokens;           // of a text
  std::span<const std::string_view> texts;  // the tokens' texts, where a post-processor reads them
  std::span<const TokenId> special;         // in their place: tokens that a post-processor adds
};

// An encoding in the making: its runs in order, and of how many parts they are.
struct EncodingDraft {
  std::vector<Segment> segments;
  std::size_t parts = 0;
  bool offsets = false;  // else the tokens' offsets mean nothing
};

// The encoding that a draft stands for.
Encoding Finish(const EncodingDraft& draft);

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;

  // Special tokens that are added to one text or to a pair.
  virtual std::size_t added_tokens(bool pair) const noexcept = 0;

  // Does Process need Segment::texts?
  virtual bool reads_tokens() const noexcept { return false; }

  // Makes of one or two texts the runs of the result. The draft then refers to the post-processor.
  virtual void Process(bool add_special_tokens, EncodingDraft* draft) const = 0;

  // Throws Error(kUnsupported) naming a type that is not BertProcessing, ByteLevel, RobertaProcessing, Sequence or
  // TemplateProcessing.
  static std::unique_ptr<const PostProcessor> FromJson(const JsonView& json);
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_POST_PROCESSOR_H_
