#include "runtime/text/tokenizer.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/length.h"
#include "runtime/text/tokenizer_impl.h"

namespace mconnect {
namespace {

std::optional<JsonView> FindNonNull(const JsonView& json, std::string_view key) {
  auto value = json.Find(key);
  return value && !value->IsNull() ? value : std::nullopt;
}

[[noreturn]] void RefusePlainText(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "plain_text is for one text, not for " + what,
              "encode the texts one by one");
}

}  // namespace

Tokenizer::Impl::Impl(const JsonView& json) {
  if (const auto version = json.Find("version"); version && version->String() != "1.0") {
    throw Error(ErrorCode::kUnsupported, version->place() + ": '" + version->String() + "' is not 1.0");
  }
  if (const auto part = FindNonNull(json, "truncation")) truncation = TruncationFromJson(*part);
  if (const auto part = FindNonNull(json, "padding")) padding = PaddingFromJson(*part);
  if (const auto part = FindNonNull(json, "normalizer")) normalizer = Normalizer::FromJson(*part);
  bool bytes = false;
  if (const auto part = FindNonNull(json, "pre_tokenizer")) {
    bytes = TokenModel::CanReadBytes(json["model"]);
    pre_tokenizer = PreTokenizer::FromJson(*part, &bytes);
  }
  model = TokenModel::FromJson(json["model"], bytes);
  if (const auto part = FindNonNull(json, "post_processor")) post_processor = PostProcessor::FromJson(*part);
  if (const auto part = FindNonNull(json, "decoder")) decoder = Decoder::FromJson(*part);
  static const Json kNone = Json::array();
  added.emplace(
      json.Find("added_tokens").value_or(JsonView(kNone, "added_tokens")), normalizer.get(),
      [this](std::string_view token) { return model->vocabulary().Id(token); }, model->vocabulary().size());
  cuts = SafeCuts::Of(json, normalizer.get());
  if (cuts && !added->NormalizedEndBefore(cuts->starts())) cuts.reset();
}

const std::string* Tokenizer::Impl::DecodedToken(TokenId id, bool skip_special_tokens) const {
  const std::string* token = added->Text(id);
  if (token == nullptr) token = model->vocabulary().Text(id);
  if (token == nullptr || (skip_special_tokens && added->IsSpecialText(*token))) return nullptr;
  return token;
}

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::FromJson(std::string_view tokenizer_json) {
  const Json json = ParseJson(tokenizer_json, "tokenizer.json");
  return Tokenizer(std::make_unique<const Impl>(JsonView(json, "tokenizer.json")));
}

Encoding Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  Encoding encoding = impl_->Encode(text, nullptr, options);
  Pad(options.padding.value_or(impl_->padding), options.offsets, {&encoding, 1});
  return encoding;
}

Encoding Tokenizer::Encode(std::string_view text, std::string_view pair, const EncodeOptions& options) const {
  Encoding encoding = impl_->Encode(text, &pair, options);
  Pad(options.padding.value_or(impl_->padding), options.offsets, {&encoding, 1});
  return encoding;
}

std::vector<Encoding> Tokenizer::EncodeBatch(std::span<const std::string> texts, const EncodeOptions& options) const {
  if (!options.plain_text.empty()) RefusePlainText("a batch");
  std::vector<Encoding> encodings;
  encodings.reserve(texts.size());
  for (const std::string& text : texts) encodings.push_back(impl_->Encode(text, nullptr, options));
  Pad(options.padding.value_or(impl_->padding), options.offsets, encodings);
  return encodings;
}

std::vector<Encoding> Tokenizer::EncodeBatch(std::span<const std::pair<std::string, std::string>> pairs,
                                             const EncodeOptions& options) const {
  std::vector<Encoding> encodings;
  encodings.reserve(pairs.size());
  for (const auto& [text, pair] : pairs) {
    const std::string_view second = pair;
    encodings.push_back(impl_->Encode(text, &second, options));
  }
  Pad(options.padding.value_or(impl_->padding), options.offsets, encodings);
  return encodings;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids, bool skip_special_tokens) const {
  DecoderChain chain(impl_->decoder);
  std::string text;
  for (const TokenId id : ids) {
    if (const std::string* token = impl_->DecodedToken(id, skip_special_tokens)) chain.Put(*token, &text);
  }
  chain.Finish(&text);
  return text;
}

std::optional<TokenId> Tokenizer::TokenToId(std::string_view token) const {
  const auto id = impl_->added->Id(token);
  return id ? id : impl_->model->vocabulary().Id(token);
}

std::optional<std::string> Tokenizer::IdToToken(TokenId id) const {
  const std::string* token = impl_->DecodedToken(id, /*skip_special_tokens=*/false);
  return token == nullptr ? std::nullopt : std::optional(*token);
}

bool Tokenizer::IsSpecial(TokenId id) const { return impl_->added->IsSpecial(id); }

std::size_t Tokenizer::vocab_size() const noexcept {
  return impl_->model->vocabulary().size() + impl_->added->size_beyond_model();
}

std::size_t Tokenizer::num_special_tokens(bool pair) const noexcept {
  return impl_->post_processor == nullptr ? 0 : impl_->post_processor->added_tokens(pair);
}

const std::optional<Truncation>& Tokenizer::truncation() const noexcept { return impl_->truncation; }
const Padding& Tokenizer::padding() const noexcept { return impl_->padding; }

}  // namespace mconnect
