// Sampling and greedy decoding.
#include <algorithm>
#include <string>
#include <utility>

#include "runtime/tasks/generation_run.h"
#include "runtime/text/stop_strings.h"
#include "runtime/text/stream_decoder.h"

namespace mconnect {
namespace {

// One continuation under way.
class Sequence {
 public:
  // `index`: position in the result. The request and the tokenizer must outlive it.
  Sequence(const GenerationRequest& request, const Tokenizer& tokenizer, std::size_t index)
      : request_(&request),
        index_(index),
        prompt_(index / static_cast<std::size_t>(request.options.n)),
        context_(request.prompts[prompt_]),
        sampler_(request.sampling, static_cast<std::uint32_t>(index % static_cast<std::size_t>(request.options.n))),
        decoder_(tokenizer),
        stops_(request.options.stop) {
    if (request.constraint != nullptr) matcher_.emplace(request.constraint);
    result_.prompt_tokens = static_cast<std::int64_t>(context_.size());
  }

  std::size_t prompt() const { return prompt_; }
  bool finished() const { return finished_; }

  // Chooses the next token.
  TokenId Next(std::span<const float> logits) {
    const TokenId token = sampler_.Sample(Scores(logits));
    if (request_->options.logprobs) {
      result_.logprobs.push_back(MakeLogprob(logits, token, request_->options.top_logprobs));
    }
    context_.push_back(token);
    result_.ids.push_back(token);
    if (request_->Ends(token)) {
      Finish(FinishReason::kEos);
      return token;
    }
    if (matcher_) matcher_->Accept(token);
    Emit(decoder_.Put(token));
    if (stops_.stopped()) {
      Finish(FinishReason::kStop);
    } else if (matcher_ && matcher_->MustEnd()) {
      Finish(FinishReason::kEos);
    } else if (static_cast<std::int64_t>(result_.ids.size()) == request_->max_new_tokens[prompt_]) {
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
  std::span<const float> Scores(std::span<const float> logits) {
    if (!request_->rules.Any() && !matcher_) return logits;
    scores_.assign(logits.begin(), logits.end());
    ApplyLogitRules(request_->rules, context_, static_cast<std::size_t>(result_.prompt_tokens), scores_);
    if (matcher_) matcher_->Mask(request_->eos, scores_);
    return scores_;
  }

  void Emit(const std::string& text) { Show(stops_.Put(text)); }

  void Show(const std::string& text) {
    if (text.empty()) return;
    result_.text += text;
    if (request_->callback) request_->callback(TextChunk{index_, text});
  }

  const GenerationRequest* request_;
  std::size_t index_;
  std::size_t prompt_;
  std::vector<TokenId> context_;  // prompt and continuation
  Sampler sampler_;
  StreamDecoder decoder_;
  StopStrings stops_;
  std::optional<ConstraintMatcher> matcher_;
  std::vector<float> scores_;  // scratch
  bool finished_ = false;
  Generation result_;
};

}  // namespace

std::vector<Generation> RunSampling(const GenerationRequest& request, const Tokenizer& tokenizer, DecoderBatch& batch) {
  std::vector<Sequence> sequences;
  const std::size_t count = request.prompts.size() * static_cast<std::size_t>(request.options.n);
  sequences.reserve(count);
  for (std::size_t i = 0; i < count; ++i) sequences.emplace_back(request, tokenizer, i);

  struct Active {
    Sequence* sequence;
    std::size_t row;  // of the batch
  };
  std::vector<Active> active;
  for (Sequence& sequence : sequences) active.push_back({&sequence, sequence.prompt()});

  std::optional<FinishReason> interruption = request.Start(batch);
  double prefill_seconds = 0;
  Clock::time_point decode_start = request.start;
  std::vector<TokenId> tokens;
  std::vector<std::size_t> rows;
  while (!interruption && !active.empty()) {
    tokens.clear();
    rows.clear();
    for (Active& a : active) {
      const TokenId token = a.sequence->Next(batch.logits(a.row));
      if (a.sequence->finished()) continue;
      tokens.push_back(token);
      rows.push_back(a.row);
      a.row = rows.size() - 1;
    }
    std::erase_if(active, [](const Active& a) { return a.sequence->finished(); });
    if (prefill_seconds == 0) {
      prefill_seconds = SecondsSince(request.start);
      decode_start = Clock::now();
    }
    interruption = request.Interruption();
    if (active.empty() || interruption) break;
    batch.Select(rows);
    interruption = request.Step(batch, tokens);
  }
  for (const Active& a : active) a.sequence->Finish(*interruption);

  const double decode_seconds = prefill_seconds > 0 ? SecondsSince(decode_start) : 0;
  std::vector<Generation> results;
  for (Sequence& sequence : sequences) {
    Generation& result = results.emplace_back(sequence.Take(prefill_seconds, decode_seconds));
    result.cached_tokens = batch.reused();
  }
  return results;
}

}  // namespace mconnect
