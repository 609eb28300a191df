#include "runtime/text/pre_tokenizer.h"

#include <string>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"
#include "runtime/text/unicode_segmentation.h"

namespace mconnect {
namespace {

// What becomes of the parts that match (the delimiters).
enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

Behavior BehaviorFromJson(const JsonView& json) {
  const std::string& name = json.String();
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  json.Fail("unknown behavior '" + name + "'");
}

// Joins neighbours as `behavior` asks. Afterwards `matched` marks the parts to remove.
void Join(Behavior behavior, std::vector<Match>* parts) {
  if (behavior == Behavior::kRemoved) return;
  if (behavior == Behavior::kMergedWithNext) {
    // The mirror image of kMergedWithPrevious.
    std::size_t size = parts->size();
    bool previous = false;
    for (std::size_t i = parts->size(); i-- > 0;) {
      const Match part = (*parts)[i];
      if (part.matched && !previous && size < parts->size()) {
        (*parts)[size].begin = part.begin;
      } else {
        (*parts)[--size] = {part.begin, part.end, false};
      }
      previous = part.matched;
    }
    parts->erase(parts->begin(), parts->begin() + static_cast<std::ptrdiff_t>(size));
    return;
  }
  std::size_t size = 0;
  bool previous = false;
  for (const Match part : *parts) {
    const bool joins = behavior == Behavior::kContiguous           ? part.matched == previous
                       : behavior == Behavior::kMergedWithPrevious ? part.matched && !previous
                                                                   : false;
    if (joins && size > 0) {
      (*parts)[size - 1].end = part.end;
    } else {
      (*parts)[size++] = {part.begin, part.end, false};
    }
    previous = part.matched;
  }
  parts->resize(size);
}

// Replaces each piece of text by what `split(piece, emit)` emits.
template <typename F>
void SplitEach(std::vector<Piece>* pieces, TextScratch* scratch, F split) {
  std::vector<Piece>& result = scratch->pieces;
  result.clear();
  const auto emit = [&](const AlignedText& text) {
    if (!text.empty()) result.push_back({text, Piece::kText});
  };
  for (const Piece& piece : *pieces) {
    if (piece.added_token != Piece::kText) {
      result.push_back(piece);
    } else {
      split(piece.text, emit);
    }
  }
  pieces->swap(result);
}

void EmitParts(const AlignedText& text, const std::vector<Match>& parts, const auto& emit) {
  for (const Match& part : parts) {
    if (!part.matched) emit(text.Slice(part.begin, part.end));
  }
}

// Cuts at the code points for which `is_delimiter` is true.
template <bool (*is_delimiter)(char32_t)>
class CharSplit : public PreTokenizer {
 public:
  explicit CharSplit(Behavior behavior) : behavior_(behavior) {}

  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [&](const AlignedText& text, const auto& emit) {
      std::vector<Match>& parts = scratch->matches;
      parts.clear();
      std::size_t last = 0;
      for (std::size_t at = 0; at < text.text().size();) {
        const std::size_t begin = at;
        if (!is_delimiter(unicode::Next(text.text(), &at))) continue;
        if (last < begin) parts.push_back({last, begin, false});
        parts.push_back({begin, at, true});
        last = at;
      }
      if (last < text.text().size()) parts.push_back({last, text.text().size(), false});
      Join(behavior_, &parts);
      EmitParts(text, parts, emit);
    });
  }

 private:
  Behavior behavior_;
};

class RegexSplit : public PreTokenizer {
 public:
  RegexSplit(Regex regex, Behavior behavior, bool invert)
      : regex_(std::move(regex)), behavior_(behavior), invert_(invert) {}

  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [&](const AlignedText& text, const auto& emit) {
      std::vector<Match>& parts = scratch->matches;
      regex_.Split(text.text(), &scratch->regex, &parts);
      if (invert_) {
        for (Match& part : parts) part.matched = !part.matched;
      }
      Join(behavior_, &parts);
      EmitParts(text, parts, emit);
    });
  }

 private:
  Regex regex_;
  Behavior behavior_;
  bool invert_;
};

// Runs of word characters, and runs of what is neither word nor space: \w+|[^\w\s]+
class WhitespaceSplit : public PreTokenizer {
 public:
  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [](const AlignedText& text, const auto& emit) {
      enum class Kind { kSpace, kWord, kOther };
      Kind kind = Kind::kSpace;
      std::size_t begin = 0;
      for (std::size_t at = 0; at < text.text().size();) {
        const std::size_t here = at;
        const char32_t c = unicode::Next(text.text(), &at);
        const Kind next = unicode::IsWord(c) ? Kind::kWord : unicode::IsWhitespace(c) ? Kind::kSpace : Kind::kOther;
        if (next == kind) continue;
        if (kind != Kind::kSpace) emit(text.Slice(begin, here));
        kind = next;
        begin = here;
      }
      if (kind != Kind::kSpace) emit(text.Slice(begin, text.text().size()));
    });
  }
};

// At changes of script, with SentencePiece's idea of scripts.
class ScriptSplit : public PreTokenizer {
 public:
  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [](const AlignedText& text, const auto& emit) {
      int script = 0;  // of the last code point that has one
      std::size_t begin = 0;
      for (std::size_t at = 0; at < text.text().size();) {
        const std::size_t here = at;
        const int next = unicode::Script(unicode::Next(text.text(), &at));
        if (next == 0 || next == script) continue;
        if (script != 0) emit(text.Slice(begin, here));
        script = next;  // what stands before the first one is lost, as in the reference
        begin = here;
      }
      if (script != 0) emit(text.Slice(begin, text.text().size()));
    });
  }
};

class FixedLengthSplit : public PreTokenizer {
 public:
  explicit FixedLengthSplit(const JsonView& json) {
    if (const auto length = json.Find("length")) length_ = static_cast<std::size_t>(length->Int(1));
  }

  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [this](const AlignedText& text, const auto& emit) {
      for (std::size_t at = 0; at < text.text().size();) {
        const std::size_t begin = at;
        for (std::size_t i = 0; i < length_ && at < text.text().size(); ++i) unicode::Next(text.text(), &at);
        emit(text.Slice(begin, at));
      }
    });
  }

 private:
  std::size_t length_ = 5;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(const JsonView& json, bool bytes_stay)
      : add_prefix_space_(json["add_prefix_space"].Bool()), bytes_stay_(bytes_stay) {
    const auto use_regex = json.Find("use_regex");
    if (!use_regex || use_regex->Bool()) {
      regex_.emplace(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
    }
  }

  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [&](AlignedText text, const auto& emit) {
      if (add_prefix_space_ && !text.text().starts_with(' ')) text = text.Prepend(" ", &scratch->arena);
      if (!regex_) return emit(text);
      regex_->Split(text.text(), &scratch->regex, &scratch->matches);
      for (const Match& part : scratch->matches) emit(text.Slice(part.begin, part.end));
    });
    if (bytes_stay_) return;
    for (Piece& piece : *pieces) {
      if (piece.added_token == Piece::kText) piece.text = ByteLevelText(piece.text, scratch);
    }
  }

 private:
  bool add_prefix_space_;
  bool bytes_stay_;
  std::optional<Regex> regex_;
};

// Spaces become a visible character, and pieces begin at it (SentencePiece).
class Metaspace : public PreTokenizer {
 public:
  explicit Metaspace(const JsonView& json) : replacement_(json["replacement"].String()), space_(Regex::Literal(" ")) {
    if (unicode::CountChars(replacement_) != 1) json["replacement"].Fail("must be one character");
    const auto scheme = json.Find("prepend_scheme");
    const std::string prepend = scheme ? scheme->String() : "always";
    if (prepend != "always" && prepend != "first" && prepend != "never")
      scheme->Fail("unknown scheme '" + prepend + "'");
    always_ = prepend == "always";
    first_ = prepend == "first";
    if (const auto add = json.Find("add_prefix_space"); add && !add->IsNull() && !add->Bool()) {
      if (prepend != "never") json.Fail("add_prefix_space does not go with the prepend_scheme '" + prepend + "'");
    }
    if (const auto split = json.Find("split"); split && !split->IsNull()) split_ = split->Bool();
  }

  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    SplitEach(pieces, scratch, [&](AlignedText text, const auto& emit) {
      std::vector<Match>& parts = scratch->matches;
      if (text.text().find(' ') != std::string_view::npos) {
        space_.Split(text.text(), &scratch->regex, &parts);
        text = text.Replace(parts, replacement_, &scratch->arena);
      }
      if ((always_ || (first_ && text.begin() == 0)) && !text.text().starts_with(replacement_)) {
        text = text.Prepend(replacement_, &scratch->arena);
      }
      if (!split_) return emit(text);
      std::size_t begin = 0;
      for (std::size_t at = 1; (at = text.text().find(replacement_, at)) != std::string_view::npos; ++at) {
        emit(text.Slice(begin, at));
        begin = at;
      }
      emit(text.Slice(begin, text.text().size()));
    });
  }

 private:
  std::string replacement_;
  Regex space_;
  bool always_ = false;
  bool first_ = false;
  bool split_ = true;
};

class Sequence : public PreTokenizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const PreTokenizer>> parts) : parts_(std::move(parts)) {}

  void Split(std::vector<Piece>* pieces, TextScratch* scratch) const override {
    for (const auto& part : parts_) part->Split(pieces, scratch);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

}  // namespace

std::unique_ptr<const PreTokenizer> PreTokenizer::FromJson(const JsonView& json, bool* bytes_stay) {
  const std::string& type = json["type"].String();
  if (type == "ByteLevel") return std::make_unique<ByteLevel>(json, *bytes_stay);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<const PreTokenizer>> parts;
    const std::vector<JsonView> items = json["pretokenizers"].Items();
    bool stay = false;
    for (std::size_t i = 0; i < items.size(); ++i) {
      stay = *bytes_stay && i + 1 == items.size();
      parts.push_back(FromJson(items[i], &stay));
    }
    *bytes_stay = stay;
    return std::make_unique<Sequence>(std::move(parts));
  }
  *bytes_stay = false;
  if (type == "BertPreTokenizer") {
    std::vector<std::unique_ptr<const PreTokenizer>> parts;
    parts.push_back(std::make_unique<CharSplit<unicode::IsWhitespace>>(Behavior::kRemoved));
    parts.push_back(std::make_unique<CharSplit<unicode::IsPunctuation>>(Behavior::kIsolated));
    return std::make_unique<Sequence>(std::move(parts));
  }
  if (type == "WhitespaceSplit") return std::make_unique<CharSplit<unicode::IsWhitespace>>(Behavior::kRemoved);
  if (type == "Whitespace") return std::make_unique<WhitespaceSplit>();
  if (type == "Metaspace") return std::make_unique<Metaspace>(json);
  if (type == "Punctuation") {
    const auto behavior = json.Find("behavior");
    return std::make_unique<CharSplit<unicode::IsPunctuation>>(behavior ? BehaviorFromJson(*behavior)
                                                                        : Behavior::kIsolated);
  }
  if (type == "Digits") {
    return std::make_unique<CharSplit<unicode::IsNumeric>>(json["individual_digits"].Bool() ? Behavior::kIsolated
                                                                                            : Behavior::kContiguous);
  }
  if (type == "UnicodeScripts") return std::make_unique<ScriptSplit>();
  if (type == "FixedLength") return std::make_unique<FixedLengthSplit>(json);
  if (type == "CharDelimiterSplit") {
    const std::string& delimiter = json["delimiter"].String();
    if (unicode::CountChars(delimiter) != 1) json["delimiter"].Fail("must be one character");
    return std::make_unique<RegexSplit>(Regex::Literal(delimiter), Behavior::kRemoved, /*invert=*/false);
  }
  if (type == "Split") {
    return std::make_unique<RegexSplit>(RegexFromJson(json["pattern"]), BehaviorFromJson(json["behavior"]),
                                        json["invert"].Bool());
  }
  throw Error(ErrorCode::kUnsupported, json.place() + ": the pre-tokenizer '" + type + "' is not supported");
}

}  // namespace mconnect
