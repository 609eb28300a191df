#include "runtime/tasks/generation_model.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/utf8.h"

namespace mconnect {
namespace {

constexpr std::int64_t kDefaultNewTokens = 256;

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

TextGeneration::Impl::Impl(const ModelParts& parts)
    : settings(ParseGenerationSettings(parts.asset(kName))),
      tokenizer(parts.tokenizer()),
      decoder(parts.module("decoder")),
      vocabulary(VocabularySize(decoder.info())),
      rules(ReadCacheRules(parts.graph("decoder"), "the graph of module 'decoder'")),
      formats(tokenizer, parts.asset_reader("tokenizer"), vocabulary) {
  if (parts.has_asset("chat_template")) chat_template = ChatTemplate::FromJson(parts.asset("chat_template"));
}

DecoderBatch TextGeneration::Impl::Batch() const {
  // The mask hides padding, but the module still looks its id up.
  const TokenId pad = settings.pad_token_id < vocabulary ? settings.pad_token_id : 0;
  return {decoder.session(), vocabulary, pad, rules};
}

std::vector<TokenId> TextGeneration::Impl::EndTokens() const {
  std::vector<TokenId> ends = settings.eos_token_ids;
  std::erase_if(ends, [this](TokenId id) { return id >= vocabulary; });
  return ends;
}

std::vector<TokenId> TextGeneration::Impl::Encode(const Prompt& prompt, const std::string& name) const {
  std::vector<TokenId> ids = prompt.ids;
  if (!prompt.is_ids) {
    RequireUtf8(prompt.text, name);
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

std::int64_t TextGeneration::Impl::NewTokens(const GenerateOptions& options, std::int64_t prompt_tokens,
                                             const std::string& name) const {
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

GenerationRequest TextGeneration::Impl::Request(const std::vector<Prompt>& prompts, const GenerateOptions& options,
                                                const TextCallback& callback) const {
  GenerationRequest request;
  ValidateOptions(options);
  request.options = options;
  request.options.logprobs = options.logprobs || options.top_logprobs > 0;
  request.callback = callback;
  request.sampling = ResolveSampling(settings, options);
  request.rules = ResolveRules(settings, options, vocabulary);
  if (!options.ignore_eos) request.eos = EndTokens();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string name = prompts.size() == 1 ? "the prompt" : "prompt " + std::to_string(i);
    request.prompts.push_back(Encode(prompts[i], name));
    request.max_new_tokens.push_back(NewTokens(options, static_cast<std::int64_t>(request.prompts[i].size()), name));
  }
  request.constraint = formats.Get(options.format);
  return request;
}

std::vector<Generation> TextGeneration::Impl::Run(const GenerationRequest& request, DecoderBatch& batch) const {
  if (request.prompts.empty()) return {};
  return request.options.num_beams > 1 ? RunBeamSearch(request, *tokenizer, batch)
                                       : RunSampling(request, *tokenizer, batch);
}

void RequireOneContinuation(const GenerateOptions& options) {
  if (options.n == 1) return;
  throw Error(ErrorCode::kInvalidArgument, "n is " + std::to_string(options.n) + ", and generate() returns one",
              "call generate_batch()");
}

}  // namespace mconnect
