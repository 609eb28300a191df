#include "mconnect/text_embedding.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "runtime/tasks/model_parts.h"
#include "runtime/tasks/pooling.h"

namespace mconnect {
namespace {

constexpr int kMaxBatch = 4096;

struct Settings {
  std::int64_t max_tokens;
  bool normalize;
  Pooling pooling;
};

Settings ParseSettings(const std::string& text) {
  const std::string source = "text-embedding.json";
  const Json json = ParseJson(text, source);
  const JsonView view(json, source);
  view.Closed({"max_tokens", "normalize", "pooling"});
  return {view["max_tokens"].Int(2, 1 << 24), view["normalize"].Bool(), ParsePooling(view["pooling"].String())};
}

void CheckRange(const char* option, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return;
  throw Error(ErrorCode::kInvalidArgument, std::string(option) + " is " + std::to_string(value) + ", the limits are " +
                                               std::to_string(min) + " and " + std::to_string(max));
}

void ThrowIfCancelled(const std::stop_token& cancel) {
  if (cancel.stop_requested()) throw Error(ErrorCode::kCancelled, "embedding was cancelled");
}

// The encoder's width, from the shape that the manifest gives its output.
std::int64_t HiddenSize(const ModuleInfo& info) {
  for (const TensorInfo& output : info.outputs) {
    if (output.name != "last_hidden_state" || output.shape.size() != 3 || output.dtype != DType::kF32) continue;
    std::int64_t size = 0;
    const std::string& text = output.shape[2];
    if (std::from_chars(text.data(), text.data() + text.size(), size).ec == std::errc() && size > 0) return size;
  }
  throw Error(ErrorCode::kUnsupported,
              "module '" + info.name +
                  "' has no output 'last_hidden_state' of f32 [batch,tokens,<number>], which text-embedding needs");
}

}  // namespace

struct TextEmbedding::Impl {
  Settings settings;
  std::shared_ptr<const Tokenizer> tokenizer;
  LoadedModule encoder;
  std::int64_t dimension;
  bool has_types = false;

  explicit Impl(const ModelParts& parts)
      : settings(ParseSettings(parts.asset(kName))),
        tokenizer(parts.tokenizer()),
        encoder(parts.module("encoder")),
        dimension(HiddenSize(encoder.info())) {
    for (const TensorInfo& input : encoder.info().inputs) has_types |= input.name == "token_type_ids";
  }

  std::vector<Encoding> Encode(const std::vector<std::string>& texts, std::size_t max_tokens,
                               const std::stop_token& cancel, Embeddings& result) const {
    std::vector<Encoding> encodings;
    encodings.reserve(texts.size());
    EncodeOptions options;
    options.padding = Padding{};
    options.offsets = false;
    for (const std::string& text : texts) {
      ThrowIfCancelled(cancel);
      options.max_tokens = 0;
      Encoding encoding = tokenizer->Encode(text, options);
      const bool too_long = encoding.size() > max_tokens;
      if (too_long) {
        options.max_tokens = max_tokens;  // cuts before the special tokens at the end
        encoding = tokenizer->Encode(text, options);
      }
      result.tokens.push_back(static_cast<std::int32_t>(encoding.size()));
      result.truncated.push_back(too_long);
      encodings.push_back(std::move(encoding));
    }
    return encodings;
  }

  // Runs the texts at `rows`, the longest first, and writes their vectors.
  void RunBatch(Session& session, const std::vector<Encoding>& encodings, std::span<const std::size_t> rows,
                bool normalize, std::span<float> vectors) const {
    const std::size_t tokens = encodings[rows[0]].size();
    const Shape shape = {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(tokens)};
    NamedTensors inputs = {{"input_ids", Tensor(DType::kI64, shape)}, {"attention_mask", Tensor(DType::kI64, shape)}};
    if (has_types) inputs.emplace("token_type_ids", Tensor(DType::kI64, shape));
    const std::span<std::int64_t> ids = inputs.at("input_ids").values<std::int64_t>();
    const std::span<std::int64_t> mask = inputs.at("attention_mask").values<std::int64_t>();
    std::fill(ids.begin(), ids.end(), tokenizer->padding().id);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Encoding& encoding = encodings[rows[r]];
      std::copy(encoding.ids.begin(), encoding.ids.end(), ids.begin() + static_cast<std::ptrdiff_t>(r * tokens));
      std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(r * tokens), encoding.size(), 1);
      if (!has_types) continue;
      std::copy(encoding.type_ids.begin(), encoding.type_ids.end(),
                inputs.at("token_type_ids").values<std::int64_t>().begin() + static_cast<std::ptrdiff_t>(r * tokens));
    }
    const NamedTensors outputs = session.run_borrowed(inputs);
    const Tensor& hidden = outputs.at("last_hidden_state");
    if (hidden.shape() != Shape{shape[0], shape[1], dimension}) {
      throw Error(ErrorCode::kInternal, "the encoder gave last_hidden_state " + ShapeString(hidden.shape()) +
                                            " for input_ids " + ShapeString(shape));
    }
    const auto width = static_cast<std::size_t>(dimension);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::span<float> out = vectors.subspan(rows[r] * width, width);
      Pool(settings.pooling, hidden.values<float>().subspan(r * tokens * width, tokens * width),
           mask.subspan(r * tokens, tokens), out);
      if (std::ranges::any_of(out, [](float x) { return !std::isfinite(x); })) {
        throw Error(ErrorCode::kCorrupt,
                    "text " + std::to_string(rows[r]) + ": its vector has values that are not finite",
                    "the weights may be damaged: run `mconnect verify` on the bundle");
      }
      if (normalize) Normalize(out);
    }
  }
};

TextEmbedding::TextEmbedding(const ModelParts& parts) : impl_(std::make_shared<const Impl>(parts)) {}

std::int64_t TextEmbedding::dimension() const noexcept { return impl_->dimension; }
std::int64_t TextEmbedding::max_tokens() const noexcept { return impl_->settings.max_tokens; }

Embeddings TextEmbedding::embed(const std::vector<std::string>& texts, const EmbedOptions& options) const {
  CheckRange("batch_size", options.batch_size, 1, kMaxBatch);
  const std::int64_t limit = impl_->settings.max_tokens;
  const std::int64_t max_tokens = options.max_tokens.value_or(limit);
  CheckRange("max_tokens", max_tokens, 2, limit);
  for (std::size_t i = 0; i < texts.size(); ++i) RequireUtf8(texts[i], "text " + std::to_string(i));

  Embeddings result;
  result.vectors = Tensor(DType::kF32, {static_cast<std::int64_t>(texts.size()), impl_->dimension});
  const std::vector<Encoding> encodings =
      impl_->Encode(texts, static_cast<std::size_t>(max_tokens), options.cancel, result);

  // Texts of like length run together, so that little is computed for padding. The longest come first: what memory the
  // call needs, it needs at once. A text without any token keeps its zeros.
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return encodings[i].size() == 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return encodings[a].size() > encodings[b].size(); });

  if (order.empty()) return result;
  Session session = impl_->encoder.session();
  const bool normalize = options.normalize.value_or(impl_->settings.normalize);
  const auto batch = static_cast<std::size_t>(options.batch_size);
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    ThrowIfCancelled(options.cancel);
    const std::span<const std::size_t> rows = std::span(order).subspan(begin, std::min(batch, order.size() - begin));
    impl_->RunBatch(session, encodings, rows, normalize, result.vectors.values<float>());
  }
  return result;
}

}  // namespace mconnect
