#include "mconnect/text_generation.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "mconnect/error.h"
#include "mconnect/module.h"
#include "runtime/tasks/chat_encoding.h"
#include "runtime/tasks/decoder_batch.h"
#include "runtime/tasks/generation_run.h"
#include "runtime/tasks/generation_settings.h"
#include "runtime/tasks/model_parts.h"
#include "runtime/tasks/output_formats.h"
#include "runtime/text/stop_strings.h"

namespace mconnect {
namespace {

constexpr std::int64_t kDefaultNewTokens = 256;

// Logits that one step of score() may hold: 64 MiB of them.
constexpr std::int64_t kScoredLogits = std::int64_t{16} << 20;

// The decoder's vocabulary, from the shape that the manifest gives its output.
std::int64_t VocabularySize(const ModuleInfo& info) {
  for (const TensorInfo& output : info.outputs) {
    if (output.name != "logits" || output.shape.size() != 3 || output.dtype != DType::kF32) continue;
    std::int64_t size = 0;
    const std::string& text = output.shape[2];
    if (std::from_chars(text.data(), text.data() + text.size(), size).ec == std::errc() && size > 0) return size;
  }
  throw Error(
      ErrorCode::kUnsupported,
      "module '" + info.name + "' has no output 'logits' of f32 [batch,kept,<number>], which text-generation needs");
}

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

struct TextGeneration::Impl {
  GenerationSettings settings;
  std::shared_ptr<const Tokenizer> tokenizer;
  LoadedModule decoder;
  std::int64_t vocabulary;
  OutputFormats formats;
  std::optional<ChatTemplate> chat_template;

  explicit Impl(const ModelParts& parts)
      : settings(ParseGenerationSettings(parts.asset(kName))),
        tokenizer(parts.tokenizer()),
        decoder(parts.module("decoder")),
        vocabulary(VocabularySize(decoder.info())),
        formats(tokenizer, parts.asset_reader("tokenizer"), vocabulary) {
    if (parts.has_asset("chat_template")) chat_template = ChatTemplate::FromJson(parts.asset("chat_template"));
  }

  std::vector<TokenId> EndTokens() const {
    std::vector<TokenId> ends = settings.eos_token_ids;
    std::erase_if(ends, [this](TokenId id) { return id >= vocabulary; });
    return ends;
  }

  // `name` names the prompt in messages.
  std::vector<TokenId> Encode(const Prompt& prompt, const std::string& name) const {
    std::vector<TokenId> ids = prompt.ids;
    if (!prompt.is_ids) {
      EncodeOptions options;
      options.max_tokens = 0;
      options.padding = Padding{};
      options.offsets = false;
      ids = tokenizer->Encode(prompt.text, options).ids;
    }
    if (ids.empty()) {
      if (!settings.bos_token_id) {
        throw Error(ErrorCode::kInvalidArgument,
                    name + " is empty, and this model has no begin-of-text token to start from",
                    "give it at least one token");
      }
      ids.push_back(*settings.bos_token_id);
    }
    for (const TokenId id : ids) {
      if (id >= 0 && id < vocabulary) continue;
      throw Error(ErrorCode::kInvalidArgument, name + " has the token id " + std::to_string(id) +
                                                   ", the limits are 0 and " + std::to_string(vocabulary - 1));
    }
    return ids;
  }

  std::int64_t NewTokens(const GenerateOptions& options, std::int64_t prompt_tokens, const std::string& name) const {
    const std::int64_t room = settings.max_tokens - prompt_tokens;
    const std::int64_t asked = options.max_new_tokens.value_or(
        std::clamp<std::int64_t>(room, 1, std::max<std::int64_t>(kDefaultNewTokens, options.min_new_tokens)));
    if (asked < 1) {
      throw Error(ErrorCode::kInvalidArgument, "max_new_tokens is " + std::to_string(asked) + ", the least is 1");
    }
    if (asked < options.min_new_tokens) {
      throw Error(ErrorCode::kInvalidArgument, "min_new_tokens is " + std::to_string(options.min_new_tokens) +
                                                   ", the limit is max_new_tokens, " + std::to_string(asked));
    }
    if (asked > room) {
      throw Error(ErrorCode::kInvalidArgument,
                  name + " has " + std::to_string(prompt_tokens) + " tokens, with max_new_tokens " +
                      std::to_string(asked) + " that is " + std::to_string(prompt_tokens + asked) +
                      "; the model's context is " + std::to_string(settings.max_tokens),
                  "shorten the prompt or lower max_new_tokens");
    }
    return asked;
  }
};

TextGeneration::TextGeneration(const ModelParts& parts) : impl_(std::make_shared<const Impl>(parts)) {}

std::int64_t TextGeneration::max_tokens() const noexcept { return impl_->settings.max_tokens; }

Generation TextGeneration::generate(const Prompt& prompt, const GenerateOptions& options,
                                    const TextCallback& callback) const {
  if (options.n != 1) {
    throw Error(ErrorCode::kInvalidArgument, "n is " + std::to_string(options.n) + ", and generate() returns one",
                "call generate_batch()");
  }
  return std::move(generate_batch({prompt}, options, callback).front());
}

std::vector<Generation> TextGeneration::generate_batch(const std::vector<Prompt>& prompts,
                                                       const GenerateOptions& options,
                                                       const TextCallback& callback) const {
  GenerationRequest request;
  ValidateOptions(options);
  request.options = options;
  request.callback = callback;
  request.sampling = ResolveSampling(impl_->settings, options);
  request.rules = ResolveRules(impl_->settings, options, impl_->vocabulary);
  for (const std::string& stop : options.stop) StopStrings({stop});  // refuses an empty one
  if (!options.ignore_eos) request.eos = impl_->EndTokens();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string name = prompts.size() == 1 ? "the prompt" : "prompt " + std::to_string(i);
    request.prompts.push_back(impl_->Encode(prompts[i], name));
    request.max_new_tokens.push_back(
        impl_->NewTokens(options, static_cast<std::int64_t>(request.prompts[i].size()), name));
  }
  request.constraint = impl_->formats.Get(options.format);
  if (prompts.empty()) return {};
  DecoderBatch batch(impl_->decoder.session(), impl_->vocabulary, impl_->settings.pad_token_id);
  return options.num_beams > 1 ? RunBeamSearch(request, *impl_->tokenizer, std::move(batch))
                               : RunSampling(request, *impl_->tokenizer, std::move(batch));
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
  DecoderBatch batch(impl_->decoder.session(), impl_->vocabulary, impl_->settings.pad_token_id);
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
