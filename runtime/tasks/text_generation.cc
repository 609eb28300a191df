#include "mconnect/text_generation.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "mconnect/error.h"
#include "mconnect/module.h"
#include "runtime/tasks/decoder_batch.h"
#include "runtime/tasks/generation_settings.h"
#include "runtime/tasks/model_parts.h"
#include "runtime/text/sampler.h"
#include "runtime/text/stop_strings.h"
#include "runtime/text/stream_decoder.h"

namespace mconnect {
namespace {

constexpr std::int64_t kDefaultNewTokens = 256;

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

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

// One prompt and what became of it.
class Row {
 public:
  Row(std::size_t index, std::vector<TokenId> prompt, const Tokenizer& tokenizer, const SamplingOptions& sampling,
      const std::vector<std::string>& stop, const TextCallback& callback)
      : index_(index),
        context_(std::move(prompt)),
        sampler_(sampling),
        decoder_(tokenizer),
        stops_(stop),
        callback_(callback) {
    result_.prompt_tokens = static_cast<std::int64_t>(context_.size());
  }

  const std::vector<TokenId>& context() const { return context_; }
  bool finished() const { return finished_; }

  // Chooses the next token.
  TokenId Next(std::span<const float> logits, const std::vector<TokenId>& eos, std::int64_t max_new_tokens) {
    const TokenId token = sampler_.Sample(logits, context_);
    context_.push_back(token);
    result_.ids.push_back(token);
    if (std::find(eos.begin(), eos.end(), token) != eos.end()) {
      Finish(FinishReason::kEos);
      return token;
    }
    Emit(decoder_.Put(token));
    if (stops_.stopped()) {
      Finish(FinishReason::kStop);
    } else if (static_cast<std::int64_t>(result_.ids.size()) == max_new_tokens) {
      Finish(FinishReason::kLength);
    }
    return token;
  }

  // Gives out the text that was held back.
  void Finish(FinishReason reason) {
    finished_ = true;
    Emit(decoder_.Finish());
    Show(stops_.Finish());
    result_.finish_reason = stops_.stopped() ? FinishReason::kStop : reason;
    result_.completion_tokens = static_cast<std::int64_t>(result_.ids.size());
  }

  Generation Take(double prefill, double decode) {
    result_.prefill_seconds = prefill;
    result_.decode_seconds = decode;
    return std::move(result_);
  }

 private:
  void Emit(const std::string& text) { Show(stops_.Put(text)); }

  void Show(const std::string& text) {
    if (text.empty()) return;
    result_.text += text;
    if (callback_) callback_(TextChunk{index_, text});
  }

  std::size_t index_;
  std::vector<TokenId> context_;  // prompt and continuation
  Sampler sampler_;
  StreamDecoder decoder_;
  StopStrings stops_;
  const TextCallback& callback_;
  bool finished_ = false;
  Generation result_;
};

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
  }
  return "unknown";
}

struct TextGeneration::Impl {
  GenerationSettings settings;
  std::shared_ptr<const Tokenizer> tokenizer;
  LoadedModule decoder;
  std::int64_t vocabulary;

  explicit Impl(const ModelParts& parts)
      : settings(ParseGenerationSettings(parts.asset(kName))),
        tokenizer(parts.tokenizer()),
        decoder(parts.module("decoder")),
        vocabulary(VocabularySize(decoder.info())) {}

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
    if (!options.max_new_tokens && room >= 1) return std::min(kDefaultNewTokens, room);
    const std::int64_t asked = options.max_new_tokens.value_or(1);
    if (asked < 1) {
      throw Error(ErrorCode::kInvalidArgument, "max_new_tokens is " + std::to_string(asked) + ", the least is 1");
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
  return std::move(generate_batch({prompt}, options, callback).front());
}

std::vector<Generation> TextGeneration::generate_batch(const std::vector<Prompt>& prompts,
                                                       const GenerateOptions& options,
                                                       const TextCallback& callback) const {
  std::vector<Row> rows;
  std::vector<std::int64_t> new_tokens;
  std::vector<std::vector<TokenId>> encoded;
  rows.reserve(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string name = prompts.size() == 1 ? "the prompt" : "prompt " + std::to_string(i);
    encoded.push_back(impl_->Encode(prompts[i], name));
    new_tokens.push_back(impl_->NewTokens(options, static_cast<std::int64_t>(encoded[i].size()), name));
    rows.emplace_back(i, encoded[i], *impl_->tokenizer, ResolveSampling(impl_->settings, options, i), options.stop,
                      callback);
  }
  if (prompts.empty()) return {};

  const std::vector<TokenId> eos = options.ignore_eos ? std::vector<TokenId>() : impl_->settings.eos_token_ids;
  const auto cancelled = [&] { return options.cancel.stop_requested(); };
  std::vector<Row*> active;  // in the order of the batch's rows
  for (Row& row : rows) active.push_back(&row);

  DecoderBatch batch(impl_->decoder.session(), impl_->vocabulary, impl_->settings.pad_token_id);
  const Clock::time_point start = Clock::now();
  batch.Start(encoded);
  bool more = true;
  while (more && !cancelled()) more = batch.Prefill(kPrefillChunk);

  double prefill_seconds = 0;
  Clock::time_point decode_start = start;
  std::vector<TokenId> tokens;
  std::vector<std::size_t> kept;
  for (bool first = true; !active.empty() && !more && !cancelled(); first = false) {
    if (!first) batch.Step(tokens);
    tokens.clear();
    kept.clear();
    for (std::size_t r = 0; r < active.size(); ++r) {
      const std::size_t index = static_cast<std::size_t>(active[r] - rows.data());
      const TokenId token = active[r]->Next(batch.logits(r), eos, new_tokens[index]);
      if (active[r]->finished()) continue;
      tokens.push_back(token);
      kept.push_back(r);
    }
    if (first) {
      prefill_seconds = Seconds(start);
      decode_start = Clock::now();
    }
    if (kept.size() == active.size()) continue;
    batch.Keep(kept);
    std::erase_if(active, [](const Row* row) { return row->finished(); });
  }
  for (Row* row : active) row->Finish(FinishReason::kCancelled);

  const double decode_seconds = prefill_seconds > 0 ? Seconds(decode_start) : 0;
  std::vector<Generation> results;
  for (Row& row : rows) results.push_back(row.Take(prefill_seconds, decode_seconds));
  return results;
}

}  // namespace mconnect
