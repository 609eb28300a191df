// A loaded model for text generation: what all its calls and sessions share.
#ifndef MCONNECT_TASKS_GENERATION_MODEL_H_
#define MCONNECT_TASKS_GENERATION_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mconnect/module.h"
#include "mconnect/text_generation.h"
#include "runtime/tasks/cache_rules.h"
#include "runtime/tasks/decoder_batch.h"
#include "runtime/tasks/generation_run.h"
#include "runtime/tasks/generation_settings.h"
#include "runtime/tasks/model_parts.h"
#include "runtime/tasks/output_formats.h"
#include "runtime/text/chat_template.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

struct TextGeneration::Impl {
  GenerationSettings settings;
  std::shared_ptr<const Tokenizer> tokenizer;
  LoadedModule decoder;
  std::int64_t vocabulary;
  CacheRules rules;
  OutputFormats formats;
  std::optional<ChatTemplate> chat_template;

  explicit Impl(const ModelParts& parts);

  // With an empty cache.
  DecoderBatch Batch() const;

  // The tokens of a prompt, at least one; `name` names it in messages.
  std::vector<TokenId> Encode(const Prompt& prompt, const std::string& name) const;

  // Checks and encodes: throws what TextGeneration::generate_batch() says about its arguments.
  GenerationRequest Request(const std::vector<Prompt>& prompts, const GenerateOptions& options,
                            const TextCallback& callback) const;

  std::vector<Generation> Run(const GenerationRequest& request, DecoderBatch& batch) const;

 private:
  std::vector<TokenId> EndTokens() const;
  std::int64_t NewTokens(const GenerateOptions& options, std::int64_t prompt_tokens, const std::string& name) const;
};

// generate() makes one continuation. Throws Error(kInvalidArgument) where more are asked for.
void RequireOneContinuation(const GenerateOptions& options);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_GENERATION_MODEL_H_
