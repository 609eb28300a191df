// Task "text-generation": a prompt in, its continuation out, as a stream or at once.
#ifndef MCONNECT_TEXT_GENERATION_H_
#define MCONNECT_TEXT_GENERATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace mconnect {

class ModelParts;

// What to continue: a UTF-8 text, which the model's tokenizer encodes with its special tokens, or token ids taken as
// they are.
struct Prompt {
  Prompt(std::string text) : text(std::move(text)) {}                           // NOLINT: implicit
  Prompt(std::string_view text) : text(text) {}                                 // NOLINT: implicit
  Prompt(const char* text) : text(text) {}                                      // NOLINT: implicit
  Prompt(std::vector<std::int32_t> ids) : ids(std::move(ids)), is_ids(true) {}  // NOLINT: implicit

  std::string text;
  std::vector<std::int32_t> ids;
  bool is_ids = false;
};

struct GenerateOptions {
  std::optional<int> max_new_tokens = std::nullopt;  // at least 1; default: 256, or what the context has room for
  std::vector<std::string> stop =
      {};  // texts that end the generation, also when they span tokens; not part of the result

  // Sampling. A value that is absent comes from the bundle's defaults; where those have none, decoding is greedy.
  // Setting any of temperature, top_k, top_p, min_p asks for sampling unless `greedy` says otherwise.
  std::optional<bool> greedy = std::nullopt;               // always take the most probable token
  std::optional<float> temperature = std::nullopt;         // > 0
  std::optional<int> top_k = std::nullopt;                 // >= 0; 0: no limit
  std::optional<float> top_p = std::nullopt;               // (0, 1]
  std::optional<float> min_p = std::nullopt;               // [0, 1]
  std::optional<float> repetition_penalty = std::nullopt;  // > 0; 1: none
  std::uint64_t seed = 0;  // same seed, same model, same prompt: same text. Row i of a batch uses seed + i.

  bool ignore_eos = false;      // go on to max_new_tokens, for measurements
  std::stop_token cancel = {};  // checked before each step and each chunk of a prompt
};

enum class FinishReason : int {
  kEos = 0,        // the model ended its text
  kStop = 1,       // one of GenerateOptions::stop appeared
  kLength = 2,     // max_new_tokens were generated
  kCancelled = 3,  // the caller asked to stop; what was generated until then is in the result
};

// "eos", "stop", "length", "cancelled".
std::string_view FinishReasonName(FinishReason reason) noexcept;

struct Generation {
  std::string text;               // the continuation alone, valid UTF-8, special tokens left out
  std::vector<std::int32_t> ids;  // its tokens, with the end-of-text token where there was one
  FinishReason finish_reason = FinishReason::kLength;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;  // = ids.size()
  double prefill_seconds = 0;          // wall time until the first token was chosen (of the whole batch)
  double decode_seconds = 0;           // wall time of all later tokens (of the whole batch)
};

// A piece of text that has just become final.
struct TextChunk {
  std::size_t index;      // which prompt of the batch
  std::string_view text;  // whole UTF-8 characters; the pieces of one prompt concatenate to Generation::text
};

// Called on the thread that called generate(), in order. An exception that it throws ends the generation and is passed
// on.
using TextCallback = std::function<void(const TextChunk&)>;

// Continues prompts. Copies refer to the same model. Safe to use from many threads: each call has a cache of its own.
class TextGeneration {
 public:
  static constexpr std::string_view kName = "text-generation";

  // Prompts are run through the model in pieces of at most this many tokens for each prompt: it bounds the memory of a
  // long one.
  static constexpr int kPrefillChunk = 512;

  // Throws Error(kInvalidArgument) for an empty prompt where the model has no begin-of-text token, for ids outside the
  // vocabulary, for options outside their limits, and for a prompt that with max_new_tokens exceeds the context (the
  // message has both numbers).
  Generation generate(const Prompt& prompt, const GenerateOptions& options = {},
                      const TextCallback& callback = {}) const;

  // Continues several prompts together: the same tokens as one by one (up to rounding), in less time. Same errors; they
  // name the prompt.
  std::vector<Generation> generate_batch(const std::vector<Prompt>& prompts, const GenerateOptions& options = {},
                                         const TextCallback& callback = {}) const;

  std::int64_t max_tokens() const noexcept;  // the context: prompt and continuation together

  explicit TextGeneration(const ModelParts& parts);  // used by Model::task()

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_GENERATION_H_
