#include <utility>

#include "mconnect/text_generation.h"
#include "runtime/tasks/generation_model.h"

namespace mconnect {

struct TextSession::Impl {
  TextGeneration model;
  std::optional<DecoderBatch> batch = std::nullopt;  // of the last call; none before the first and after an error
};

TextSession::TextSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TextSession::TextSession(TextSession&&) noexcept = default;
TextSession& TextSession::operator=(TextSession&&) noexcept = default;
TextSession::~TextSession() = default;

Generation TextSession::generate(const Prompt& prompt, const GenerateOptions& options, const TextCallback& callback) {
  RequireOneContinuation(options);
  const TextGeneration::Impl& model = *impl_->model.impl_;
  const GenerationRequest request = model.Request({prompt}, options, callback);
  // Taken out while it runs: what an exception leaves behind is not used again.
  std::optional<DecoderBatch> batch = std::exchange(impl_->batch, std::nullopt);
  if (!batch) batch.emplace(model.Batch());
  Generation result = std::move(model.Run(request, *batch).front());
  impl_->batch = std::move(batch);
  return result;
}

Generation TextSession::chat(const std::vector<Message>& messages, const GenerateOptions& options,
                             const ChatOptions& chat, const TextCallback& callback) {
  return generate(impl_->model.encode_chat(messages, chat), options, callback);
}

void TextSession::reset() { impl_->batch.reset(); }

TextSession TextGeneration::session() const { return TextSession(std::make_unique<TextSession::Impl>(*this)); }

}  // namespace mconnect
