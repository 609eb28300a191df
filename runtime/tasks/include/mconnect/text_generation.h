// Task "text-generation": a prompt or a conversation in, its continuation out, as a stream or at once.
#ifndef MCONNECT_TEXT_GENERATION_H_
#define MCONNECT_TEXT_GENERATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
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

// What the continuation must be, as a whole: tokens that could not lead there are never chosen
// (docs/text-generation.md).
struct OutputFormat {
  enum class Kind {
    kAny,
    kJsonSchema,  // JSON that is valid under the schema in `text`; "{}" admits any JSON
    kRegex,       // matched by the regular expression in `text` from end to end
    kChoice,      // one of `choices`
  };
  Kind kind = Kind::kAny;
  std::string text = {};
  std::vector<std::string> choices = {};
};

// When beam search ends (transformers' early_stopping): as soon as there are num_beams finished sequences; when none of
// the running ones is likely to become better; or when none can.
enum class EarlyStopping { kYes, kHeuristic, kNever };

struct GenerateOptions {
  std::optional<int> max_new_tokens = std::nullopt;  // at least 1; default: 256, or what the context has room for
  int min_new_tokens = 0;                            // the text does not end before; at most max_new_tokens
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
  // Same seed, same logits: same tokens, on every machine. All prompts of a batch use it; so do the samples of one
  // prompt, each with its own number.
  std::uint64_t seed = 0;

  float presence_penalty = 0;                     // subtracted once from the logit of a token of the continuation
  float frequency_penalty = 0;                    // ... and for each time that it is there
  std::map<std::int32_t, float> logit_bias = {};  // added to the logits of tokens; minus infinity forbids one

  int n = 1;                 // continuations of each prompt, 1 to 128; the prompt runs once
  int num_beams = 1;         // more than 1: beam search, which returns the n best of 1 to num_beams
  float length_penalty = 1;  // of beam search: scores are divided by length^length_penalty
  EarlyStopping early_stopping = EarlyStopping::kHeuristic;

  bool logprobs = false;  // report the log-probability of each token
  int top_logprobs = 0;   // ... and the most probable tokens at its place, 0 to 20; above 0 asks for logprobs

  OutputFormat format = {};

  bool ignore_eos = false;                               // go on to max_new_tokens, for measurements
  std::optional<double> timeout_seconds = std::nullopt;  // > 0; then the generation ends with what there is
  std::stop_token cancel = {};                           // checked before each step and each chunk of a prompt
};

enum class FinishReason : int {
  kEos = 0,        // the model ended its text, or GenerateOptions::format lets nothing follow
  kStop = 1,       // one of GenerateOptions::stop appeared
  kLength = 2,     // max_new_tokens were generated
  kCancelled = 3,  // the caller asked to stop; what was generated until then is in the result
  kTimeout = 4,    // timeout_seconds have passed; what was generated until then is in the result
};

// "eos", "stop", "length", "cancelled", "timeout".
std::string_view FinishReasonName(FinishReason reason) noexcept;

// Natural logarithms of probabilities as the model gives them: before temperature, penalties, bias and masks.
struct TokenLogprob {
  std::int32_t id = 0;
  float logprob = 0;
  std::vector<std::pair<std::int32_t, float>> top = {};  // the most probable first, equals by id
};

struct Generation {
  std::string text;               // the continuation alone, valid UTF-8, special tokens left out
  std::vector<std::int32_t> ids;  // its tokens, with the end-of-text token where there was one
  FinishReason finish_reason = FinishReason::kLength;
  std::vector<TokenLogprob> logprobs;  // one for each of `ids` where asked for
  double score = 0;                    // beam search: sum of log-probabilities / length^length_penalty
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;      // of them, those that a TextSession had in its cache
  std::int64_t completion_tokens = 0;  // = ids.size()
  double prefill_seconds = 0;          // wall time until the first token was chosen (of the whole batch)
  double decode_seconds = 0;           // wall time of all later tokens (of the whole batch)
};

// A piece of text that has just become final.
struct TextChunk {
  std::size_t index;      // position in generate_batch()'s result
  std::string_view text;  // whole UTF-8 characters; the pieces of one continuation concatenate to Generation::text
};

// Called on the thread that called generate(), in order. An exception that it throws ends the generation and is passed
// on. Beam search calls it once for each continuation, at the end.
using TextCallback = std::function<void(const TextChunk&)>;

// One turn of a conversation.
struct Message {
  std::string role;     // "system", "user", "assistant", "tool"
  std::string content;  // UTF-8
  // Further members as a JSON object: {"tool_calls": [...]}, {"name": "..."}; "" is none. They go before the two above.
  std::string extra = {};
};

// What a conversation becomes before the model continues it.
struct ChatOptions {
  std::string tools = {};  // a JSON array of tool descriptions; "" is none
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // go on with the text of the last message; excludes add_generation_prompt
  std::string variables = {};           // a JSON object of further variables, such as {"enable_thinking": false}
  std::string template_name = {};       // where the model has several
  // Let special tokens that stand in messages act as such. Otherwise they are the text that they look like.
  bool allow_special_tokens_in_content = false;
};

// How probable a given text is.
struct Score {
  std::vector<std::int32_t> ids;
  std::vector<float> logprobs;  // of ids[1], ids[2], ... given all before; natural logarithms
  double log_likelihood = 0;    // their sum
  double perplexity() const;    // e^(-log_likelihood / logprobs.size()); 1 where there is none
};

struct ScoreOptions {
  std::stop_token cancel = {};
};

// Prompts that follow each other, as the turns of a conversation do: what a prompt has in common with the one before
// and its continuation is not computed again. The tokens are those of TextGeneration, up to rounding: what was computed
// in other steps may differ in the last bits.
//
// Keeps the cache of the last call, and memory for it, as long as it lives; an exception in the middle of a run empties
// it. Not synchronised: a session belongs to one thread at a time. Any number may run at once. It may outlive the
// TextGeneration that made it.
class TextSession {
 public:
  TextSession(TextSession&&) noexcept;
  TextSession& operator=(TextSession&&) noexcept;
  ~TextSession();

  // As TextGeneration's. Generation::cached_tokens says how much of the prompt was there already.
  Generation generate(const Prompt& prompt, const GenerateOptions& options = {}, const TextCallback& callback = {});
  Generation chat(const std::vector<Message>& messages, const GenerateOptions& options = {},
                  const ChatOptions& chat = {}, const TextCallback& callback = {});

  void reset();  // empties the cache and gives its memory back

 private:
  friend class TextGeneration;
  struct Impl;
  explicit TextSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Continues prompts. Copies refer to the same model. Safe to use from many threads: each call has a cache of its own.
class TextGeneration {
 public:
  static constexpr std::string_view kName = "text-generation";

  // Prompts are run through the model in pieces of at most this many tokens for each prompt: it bounds the memory of a
  // long one.
  static constexpr int kPrefillChunk = 512;

  // Throws Error(kInvalidArgument) for an empty prompt where the model has no begin-of-text token, for ids outside the
  // vocabulary, for options outside their limits, for n above 1, and for a prompt that with max_new_tokens exceeds the
  // context (the message has both numbers). Throws Error(kUnsupported) naming the part of `format` that is not known.
  Generation generate(const Prompt& prompt, const GenerateOptions& options = {},
                      const TextCallback& callback = {}) const;

  // Continues several prompts together: the same tokens as one by one (up to rounding), in less time. Continuation j of
  // prompt i is at i*n + j of the result. Same errors; they name the prompt.
  std::vector<Generation> generate_batch(const std::vector<Prompt>& prompts, const GenerateOptions& options = {},
                                         const TextCallback& callback = {}) const;

  // Whether the model has a chat template.
  bool has_chat_template() const noexcept;

  // The tokens of a conversation, for generate(). Throws Error(kNotFound) where the model has no chat template, and
  // Error(kInvalidArgument) for messages that the template refuses.
  std::vector<std::int32_t> encode_chat(const std::vector<Message>& messages, const ChatOptions& chat = {}) const;
  // The same for a JSON array of messages: [{"role": "user", "content": "..."}, ...].
  std::vector<std::int32_t> encode_chat(std::string_view messages_json, const ChatOptions& chat = {}) const;

  // Answers a conversation: encode_chat(), then generate().
  Generation chat(const std::vector<Message>& messages, const GenerateOptions& options = {},
                  const ChatOptions& chat = {}, const TextCallback& callback = {}) const;

  // For prompts that follow each other.
  TextSession session() const;

  // The log-likelihood of a text under the model. Throws Error(kInvalidArgument) as generate() does, and for a text
  // that is longer than the context; Error(kCancelled) when cancelled.
  Score score(const Prompt& text, const ScoreOptions& options = {}) const;

  std::int64_t max_tokens() const noexcept;  // the context: prompt and continuation together

  explicit TextGeneration(const ModelParts& parts);  // used by Model::task()

 private:
  friend class TextSession;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_GENERATION_H_
