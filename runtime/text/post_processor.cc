#include "runtime/text/post_processor.h"

#include <algorithm>
#include <iterator>
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

// Takes the spaces at the ends of tokens out of their offsets. As in the reference, one per space whatever its bytes.
void TrimOffsets(bool add_prefix_space, EncodingDraft* draft) {
  const auto is_space = [](char32_t c) { return c == byte_level::kSpace || unicode::IsWhitespace(c); };
  if (!draft->offsets) return;
  for (auto segment = draft->segments.begin(); segment != draft->segments.end(); ++segment) {
    const bool first = segment == draft->segments.begin() || std::prev(segment)->part != segment->part;
    const auto is_same = [&](const Segment& other) { return other.tokens.data() == segment->tokens.data(); };
    if (std::any_of(draft->segments.begin(), segment, is_same)) continue;  // a text that the template has twice
    for (std::size_t i = 0; i < segment->tokens.size(); ++i) {
      const std::string_view token = segment->texts[i];
      std::uint32_t leading = 0;
      for (std::size_t at = 0; at < token.size() && is_space(unicode::Next(token, &at));) ++leading;
      std::uint32_t trailing = 0;
      for (std::size_t at = token.size(); at > 0 && is_space(unicode::Previous(token, &at));) ++trailing;
      for (Span* span : {&segment->tokens[i].bytes, &segment->tokens[i].chars}) {
        // The first token's only space is the one that add_prefix_space put there.
        const bool prefix = ((first && i == 0) || span->begin == 0) && add_prefix_space && leading == 1;
        if (!prefix) span->begin = std::min(span->begin + leading, span->end);
        if (span->end >= trailing) span->end = std::max(span->end - trailing, span->begin);
      }
    }
  }
}

class ByteLevel : public PostProcessor {
 public:
  explicit ByteLevel(const JsonView& json)
      : add_prefix_space_(json["add_prefix_space"].Bool()), trim_offsets_(json["trim_offsets"].Bool()) {}

  std::size_t added_tokens(bool) const noexcept override { return 0; }
  bool reads_tokens() const noexcept override { return trim_offsets_; }
  void Process(bool, EncodingDraft* draft) const override {
    if (trim_offsets_) TrimOffsets(add_prefix_space_, draft);
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

  void Process(bool add_special_tokens, EncodingDraft* draft) const override {
    if (trim_offsets_) TrimOffsets(add_prefix_space_, draft);
    if (roberta_) {
      for (Segment& segment : draft->segments) segment.type_id = 0;
    }
    if (!add_special_tokens) return;
    std::vector<Segment> result;
    result.reserve(draft->segments.size() + 2 * draft->parts);
    auto segment = draft->segments.begin();
    for (std::size_t i = 0; i < draft->parts; ++i) {
      const auto add = [&](std::int32_t type_id, const std::vector<TokenId>& special) {
        result.push_back({.part = i, .type_id = type_id, .tokens = {}, .texts = {}, .special = special});
      };
      if (i == 0 || roberta_) add(0, i == 0 ? cls_ : sep_);
      for (; segment != draft->segments.end() && segment->part == i; ++segment) result.push_back(*segment);
      add(i > 0 && !roberta_ ? 1 : 0, sep_);
    }
    draft->segments.swap(result);
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

  void Process(bool add_special_tokens, EncodingDraft* draft) const override {
    const std::vector<TemplatePiece>& pieces = draft->parts == 1 ? single_ : pair_;
    std::vector<Segment> result;
    result.reserve(pieces.size());
    std::size_t part = 0;
    for (const TemplatePiece& piece : pieces) {
      if (piece.text >= 0) {
        for (Segment segment : draft->segments) {
          if (segment.part != static_cast<std::size_t>(piece.text)) continue;
          segment.part = part;
          segment.type_id = piece.type_id;
          result.push_back(segment);
        }
        ++part;
      } else if (add_special_tokens) {
        result.push_back({.part = part++, .type_id = piece.type_id, .tokens = {}, .texts = {}, .special = piece.ids});
      }
    }
    draft->segments.swap(result);
    draft->parts = part;
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
  void Process(bool add_special_tokens, EncodingDraft* draft) const override {
    for (const auto& processor : processors_) processor->Process(add_special_tokens, draft);
  }

 private:
  std::vector<std::unique_ptr<const PostProcessor>> processors_;
};

}  // namespace

Encoding Finish(const EncodingDraft& draft) {
  std::size_t size = 0;
  for (const Segment& segment : draft.segments) size += segment.tokens.size() + segment.special.size();
  Encoding encoding;
  encoding.ids.reserve(size);
  encoding.type_ids.reserve(size);
  encoding.special_tokens_mask.reserve(size);
  encoding.attention_mask.assign(size, 1);
  if (draft.offsets) {
    encoding.byte_offsets.reserve(size);
    encoding.char_offsets.reserve(size);
  }
  for (const Segment& segment : draft.segments) {
    for (const EncodedToken& token : segment.tokens) encoding.ids.push_back(token.id);
    encoding.ids.insert(encoding.ids.end(), segment.special.begin(), segment.special.end());
    encoding.special_tokens_mask.insert(encoding.special_tokens_mask.end(), segment.tokens.size(), 0);
    encoding.special_tokens_mask.insert(encoding.special_tokens_mask.end(), segment.special.size(), 1);
    encoding.type_ids.resize(encoding.ids.size(), segment.type_id);
    if (!draft.offsets) continue;
    for (const EncodedToken& token : segment.tokens) encoding.byte_offsets.push_back(token.bytes);
    for (const EncodedToken& token : segment.tokens) encoding.char_offsets.push_back(token.chars);
    encoding.byte_offsets.resize(encoding.ids.size());
    encoding.char_offsets.resize(encoding.ids.size());
  }
  return encoding;
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
