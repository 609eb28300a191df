#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/tokenizer_impl.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

constexpr std::int64_t kMaxLength = std::numeric_limits<std::int32_t>::max();

std::optional<JsonView> FindNonNull(const JsonView& json, std::string_view key) {
  auto value = json.Find(key);
  return value && !value->IsNull() ? value : std::nullopt;
}

bool IsLeft(const JsonView& json) {
  const auto direction = json.Find("direction");
  if (!direction || direction->String() == "Right") return false;
  if (direction->String() != "Left") direction->Fail("unknown direction '" + direction->String() + "'");
  return true;
}

Truncation TruncationFromJson(const JsonView& json) {
  Truncation truncation;
  truncation.max_tokens = static_cast<std::size_t>(json["max_length"].Int(0, kMaxLength));
  truncation.left = IsLeft(json);
  const std::string& strategy = json["strategy"].String();
  if (strategy == "OnlyFirst") {
    truncation.strategy = Truncation::Strategy::kOnlyFirst;
  } else if (strategy == "OnlySecond") {
    truncation.strategy = Truncation::Strategy::kOnlySecond;
  } else if (strategy != "LongestFirst") {
    json["strategy"].Fail("unknown strategy '" + strategy + "'");
  }
  return truncation;
}

Padding PaddingFromJson(const JsonView& json) {
  Padding padding;
  const JsonView strategy = json["strategy"];
  if (strategy.json().is_string() && strategy.String() == "BatchLongest") {
    padding.to = Padding::To::kLongest;
  } else {
    padding.to = Padding::To::kFixed;
    padding.length = static_cast<std::size_t>(strategy["Fixed"].Int(0, kMaxLength));
  }
  if (const auto multiple = FindNonNull(json, "pad_to_multiple_of")) {
    padding.multiple_of = static_cast<std::size_t>(multiple->Int(0, kMaxLength));
  }
  padding.left = IsLeft(json);
  padding.id = static_cast<TokenId>(json["pad_id"].Int(0, kMaxLength));
  padding.type_id = static_cast<std::int32_t>(json["pad_type_id"].Int(0, kMaxLength));
  return padding;
}

// Code points before a byte of the text, for bytes that mostly come in ascending order.
class CharCounter {
 public:
  explicit CharCounter(std::string_view text) : text_(text), ascii_(unicode::IsAscii(text)) {}

  Span Chars(Span bytes) {
    if (ascii_ || bytes.begin >= text_.size()) return bytes;
    const std::uint32_t begin = Before(bytes.begin);
    return {begin, bytes.end < text_.size() ? Before(bytes.end) : Before(bytes.end - 1) + 1};
  }

 private:
  // Index of the code point that the byte belongs to.
  std::uint32_t Before(std::uint32_t byte) {
    while (unicode::IsContinuationByte(text_[byte])) --byte;
    for (; byte_ < byte; ++byte_) chars_ += unicode::IsContinuationByte(text_[byte_ + 1]) ? 0 : 1;
    for (; byte_ > byte; --byte_) chars_ -= unicode::IsContinuationByte(text_[byte_]) ? 0 : 1;
    return chars_;
  }

  std::string_view text_;
  bool ascii_;
  std::uint32_t byte_ = 0;
  std::uint32_t chars_ = 0;
};

template <typename T>
void PadVector(std::size_t count, bool left, T value, std::vector<T>* values) {
  values->insert(left ? values->begin() : values->end(), count, value);
}

void Pad(const Padding& padding, bool offsets, std::span<Encoding> encodings) {
  if (padding.to == Padding::To::kNone || encodings.empty()) return;
  std::size_t length = padding.length;
  if (padding.to == Padding::To::kLongest) {
    length = 0;
    for (const Encoding& encoding : encodings) length = std::max(length, encoding.size());
  }
  if (padding.multiple_of > 0) length = (length + padding.multiple_of - 1) / padding.multiple_of * padding.multiple_of;
  for (Encoding& encoding : encodings) {
    if (encoding.size() >= length) continue;
    const std::size_t count = length - encoding.size();
    PadVector(count, padding.left, padding.id, &encoding.ids);
    PadVector(count, padding.left, padding.type_id, &encoding.type_ids);
    PadVector(count, padding.left, 0, &encoding.attention_mask);
    PadVector(count, padding.left, 1, &encoding.special_tokens_mask);
    if (!offsets) continue;
    PadVector(count, padding.left, Span{}, &encoding.byte_offsets);
    PadVector(count, padding.left, Span{}, &encoding.char_offsets);
  }
}

template <typename T>
void Cut(std::size_t count, bool left, std::vector<T>* values) {
  if (count >= values->size()) return;
  if (left) values->erase(values->begin(), values->end() - static_cast<std::ptrdiff_t>(count));
  values->resize(count);
}

void Cut(std::size_t count, bool left, EncodingPart* part) {
  Cut(count, left, &part->encoding.ids);
  Cut(count, left, &part->encoding.type_ids);
  Cut(count, left, &part->encoding.attention_mask);
  Cut(count, left, &part->encoding.special_tokens_mask);
  Cut(count, left, &part->encoding.byte_offsets);
  Cut(count, left, &part->encoding.char_offsets);
  Cut(count, left, &part->tokens);
}

[[noreturn]] void RefusePlainText(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "plain_text is for one text, not for " + what,
              "encode the texts one by one");
}

void CheckRanges(const std::vector<Span>& ranges, std::size_t size) {
  std::uint32_t done = 0;
  for (const Span& range : ranges) {
    if (range.begin < done || range.end < range.begin || range.end > size) {
      throw Error(ErrorCode::kInvalidArgument,
                  "plain_text has the range [" + std::to_string(range.begin) + ", " + std::to_string(range.end) +
                      ") after byte " + std::to_string(done) + " of a text of " + std::to_string(size) + " bytes",
                  "give ranges inside of the text, in order and disjoint");
    }
    done = range.end;
  }
}

// unicode::Repair of each range and of each part between ranges; the ranges are moved to where their text is then.
std::optional<std::string> RepairRanges(std::string_view text, std::vector<Span>* ranges) {
  std::string good;
  bool changed = false;
  std::size_t done = 0;
  const auto append = [&](std::size_t end) {
    const auto part = unicode::Repair(text.substr(done, end - done));
    changed = changed || part;
    good += part ? std::string_view(*part) : text.substr(done, end - done);
    if (good.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ErrorCode::kInvalidArgument, "a text of more than 4294967295 bytes once it is well-formed");
    }
    done = end;
    return static_cast<std::uint32_t>(good.size());
  };
  for (Span& range : *ranges) {
    range = {append(range.begin), range.end};
    range.end = append(range.end);
  }
  append(text.size());
  return changed ? std::optional(std::move(good)) : std::nullopt;
}

// Lengths of two texts of `first` and `second` tokens that together have `limit`: the longer one is cut first.
std::pair<std::size_t, std::size_t> LongestFirst(std::size_t first, std::size_t second, std::size_t limit) {
  std::size_t shorter = std::min(first, second);
  std::size_t longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
  if (shorter + longer > limit) {
    shorter = limit / 2;
    longer = shorter + limit % 2;
  }
  return first > second ? std::pair(longer, shorter) : std::pair(shorter, longer);
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
}

std::unique_ptr<Tokenizer::Impl::Scratch> Tokenizer::Impl::TakeScratch() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto scratch = std::move(idle_.back());
      idle_.pop_back();
      return scratch;
    }
  }
  return std::make_unique<Scratch>();
}

void Tokenizer::Impl::GiveBack(std::unique_ptr<Scratch> scratch) const {
  scratch->text.arena.Clear();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(scratch));
}

EncodingPart Tokenizer::Impl::EncodeText(std::string_view text, std::int32_t type_id, std::span<const Span> plain,
                                         bool offsets, Scratch* scratch) const {
  std::vector<Piece>& pieces = scratch->pieces;
  pieces.clear();
  added->Split(text, plain, normalizer.get(), &pieces, &scratch->text);
  if (pre_tokenizer != nullptr) pre_tokenizer->Split(&pieces, &scratch->text);

  EncodingPart part;
  part.has_offsets = offsets;
  Encoding& encoding = part.encoding;
  const bool texts = offsets && post_processor != nullptr && post_processor->reads_tokens();
  CharCounter chars(offsets ? text : std::string_view());
  const auto add = [&](TokenId id, const AlignedText& piece, std::size_t begin, std::size_t end) {
    encoding.ids.push_back(id);
    if (!offsets) return;
    encoding.byte_offsets.push_back(piece.Original(begin, end));
    encoding.char_offsets.push_back(chars.Chars(encoding.byte_offsets.back()));
  };
  for (const Piece& piece : pieces) {
    if (piece.added_token != Piece::kText) {
      add(piece.added_token, piece.text, 0, piece.text.text().size());
      if (texts) part.tokens.push_back(piece.text.text());
      continue;
    }
    scratch->tokens.clear();
    scratch->words.Tokenize(*model, piece.text.text(), &scratch->tokens);
    std::size_t begin = 0;
    for (const PieceToken& token : scratch->tokens) {
      add(token.id, piece.text, begin, begin + token.size);
      if (texts) part.tokens.push_back(*model->vocabulary().Text(token.id));
      begin += token.step;
    }
  }
  encoding.type_ids.assign(encoding.size(), type_id);
  encoding.attention_mask.assign(encoding.size(), 1);
  encoding.special_tokens_mask.assign(encoding.size(), 0);
  return part;
}

void Tokenizer::Impl::Truncate(const EncodeOptions& options, std::vector<EncodingPart>* parts) const {
  Truncation cut = truncation.value_or(Truncation{});
  if (options.max_tokens) {
    cut.max_tokens = *options.max_tokens;
    if (cut.max_tokens == 0) return;
  } else if (!truncation) {
    return;
  }
  const bool pair = parts->size() == 2;
  const std::size_t special =
      options.add_special_tokens && post_processor != nullptr ? post_processor->added_tokens(pair) : 0;
  if (special > cut.max_tokens) {
    throw Error(ErrorCode::kInvalidArgument,
                "max_tokens is " + std::to_string(cut.max_tokens) + ", but the special tokens alone are " +
                    std::to_string(special),
                "allow more tokens, or encode without special tokens");
  }
  const std::size_t limit = cut.max_tokens - special;
  const std::size_t first = (*parts)[0].encoding.size();
  const std::size_t second = pair ? (*parts)[1].encoding.size() : 0;
  if (first + second <= limit) return;
  if (cut.strategy == Truncation::Strategy::kLongestFirst || limit == 0) {
    const auto [keep_first, keep_second] = pair ? LongestFirst(first, second, limit) : std::pair(limit, std::size_t{0});
    Cut(keep_first, cut.left, &(*parts)[0]);
    if (pair) Cut(keep_second, cut.left, &(*parts)[1]);
    return;
  }
  const bool second_cut = cut.strategy == Truncation::Strategy::kOnlySecond;
  const std::size_t cut_size = second_cut ? second : first;
  const std::size_t excess = first + second - limit;
  if (cut_size <= excess) {
    throw Error(ErrorCode::kInvalidArgument,
                "to keep to " + std::to_string(cut.max_tokens) + " tokens, " + std::to_string(excess) +
                    " would have to go from the " + (second_cut ? "second" : "first") + " text alone, which has " +
                    std::to_string(cut_size),
                "allow more tokens, or shorten the other text");
  }
  Cut(cut_size - excess, cut.left, &(*parts)[second_cut ? 1 : 0]);
}

Encoding Tokenizer::Impl::Encode(std::string_view text, const std::string_view* pair,
                                 const EncodeOptions& options) const {
  if (pair != nullptr && !options.plain_text.empty()) RefusePlainText("a pair of texts");
  CheckRanges(options.plain_text, text.size());
  std::vector<Span> plain = options.plain_text;
  std::erase_if(plain, [](const Span& range) { return range.begin == range.end; });
  std::unique_ptr<Scratch> scratch = TakeScratch();
  std::vector<EncodingPart> parts;
  std::vector<std::optional<std::string>> repaired;  // outlives the parts' token texts
  repaired.reserve(2);
  for (const std::string_view* each : {static_cast<const std::string_view*>(&text), pair}) {
    if (each == nullptr) continue;
    if (each->size() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a text of " + std::to_string(each->size()) + " bytes; the limit is 4294967295");
    }
    repaired.push_back(plain.empty() ? unicode::Repair(*each) : RepairRanges(*each, &plain));
    const std::string_view good = repaired.back() ? *repaired.back() : *each;
    parts.push_back(EncodeText(good, static_cast<std::int32_t>(parts.size()), plain, options.offsets, scratch.get()));
  }
  Truncate(options, &parts);
  if (post_processor != nullptr) post_processor->Process(options.add_special_tokens, &parts);
  for (std::size_t i = 1; i < parts.size(); ++i) parts[0].Append(parts[i]);
  GiveBack(std::move(scratch));
  return parts.empty() ? Encoding() : std::move(parts[0].encoding);
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
