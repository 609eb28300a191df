// Task "text-embedding": texts in, one vector for each out.
#ifndef MCONNECT_TEXT_EMBEDDING_H_
#define MCONNECT_TEXT_EMBEDDING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/tensor.h"

namespace mconnect {

class ModelParts;

struct EmbedOptions {
  int batch_size = 32;  // texts that run together, 1 to 4096; affects speed and memory, never the result's order
  std::optional<bool> normalize = std::nullopt;  // scale each vector to length 1; default: as the model was trained
  std::optional<int> max_tokens =
      std::nullopt;  // cut texts to that many tokens, special ones included; 2 up to the model's limit (the default)
  std::stop_token cancel = {};  // checked between batches
};

struct Embeddings {
  Tensor vectors;                    // f32 [texts, dimension]: row i belongs to text i
  std::vector<std::int32_t> tokens;  // tokens of each text that were used, special ones included
  std::vector<bool> truncated;       // whether text i was longer than max_tokens

  std::int64_t count() const { return vectors.shape()[0]; }
  std::int64_t dimension() const { return vectors.shape()[1]; }
  std::span<const float> operator[](std::int64_t i) const {
    return vectors.values<float>().subspan(static_cast<std::size_t>(i * dimension()),
                                           static_cast<std::size_t>(dimension()));
  }
};

// Turns texts into vectors whose dot product (of normalized vectors: the cosine) measures how close their meanings are.
// Copies refer to the same model. Safe to use from many threads.
class TextEmbedding {
 public:
  static constexpr std::string_view kName = "text-embedding";

  // Embeds UTF-8 texts. An empty list gives vectors of shape [0, dimension]; an
  // empty text is embedded like any other. Texts that exceed max_tokens are cut at the end and marked in `truncated`.
  //
  // Throws Error(kInvalidArgument) for options outside their limits and for a text that is not UTF-8, with its index
  // and the offset of the byte; Error(kCancelled) after `cancel`.
  Embeddings embed(const std::vector<std::string>& texts, const EmbedOptions& options = {}) const;

  std::int64_t dimension() const noexcept;
  std::int64_t max_tokens() const noexcept;

  explicit TextEmbedding(const ModelParts& parts);  // used by Model::task()

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_EMBEDDING_H_
