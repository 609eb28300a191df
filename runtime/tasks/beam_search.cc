// Beam search, with the results of transformers' `_beam_search` (GenerationMixin, version 5).
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/tasks/generation_run.h"
#include "runtime/text/sampler.h"
#include "runtime/text/stop_strings.h"
#include "runtime/text/stream_decoder.h"

namespace mconnect {
namespace {

// One sequence of tokens behind a prompt.
struct Hypothesis {
  std::vector<TokenId> ids;
  std::vector<TokenLogprob> logprobs;
  std::optional<ConstraintMatcher> matcher;
  float score = 0;      // running: sum of log-probabilities; finished: the same over length^length_penalty
  std::size_t row = 0;  // of the batch, that its next token depends on
  FinishReason reason = FinishReason::kLength;
};

bool Better(const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; }

// The text of a continuation, up to the first of the stop strings; `rest`: with what a later token could still change.
struct ContinuationText {
  std::string text;
  bool stopped;
};
ContinuationText Decode(const GenerationRequest& request, const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                        bool rest) {
  StreamDecoder decoder(tokenizer);
  StopStrings stops(request.options.stop);
  std::string text;
  for (const TokenId id : ids) {
    if (!request.Ends(id)) text += stops.Put(decoder.Put(id));
  }
  if (rest) text += stops.Put(decoder.Finish()) + stops.Finish();
  return {std::move(text), stops.stopped()};
}

// The beams of one prompt.
class Beams {
 public:
  Beams(const GenerationRequest& request, const Tokenizer& tokenizer, std::size_t prompt)
      : request_(&request),
        tokenizer_(&tokenizer),
        prompt_(prompt),
        width_(static_cast<std::size_t>(request.options.num_beams)) {
    Hypothesis first;
    first.row = prompt;
    if (request.constraint != nullptr) first.matcher.emplace(request.constraint);
    running_.push_back(std::move(first));
  }

  bool done() const { return done_; }
  std::vector<Hypothesis>& running() { return running_; }

  // Chooses the next tokens of all running hypotheses.
  void Advance(const DecoderBatch& batch) {
    const std::vector<Candidate> candidates = Best(batch);
    ++length_;
    const bool full = finished_.size() == width_ && request_->options.early_stopping == EarlyStopping::kYes;
    std::vector<Hypothesis> next;
    for (std::size_t rank = 0; rank < candidates.size(); ++rank) {
      Hypothesis hypothesis = Extend(batch, candidates[rank]);
      if (Ends(hypothesis)) {
        // Of those that end, only what is among the best `width_` counts; the others are there so that enough go on.
        if (rank >= width_ || full) continue;
        hypothesis.score /= static_cast<float>(std::pow(length_, request_->options.length_penalty));
        finished_.push_back(std::move(hypothesis));
      } else if (next.size() < width_) {
        next.push_back(std::move(hypothesis));
      }
    }
    std::ranges::stable_sort(finished_, Better);
    if (finished_.size() > width_) finished_.resize(width_);
    running_ = std::move(next);
    done_ = running_.empty() || !MayImprove();
  }

  // The best `count`; what still runs fills up.
  std::vector<Hypothesis> Take(std::size_t count, std::optional<FinishReason> interruption) {
    std::vector<Hypothesis> best = std::move(finished_);
    for (Hypothesis& hypothesis : running_) {
      if (best.size() >= count) break;
      if (interruption) hypothesis.reason = *interruption;
      if (length_ > 0) hypothesis.score /= static_cast<float>(std::pow(length_, request_->options.length_penalty));
      best.push_back(std::move(hypothesis));
    }
    if (best.size() > count) best.resize(count);
    return best;
  }

 private:
  struct Candidate {
    float score;
    std::size_t beam;
    TokenId token;
  };

  // The most probable continuations of all beams together, enough that `width_` of them do not end.
  std::vector<Candidate> Best(const DecoderBatch& batch) const {
    std::vector<Candidate> candidates;
    std::vector<TokenId> context;
    for (std::size_t beam = 0; beam < running_.size(); ++beam) {
      const Hypothesis& hypothesis = running_[beam];
      MostProbable(batch.logits(hypothesis.row));  // refuses what cannot be ordered
      std::vector<float> scores = LogSoftmax(batch.logits(hypothesis.row));
      const std::vector<TokenId>& prompt = request_->prompts[prompt_];
      context = prompt;
      context.insert(context.end(), hypothesis.ids.begin(), hypothesis.ids.end());
      ApplyLogitRules(request_->rules, context, prompt.size(), scores);
      if (hypothesis.matcher) hypothesis.matcher->Mask(request_->eos, scores);
      MostProbable(scores);
      for (std::size_t id = 0; id < scores.size(); ++id) {
        if (scores[id] == -INFINITY) continue;
        candidates.push_back({scores[id] + hypothesis.score, beam, static_cast<TokenId>(id)});
      }
    }
    const std::size_t keep = std::min(candidates.size(), std::max<std::size_t>(2, 1 + request_->eos.size()) * width_);
    const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(keep);
    std::partial_sort(candidates.begin(), last, candidates.end(), [](const Candidate& a, const Candidate& b) {
      if (a.score != b.score) return a.score > b.score;
      return a.beam != b.beam ? a.beam < b.beam : a.token < b.token;
    });
    candidates.erase(last, candidates.end());
    return candidates;
  }

  Hypothesis Extend(const DecoderBatch& batch, const Candidate& candidate) const {
    Hypothesis hypothesis = running_[candidate.beam];
    hypothesis.ids.push_back(candidate.token);
    hypothesis.score = candidate.score;
    if (request_->options.logprobs) {
      hypothesis.logprobs.push_back(
          MakeLogprob(batch.logits(hypothesis.row), candidate.token, request_->options.top_logprobs));
    }
    return hypothesis;
  }

  // Whether the hypothesis is finished with its last token; says why.
  bool Ends(Hypothesis& hypothesis) const {
    if (request_->Ends(hypothesis.ids.back())) {
      hypothesis.reason = FinishReason::kEos;
      return true;
    }
    if (!request_->options.stop.empty() && Decode(*request_, *tokenizer_, hypothesis.ids, false).stopped) {
      hypothesis.reason = FinishReason::kStop;
      return true;
    }
    if (hypothesis.matcher) {
      hypothesis.matcher->Accept(hypothesis.ids.back());
      if (hypothesis.matcher->MustEnd()) {
        hypothesis.reason = FinishReason::kEos;
        return true;
      }
    }
    return length_ == request_->max_new_tokens[prompt_];
  }

  bool MayImprove() const {
    if (finished_.size() < width_) return true;
    if (request_->options.early_stopping == EarlyStopping::kYes) return false;
    const float penalty = request_->options.length_penalty;
    const bool longest = request_->options.early_stopping == EarlyStopping::kNever && penalty > 0;
    const std::int64_t length = longest ? request_->max_new_tokens[prompt_] : length_;
    return running_[0].score / static_cast<float>(std::pow(length, penalty)) > finished_.back().score;
  }

  const GenerationRequest* request_;
  const Tokenizer* tokenizer_;
  std::size_t prompt_;
  std::size_t width_;
  std::int64_t length_ = 0;           // tokens behind the prompt
  std::vector<Hypothesis> running_;   // the best first
  std::vector<Hypothesis> finished_;  // the best first
  bool done_ = false;
};

}  // namespace

std::vector<Generation> RunBeamSearch(const GenerationRequest& request, const Tokenizer& tokenizer,
                                      DecoderBatch& batch) {
  std::vector<Beams> beams;
  for (std::size_t i = 0; i < request.prompts.size(); ++i) beams.emplace_back(request, tokenizer, i);

  std::optional<FinishReason> interruption = request.Start(batch);
  double prefill_seconds = 0;
  Clock::time_point decode_start = request.start;
  while (!interruption) {
    std::vector<TokenId> tokens;
    std::vector<std::size_t> rows;
    for (Beams& b : beams) {
      if (b.done()) continue;
      b.Advance(batch);
      if (b.done()) continue;
      for (Hypothesis& hypothesis : b.running()) {
        tokens.push_back(hypothesis.ids.back());
        rows.push_back(hypothesis.row);
        hypothesis.row = rows.size() - 1;
      }
    }
    if (prefill_seconds == 0) {
      prefill_seconds = SecondsSince(request.start);
      decode_start = Clock::now();
    }
    interruption = request.Interruption();
    if (tokens.empty() || interruption) break;
    batch.Select(rows);
    interruption = request.Step(batch, tokens);
  }

  const double decode_seconds = prefill_seconds > 0 ? SecondsSince(decode_start) : 0;
  std::vector<Generation> results;
  for (std::size_t i = 0; i < beams.size(); ++i) {
    for (Hypothesis& hypothesis : beams[i].Take(static_cast<std::size_t>(request.options.n), interruption)) {
      Generation& result = results.emplace_back();
      result.text = Decode(request, tokenizer, hypothesis.ids, true).text;
      result.completion_tokens = static_cast<std::int64_t>(hypothesis.ids.size());
      result.ids = std::move(hypothesis.ids);
      result.logprobs = std::move(hypothesis.logprobs);
      result.score = hypothesis.score;
      result.finish_reason = hypothesis.reason;
      result.prompt_tokens = static_cast<std::int64_t>(request.prompts[i].size());
      result.cached_tokens = batch.reused();
      result.prefill_seconds = prefill_seconds;
      result.decode_seconds = decode_seconds;
      if (request.callback && !result.text.empty()) request.callback(TextChunk{results.size() - 1, result.text});
    }
    // A format may admit fewer continuations than were asked for; interrupted before the first token, there is one.
    while (results.size() < (i + 1) * static_cast<std::size_t>(request.options.n)) {
      Generation empty;
      empty.prompt_tokens = static_cast<std::int64_t>(request.prompts[i].size());
      empty.finish_reason = interruption.value_or(FinishReason::kEos);
      results.push_back(std::move(empty));
    }
  }
  return results;
}

}  // namespace mconnect
