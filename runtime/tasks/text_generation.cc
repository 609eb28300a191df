#include "mconnect/text_generation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mconnect/error.h"
#include "runtime/tasks/chat_encoding.h"
#include "runtime/tasks/generation_model.h"
#include "runtime/text/logit_rules.h"

namespace mconnect {
namespace {

// Logits that one step of score() may hold: 64 MiB of them.
constexpr std::int64_t kScoredLogits = std::int64_t{16} << 20;

}  // namespace

std::string_view FinishReasonName(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kTimeout:
      return "timeout";
  }
  return "unknown";
}

TextGeneration::TextGeneration(const ModelParts& parts) : impl_(std::make_shared<const Impl>(parts)) {}

std::int64_t TextGeneration::max_tokens() const noexcept { return impl_->settings.max_tokens; }

Generation TextGeneration::generate(const Prompt& prompt, const GenerateOptions& options,
                                    const TextCallback& callback) const {
  RequireOneContinuation(options);
  return std::move(generate_batch({prompt}, options, callback).front());
}

std::vector<Generation> TextGeneration::generate_batch(const std::vector<Prompt>& prompts,
                                                       const GenerateOptions& options,
                                                       const TextCallback& callback) const {
  const GenerationRequest request = impl_->Request(prompts, options, callback);
  DecoderBatch batch = impl_->Batch();
  return impl_->Run(request, batch);
}

bool TextGeneration::has_chat_template() const noexcept { return impl_->chat_template.has_value(); }

std::vector<std::int32_t> TextGeneration::encode_chat(const std::vector<Message>& messages,
                                                      const ChatOptions& chat) const {
  return EncodeChat(impl_->chat_template, *impl_->tokenizer, MessagesJson(messages), chat);
}

std::vector<std::int32_t> TextGeneration::encode_chat(std::string_view messages_json, const ChatOptions& chat) const {
  return EncodeChat(impl_->chat_template, *impl_->tokenizer, ParseChatJson(messages_json, "messages"), chat);
}

Generation TextGeneration::chat(const std::vector<Message>& messages, const GenerateOptions& options,
                                const ChatOptions& chat, const TextCallback& callback) const {
  return generate(encode_chat(messages, chat), options, callback);
}

Score TextGeneration::score(const Prompt& text, const ScoreOptions& options) const {
  Score result;
  result.ids = impl_->Encode(text, "the text");
  const auto size = static_cast<std::int64_t>(result.ids.size());
  if (size > impl_->settings.max_tokens) {
    throw Error(ErrorCode::kInvalidArgument,
                "the text has " + std::to_string(size) + " tokens; the model's context is " +
                    std::to_string(impl_->settings.max_tokens),
                "score it in parts");
  }
  const std::int64_t chunk = std::clamp<std::int64_t>(kScoredLogits / impl_->vocabulary, 1, kPrefillChunk);
  DecoderBatch batch = impl_->Batch();
  batch.Start({result.ids});
  std::size_t next = 1;  // the first token that is not scored yet
  for (bool more = true; more;) {
    if (options.cancel.stop_requested()) throw Error(ErrorCode::kCancelled, "scoring was cancelled");
    more = batch.Prefill(chunk, DecoderBatch::Logits::kAll);
    for (std::size_t c = 0; c < batch.columns() && next < result.ids.size(); ++c, ++next) {
      const double logprob = LogProbability(batch.logits(0, c), result.ids[next]);
      result.logprobs.push_back(static_cast<float>(logprob));
      result.log_likelihood += logprob;
    }
  }
  return result;
}

double Score::perplexity() const {
  return logprobs.empty() ? 1 : std::exp(-log_likelihood / static_cast<double>(logprobs.size()));
}

}  // namespace mconnect
