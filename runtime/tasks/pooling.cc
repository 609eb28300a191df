#include "runtime/tasks/pooling.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "mconnect/error.h"

namespace mconnect {

Pooling ParsePooling(std::string_view name) {
  if (name == "mean") return Pooling::kMean;
  if (name == "cls") return Pooling::kCls;
  if (name == "last") return Pooling::kLast;
  throw Error(ErrorCode::kCorrupt, "there is no pooling '" + std::string(name) + "'",
              "poolings are 'mean', 'cls' and 'last'");
}

void Pool(Pooling pooling, std::span<const float> hidden, std::span<const std::int64_t> mask, std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  const std::size_t dimension = out.size();
  const auto row = [&](std::size_t t) { return hidden.subspan(t * dimension, dimension); };
  float count = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t t = pooling == Pooling::kLast ? mask.size() - 1 - i : i;
    if (mask[t] == 0) continue;
    const std::span<const float> token = row(t);
    for (std::size_t d = 0; d < dimension; ++d) out[d] += token[d];
    count += 1;
    if (pooling != Pooling::kMean) return;
  }
  if (count > 0) {
    for (float& value : out) value /= count;
  }
}

void Normalize(std::span<float> vector) {
  double squares = 0;
  for (const float value : vector) squares += static_cast<double>(value) * value;
  const float length = std::max(static_cast<float>(std::sqrt(squares)), 1e-12f);
  for (float& value : vector) value /= length;
}

}  // namespace mconnect
