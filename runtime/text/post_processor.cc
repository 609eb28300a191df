#include "runtime/text/post_processor.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

TokenId IdFromJson(const JsonView& json) {
  return static_cast<TokenId>(json.Int(0, std::numeric_limits<TokenId>::max()));
}

void SetType(std::int32_t type_id, EncodingPart* part) { std::ranges::fill(part->encoding.type_ids, type_id); }

EncodingPart SpecialTokens(const std::vector<TokenId>& ids, std::int32_t type_id, bool offsets) {
  EncodingPart part;
  part.has_offsets = offsets;
  const std::size_t size = ids.size();
  part.encoding.ids = ids;
  part.encoding.type_ids.assign(size, type_id);
  part.encoding.attention_mask.assign(size, 1);
  part.encoding.special_tokens_mask.assign(size, 1);
  if (offsets) {
    part.encoding.byte_offsets.resize(size);
    part.encoding.char_offsets.resize(size);
  }
  part.tokens.resize(size);
  return part;
}

// Takes the spaces at the ends of tokens out of their offsets. As in the reference, one per space whatever its bytes.
void TrimOffsets(bool add_prefix_space, EncodingPart* part) {
  const auto is_space = [](char32_t c) { return c == byte_level::kSpace || unicode::IsWhitespace(c); };
  Encoding& encoding = part->encoding;
  if (!part->has_offsets) return;
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::string_view token = part->tokens[i];
    std::uint32_t leading = 0;
    for (std::size_t at = 0; at < token.size() && is_space(unicode::Next(token, &at));) ++leading;
    std::uint32_t trailing = 0;
    for (std::size_t at = token.size(); at > 0 && is_space(unicode::Previous(token, &at));) ++trailing;
    for (Span* span : {&encoding.byte_offsets[i], &encoding.char_offsets[i]}) {
      // The first token's only space is the one that add_prefix_space put there.
      const bool prefix = (i == 0 || span->begin == 0) && add_prefix_space && leading == 1;
      if (!prefix) span->begin = std::min(span->begin + leading, span->end);
      if (span->end >= trailing) span->end = std::max(span->end - trailing, span->begin);
    }
  }
}

class ByteLevel : public PostProcessor {
 public:
  explicit ByteLevel(const JsonView& json)
      : add_prefix_space_(json["add_prefix_space"].Bool()), trim_offsets_(json["trim_offsets"].Bool()) {}

  std::size_t added_tokens(bool) const noexcept override { return 0; }
  bool reads_tokens() const noexcept override { return trim_offsets_; }
  void Process(bool, std::vector<EncodingPart>* parts) const override {
    if (!trim_offsets_) return;
    for (EncodingPart& part : *parts) TrimOffsets(add_prefix_space_, &part);
  }

 private:
  bool add_prefix_space_;
  bool trim_offsets_;
};

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; for RoBERTa <s> A </s> and <s> A </s> </s> B </s>, all of type 0.
class BertProcessing : public PostProcessor {
 public:
  BertProcessing(const JsonView& json, bool roberta) : roberta_(roberta) {
    sep_ = {IdFromJson(Pair(json["sep"])[1])};
    cls_ = {IdFromJson(Pair(json["cls"])[1])};
    if (!roberta) return;
    add_prefix_space_ = json["add_prefix_space"].Bool();
    trim_offsets_ = json["trim_offsets"].Bool();
  }

  std::size_t added_tokens(bool pair) const noexcept override { return !pair ? 2 : roberta_ ? 4 : 3; }
  bool reads_tokens() const noexcept override { return trim_offsets_; }

  void Process(bool add_special_tokens, std::vector<EncodingPart>* parts) const override {
    if (trim_offsets_) {
      for (EncodingPart& part : *parts) TrimOffsets(add_prefix_space_, &part);
    }
    if (roberta_) {
      for (EncodingPart& part : *parts) SetType(0, &part);
    }
    if (!add_special_tokens) return;
    const bool offsets = parts->front().has_offsets;
    for (std::size_t i = 0; i < parts->size(); ++i) {
      EncodingPart& part = (*parts)[i];
      const std::int32_t type = i > 0 && !roberta_ ? 1 : 0;
      EncodingPart around;
      around.has_offsets = offsets;
      if (i == 0 || roberta_) around.Append(SpecialTokens(i == 0 ? cls_ : sep_, 0, offsets));
      around.Append(part);
      around.Append(SpecialTokens(sep_, type, offsets));
      part = std::move(around);
    }
  }

 private:
  static std::vector<JsonView> Pair(const JsonView& json) {
    std::vector<JsonView> items = json.Items(2);
    if (items.size() != 2) json.Fail("must be a token and its id");
    return items;
  }

  bool roberta_;
  bool add_prefix_space_ = false;
  bool trim_offsets_ = false;
  std::vector<TokenId> sep_;
  std::vector<TokenId> cls_;
};

class TemplateProcessing : public PostProcessor {
 public:
  explicit TemplateProcessing(const JsonView& json) {
    std::map<std::string, std::vector<TokenId>> special;
    for (const auto& [name, token] : json["special_tokens"].Entries()) {
      for (const JsonView& id : token["ids"].Items()) special[name].push_back(IdFromJson(id));
    }
    single_ = Pieces(json["single"], special, 1);
    pair_ = Pieces(json["pair"], special, 2);
  }

  std::size_t added_tokens(bool pair) const noexcept override {
    std::size_t count = 0;
    for (const TemplatePiece& piece : pair ? pair_ : single_) count += piece.ids.size();
    return count;
  }

  void Process(bool add_special_tokens, std::vector<EncodingPart>* parts) const override {
    const bool offsets = parts->front().has_offsets;
    std::vector<EncodingPart> result;
    for (const TemplatePiece& piece : parts->size() == 1 ? single_ : pair_) {
      if (piece.text >= 0) {
        EncodingPart& part = (*parts)[static_cast<std::size_t>(piece.text)];
        SetType(piece.type_id, &part);
        result.push_back(part);
      } else if (add_special_tokens) {
        result.push_back(SpecialTokens(piece.ids, piece.type_id, offsets));
      }
    }
    parts->swap(result);
  }

 private:
  struct TemplatePiece {
    int text;  // 0 or 1: the first or second text; -1: special tokens
    std::int32_t type_id;
    std::vector<TokenId> ids;
  };

  static std::vector<TemplatePiece> Pieces(const JsonView& json,
                                           const std::map<std::string, std::vector<TokenId>>& special, int texts) {
    std::vector<TemplatePiece> pieces;
    for (const JsonView& item : json.Items()) {
      const auto sequence = item.Find("Sequence");
      const JsonView body = sequence ? *sequence : item["SpecialToken"];
      const std::string& id = body["id"].String();
      TemplatePiece piece{-1, IdFromJson(body["type_id"]), {}};
      if (sequence) {
        if (id != "A" && (id != "B" || texts < 2)) body["id"].Fail("no text '" + id + "' here");
        piece.text = id == "A" ? 0 : 1;
      } else {
        const auto found = special.find(id);
        if (found == special.end()) body["id"].Fail("'" + id + "' is not among the special_tokens");
        piece.ids = found->second;
      }
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

  std::vector<TemplatePiece> single_;
  std::vector<TemplatePiece> pair_;
};

class Sequence : public PostProcessor {
 public:
  explicit Sequence(const JsonView& json) {
    bool templated = false;
    for (const JsonView& item : json["processors"].Items()) {
      const bool is_template = item["type"].String() == "TemplateProcessing";
      if (templated && is_template) {
        throw Error(ErrorCode::kUnsupported, item.place() + ": a second TemplateProcessing is not supported");
      }
      templated = templated || is_template;
      processors_.push_back(FromJson(item));
    }
  }

  std::size_t added_tokens(bool pair) const noexcept override {
    std::size_t count = 0;
    for (const auto& processor : processors_) count += processor->added_tokens(pair);
    return count;
  }
  bool reads_tokens() const noexcept override {
    return std::ranges::any_of(processors_, [](const auto& processor) { return processor->reads_tokens(); });
  }
  void Process(bool add_special_tokens, std::vector<EncodingPart>* parts) const override {
    for (const auto& processor : processors_) processor->Process(add_special_tokens, parts);
  }

 private:
  std::vector<std::unique_ptr<const PostProcessor>> processors_;
};

template <typename T>
void AppendAll(const std::vector<T>& from, std::vector<T>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

void EncodingPart::Append(const EncodingPart& other) {
  AppendAll(other.encoding.ids, &encoding.ids);
  AppendAll(other.encoding.type_ids, &encoding.type_ids);
  AppendAll(other.encoding.attention_mask, &encoding.attention_mask);
  AppendAll(other.encoding.special_tokens_mask, &encoding.special_tokens_mask);
  AppendAll(other.encoding.byte_offsets, &encoding.byte_offsets);
  AppendAll(other.encoding.char_offsets, &encoding.char_offsets);
  AppendAll(other.tokens, &tokens);
}

std::unique_ptr<const PostProcessor> PostProcessor::FromJson(const JsonView& json) {
  const std::string& type = json["type"].String();
  if (type == "TemplateProcessing") return std::make_unique<TemplateProcessing>(json);
  if (type == "BertProcessing") return std::make_unique<BertProcessing>(json, /*roberta=*/false);
  if (type == "RobertaProcessing") return std::make_unique<BertProcessing>(json, /*roberta=*/true);
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(json);
  if (type == "Sequence") return std::make_unique<Sequence>(json);
  throw Error(ErrorCode::kUnsupported, json.place() + ": the post-processor '" + type + "' is not supported");
}

}  // namespace mconnect
