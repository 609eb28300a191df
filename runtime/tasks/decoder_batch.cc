#include "runtime/tasks/decoder_batch.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {
namespace {

template <typename T>
Tensor View(DType dtype, Shape shape, std::vector<T>& values) {
  return Tensor::Borrow(dtype, std::move(shape), values.data());
}

// Tokens that both begin with.
std::int64_t Common(const std::vector<TokenId>& a, const std::vector<TokenId>& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

std::int64_t Size(const std::vector<TokenId>& ids) { return static_cast<std::int64_t>(ids.size()); }

}  // namespace

DecoderBatch::DecoderBatch(Session session, std::int64_t vocabulary, TokenId pad, CacheRules rules)
    : session_(std::move(session)), vocabulary_(vocabulary), pad_(pad), rules_(rules) {}

bool DecoderBatch::Long(std::size_t tokens) const {
  return rules_.short_context && static_cast<std::int64_t>(tokens) > *rules_.short_context;
}

void DecoderBatch::Start(const std::vector<std::vector<TokenId>>& prompts) {
  prompts_ = prompts;
  reused_ = prompts.size() == 1 ? Continue(prompts[0]) : 0;
  if (reused_ == 0) Begin();
}

std::int64_t DecoderBatch::Continue(const std::vector<TokenId>& prompt) {
  if (done_ == 0) return 0;
  std::size_t row = 0;
  for (std::size_t r = 1; r < cached_.size(); ++r) {
    if (Common(cached_[r], prompt) > Common(cached_[row], prompt)) row = r;
  }
  // The last token runs again where all are there: its logits are needed.
  const std::int64_t reused = std::min(Common(cached_[row], prompt), Size(prompt) - 1);
  const std::int64_t behind = Size(cached_[row]) - reused;
  if (reused == 0 || Long(cached_[row].size()) != Long(prompt.size())) return 0;
  // What is left over is hidden by the mask: it costs time and memory, and must not outweigh what is saved.
  if (behind > 0 && (rules_.windows || hidden_ + behind > reused)) return 0;

  Select({row});
  cached_[0].resize(static_cast<std::size_t>(reused));
  hidden_ += behind;
  for (std::int64_t left = behind, c = done_ - 1; left > 0; --c)
    left -= std::exchange(shown_[static_cast<std::size_t>(c)], 0);
  length_ = done_ + Size(prompt) - reused;
  return reused;
}

void DecoderBatch::Begin() {
  if (done_ > 0) session_.reset();
  length_ = done_ = hidden_ = 0;
  shown_.clear();
  for (const auto& prompt : prompts_) length_ = std::max(length_, Size(prompt));
  padding_.clear();
  for (const auto& prompt : prompts_) padding_.push_back(length_ - Size(prompt));
  cached_.assign(prompts_.size(), {});
  beam_.resize(prompts_.size());
  std::iota(beam_.begin(), beam_.end(), 0);
}

bool DecoderBatch::Prefill(std::int64_t chunk, Logits which) {
  for (std::size_t r = 0; r < prompts_.size(); ++r) {
    if (!Long(prompts_[r].size()) || Long(cached_[r].size())) continue;
    // A run takes the long factors where it reaches beyond the short context.
    const std::int64_t padding = std::max<std::int64_t>(padding_[r] - done_, 0);
    chunk = std::max(chunk, padding + *rules_.short_context + 1 - Size(cached_[r]));
  }
  const std::int64_t columns = std::min(chunk, length_ - done_);
  ids_.clear();
  for (std::size_t r = 0; r < prompts_.size(); ++r) {
    for (std::int64_t c = done_; c < done_ + columns; ++c) {
      ids_.push_back(c < padding_[r] ? pad_ : prompts_[r][cached_[r].size()]);
      if (c >= padding_[r]) cached_[r].push_back(ids_.back());
    }
  }
  Run(columns, which);
  return done_ < length_;
}

bool DecoderBatch::Step(std::span<const TokenId> tokens) {
  bool anew = false;
  for (std::size_t r = 0; r < tokens.size(); ++r) {
    anew = anew || Long(cached_[r].size()) != Long(cached_[r].size() + 1);
    cached_[r].push_back(tokens[r]);
  }
  if (anew) {
    prompts_ = std::move(cached_);
    Begin();
    return true;
  }
  ids_.assign(tokens.begin(), tokens.end());
  Run(1, Logits::kLast);
  return false;
}

void DecoderBatch::Select(const std::vector<std::size_t>& rows) {
  bool all = rows.size() == beam_.size();
  for (std::size_t r = 0; all && r < rows.size(); ++r) all = rows[r] == r;
  if (all) return;
  std::vector<std::vector<TokenId>> cached;
  std::vector<std::int64_t> padding;
  std::vector<std::int32_t> beam;
  for (const std::size_t row : rows) {
    cached.push_back(cached_[row]);
    padding.push_back(padding_[row]);
    beam.push_back(beam_[row]);
  }
  cached_ = std::move(cached);
  padding_ = std::move(padding);
  beam_ = std::move(beam);
}

void DecoderBatch::Run(std::int64_t columns, Logits which) {
  const auto rows = static_cast<std::int64_t>(beam_.size());
  const std::int64_t total = done_ + columns;
  shown_.resize(static_cast<std::size_t>(total), 1);
  mask_.clear();
  positions_.clear();
  for (const std::int64_t padding : padding_) {
    for (std::int64_t c = 0; c < total; ++c) mask_.push_back(c >= padding ? shown_[static_cast<std::size_t>(c)] : 0);
    // Columns are hidden only before those of this run.
    for (std::int64_t c = done_; c < total; ++c) positions_.push_back(std::max<std::int64_t>(c - padding - hidden_, 0));
  }
  std::int64_t keep = which == Logits::kAll ? 0 : 1;  // 0 stands for all
  const std::int64_t kept = which == Logits::kAll ? columns : 1;
  NamedTensors outputs = session_.run_borrowed({
      {"input_ids", View(DType::kI64, {rows, columns}, ids_)},
      {"attention_mask", View(DType::kI64, {rows, total}, mask_)},
      {"position_ids", View(DType::kI64, {rows, columns}, positions_)},
      {"beam_idx", View(DType::kI32, {rows}, beam_)},
      {"logits_to_keep", Tensor::Borrow(DType::kI64, {1}, &keep)},
  });
  logits_ = std::move(outputs.at("logits"));
  if (logits_.shape() != Shape{rows, kept, vocabulary_}) {
    throw Error(ErrorCode::kInternal, "the decoder gave logits " + ShapeString(logits_.shape()) + " where " +
                                          ShapeString(Shape{rows, kept, vocabulary_}) + " were asked for");
  }
  done_ = total;
  std::iota(beam_.begin(), beam_.end(), 0);  // the cache now has the rows of this run
}

std::span<const float> DecoderBatch::logits(std::size_t row, std::size_t column) const {
  const auto width = static_cast<std::size_t>(vocabulary_);
  return logits_.values<float>().subspan((row * columns() + column) * width, width);
}

}  // namespace mconnect
