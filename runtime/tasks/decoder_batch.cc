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

}  // namespace

DecoderBatch::DecoderBatch(Session session, std::int64_t vocabulary, TokenId pad)
    : session_(std::move(session)), vocabulary_(vocabulary), pad_(pad) {}

void DecoderBatch::Start(const std::vector<std::vector<TokenId>>& prompts) {
  prompts_ = prompts;
  for (const auto& prompt : prompts_) length_ = std::max(length_, static_cast<std::int64_t>(prompt.size()));
  for (const auto& prompt : prompts_) padding_.push_back(length_ - static_cast<std::int64_t>(prompt.size()));
  beam_.resize(prompts_.size());
  std::iota(beam_.begin(), beam_.end(), 0);
}

bool DecoderBatch::Prefill(std::int64_t chunk, Logits which) {
  const std::int64_t columns = std::min(chunk, length_ - done_);
  ids_.clear();
  for (std::size_t r = 0; r < prompts_.size(); ++r) {
    for (std::int64_t c = done_; c < done_ + columns; ++c) {
      ids_.push_back(c < padding_[r] ? pad_ : prompts_[r][static_cast<std::size_t>(c - padding_[r])]);
    }
  }
  Run(columns, which);
  return done_ < length_;
}

void DecoderBatch::Step(std::span<const TokenId> tokens) {
  ids_.assign(tokens.begin(), tokens.end());
  Run(1, Logits::kLast);
}

void DecoderBatch::Select(const std::vector<std::size_t>& rows) {
  std::vector<std::int64_t> padding;
  std::vector<std::int32_t> beam;
  for (const std::size_t row : rows) {
    padding.push_back(padding_[row]);
    beam.push_back(beam_[row]);
  }
  padding_ = std::move(padding);
  beam_ = std::move(beam);
}

void DecoderBatch::Run(std::int64_t columns, Logits which) {
  const auto rows = static_cast<std::int64_t>(beam_.size());
  const std::int64_t total = done_ + columns;
  mask_.clear();
  positions_.clear();
  for (const std::int64_t padding : padding_) {
    for (std::int64_t c = 0; c < total; ++c) mask_.push_back(c >= padding);
    for (std::int64_t c = done_; c < total; ++c) positions_.push_back(std::max<std::int64_t>(c - padding, 0));
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
