#include "runtime/text/normalizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/normalization_form.h"
#include "runtime/text/precompiled.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Calls `each` for every code point.
template <typename F>
void ForEachChar(std::string_view text, F each) {
  for (std::size_t at = 0; at < text.size();) each(unicode::Next(text, &at));
}

// The code points for which `keep` is true.
template <typename Keep>
AlignedText Filter(const AlignedText& text, Keep keep, TextScratch* scratch) {
  scratch->changes.clear();
  std::size_t removed_in_front = 0;
  bool all = true;
  ForEachChar(text.text(), [&](char32_t c) {
    if (keep(c)) {
      scratch->changes.push_back({c, 0});
      return;
    }
    all = false;
    if (scratch->changes.empty()) {
      ++removed_in_front;
    } else {
      --scratch->changes.back().change;
    }
  });
  return all ? text : text.Transform(scratch->changes, removed_in_front, &scratch->arena);
}

AlignedText Lowercased(const AlignedText& text, TextScratch* scratch) {
  if (unicode::IsAscii(text.text())) {
    std::string* lower = scratch->arena.NewText();
    *lower = text.text();
    for (char& c : *lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
    return text.WithText(*lower);
  }
  scratch->changes.clear();
  std::u32string lower;
  ForEachChar(text.text(), [&](char32_t c) {
    lower.clear();
    unicode::AppendLowercase(c, &lower);
    for (std::size_t i = 0; i < lower.size(); ++i) scratch->changes.push_back({lower[i], i > 0 ? 1 : 0});
  });
  return text.Transform(scratch->changes, 0, &scratch->arena);
}

// What SentencePiece's nmt_nfkc does before its NFKC: control characters go, and other invisible ones become spaces.
AlignedText Nmt(const AlignedText& text, TextScratch* scratch) {
  const AlignedText kept = Filter(
      text,
      [](char32_t c) {
        return !((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
                 c == 0x9F);
      },
      scratch);
  scratch->changes.clear();
  ForEachChar(kept.text(), [&](char32_t c) {
    const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF ||
                       c == 0xFFFD;
    scratch->changes.push_back({space ? U' ' : c, 0});
  });
  return kept.Transform(scratch->changes, 0, &scratch->arena);
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const JsonView& json)
      : clean_text_(json["clean_text"].Bool()),
        chinese_(json["handle_chinese_chars"].Bool()),
        lowercase_(json["lowercase"].Bool()) {
    const auto strip_accents = json.Find("strip_accents");
    strip_accents_ = strip_accents && !strip_accents->IsNull() ? strip_accents->Bool() : lowercase_;
  }

  AlignedText Normalize(const AlignedText& original, TextScratch* scratch) const override {
    AlignedText text = original;
    if (clean_text_) text = Clean(text, scratch);
    const bool ascii = unicode::IsAscii(text.text());
    if (chinese_ && !ascii) text = SeparateChinese(text, scratch);
    if (strip_accents_ && !ascii) {
      text = ToNormalizationForm(text, NormalizationForm::kNfd, &scratch->changes, &scratch->arena);
      text = Filter(
          text, [](char32_t c) { return !unicode::IsNonspacingMark(c); }, scratch);
    }
    return lowercase_ ? Lowercased(text, scratch) : text;
  }

 private:
  static AlignedText Clean(const AlignedText& text, TextScratch* scratch) {
    bool changes = false;
    ForEachChar(text.text(), [&](char32_t c) {
      changes = changes || (c != U' ' && (unicode::IsControl(c) || unicode::IsWhitespace(c)));
    });
    if (!changes) return text;
    const AlignedText kept = Filter(
        text, [](char32_t c) { return !unicode::IsControl(c); }, scratch);
    scratch->changes.clear();
    ForEachChar(kept.text(), [&](char32_t c) { scratch->changes.push_back({unicode::IsWhitespace(c) ? U' ' : c, 0}); });
    return kept.Transform(scratch->changes, 0, &scratch->arena);
  }

  static AlignedText SeparateChinese(const AlignedText& text, TextScratch* scratch) {
    scratch->changes.clear();
    bool any = false;
    ForEachChar(text.text(), [&](char32_t c) {
      if (unicode::IsCjk(c)) {
        any = true;
        scratch->changes.insert(scratch->changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
      } else {
        scratch->changes.push_back({c, 0});
      }
    });
    return any ? text.Transform(scratch->changes, 0, &scratch->arena) : text;
  }

  bool clean_text_;
  bool chinese_;
  bool lowercase_;
  bool strip_accents_;
};

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(NormalizationForm form) : form_(form) {}
  AlignedText Normalize(const AlignedText& text, TextScratch* scratch) const override {
    return ToNormalizationForm(text, form_, &scratch->changes, &scratch->arena);
  }

 private:
  NormalizationForm form_;
};

class FunctionNormalizer : public Normalizer {
 public:
  using Function = std::function<AlignedText(const AlignedText&, TextScratch*)>;
  explicit FunctionNormalizer(Function function) : function_(std::move(function)) {}
  AlignedText Normalize(const AlignedText& text, TextScratch* scratch) const override {
    return function_(text, scratch);
  }

 private:
  Function function_;
};

// Spaces at one or both ends.
class StripNormalizer : public Normalizer {
 public:
  explicit StripNormalizer(const JsonView& json)
      : left_(json["strip_left"].Bool()), right_(json["strip_right"].Bool()) {}

  AlignedText Normalize(const AlignedText& text, TextScratch* scratch) const override {
    std::size_t begin = 0;
    std::size_t end = text.text().size();
    while (left_ && begin < end) {
      std::size_t next = begin;
      if (!unicode::IsWhitespace(unicode::Next(text.text(), &next))) break;
      begin = next;
    }
    while (right_ && end > begin) {
      std::size_t previous = end;
      if (!unicode::IsWhitespace(unicode::Previous(text.text(), &previous))) break;
      end = previous;
    }
    if (begin == 0 && end == text.text().size()) return text;
    std::size_t at = 0;
    return Filter(
        text,
        [&](char32_t c) {
          const bool keep = at >= begin && at < end;
          at += unicode::Utf8Size(c);
          return keep;
        },
        scratch);
  }

 private:
  bool left_;
  bool right_;
};

// What a normalizer may make of a text: 64 times its bytes and 1 MiB. Unicode's own forms and byte-level characters
// need far less; replacements of replacements would otherwise fill the memory from a few bytes.
void CheckGrowth(std::size_t size, std::size_t original) {
  if (size > 64 * original + (std::size_t{1} << 20)) {
    throw Error(ErrorCode::kResourceExhausted,
                "the normalizer makes " + std::to_string(size) + " bytes of " + std::to_string(original) +
                    "; at most 64 times as many and 1048576 are allowed",
                "the tokenizer.json is not one of a real model");
  }
}

class ReplaceNormalizer : public Normalizer {
 public:
  explicit ReplaceNormalizer(const JsonView& json)
      : regex_(RegexFromJson(json["pattern"])), content_(json["content"].String()) {}

  AlignedText Normalize(const AlignedText& text, TextScratch* scratch) const override {
    regex_.Split(text.text(), &scratch->regex, &scratch->matches);
    const auto found = static_cast<std::size_t>(std::ranges::count_if(scratch->matches, &Match::matched));
    if (found == 0) return text;
    CheckGrowth(text.text().size() + found * content_.size(), text.text().size());
    return text.Replace(scratch->matches, content_, &scratch->arena);
  }

 private:
  Regex regex_;
  std::string content_;
};

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(const JsonView& json) {
    for (const JsonView& item : json["normalizers"].Items()) parts_.push_back(FromJson(item));
  }

  AlignedText Normalize(const AlignedText& original, TextScratch* scratch) const override {
    AlignedText text = original;
    for (const auto& part : parts_) {
      text = part->Normalize(text, scratch);
      CheckGrowth(text.text().size(), original.text().size());
    }
    return text;
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
};

}  // namespace

Regex RegexFromJson(const JsonView& pattern) {
  if (const auto text = pattern.Find("String")) return Regex::Literal(text->String());
  return Regex(pattern["Regex"].String());
}

AlignedText ByteLevelText(const AlignedText& text, TextScratch* scratch) {
  scratch->changes.clear();
  for (const char b : text.text()) {
    const char32_t c = byte_level::kCharOfByte[static_cast<unsigned char>(b)];
    scratch->changes.push_back({c, unicode::IsContinuationByte(b) ? 1 : 0});
  }
  return text.Transform(scratch->changes, 0, &scratch->arena);
}

std::unique_ptr<const Normalizer> Normalizer::FromJson(const JsonView& json) {
  const std::string& type = json["type"].String();
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(json);
  if (type == "NFC") return std::make_unique<FormNormalizer>(NormalizationForm::kNfc);
  if (type == "NFD") return std::make_unique<FormNormalizer>(NormalizationForm::kNfd);
  if (type == "NFKC") return std::make_unique<FormNormalizer>(NormalizationForm::kNfkc);
  if (type == "NFKD") return std::make_unique<FormNormalizer>(NormalizationForm::kNfkd);
  if (type == "Lowercase") return std::make_unique<FunctionNormalizer>(Lowercased);
  if (type == "ByteLevel") return std::make_unique<FunctionNormalizer>(ByteLevelText);
  if (type == "Nmt") return std::make_unique<FunctionNormalizer>(Nmt);
  if (type == "Precompiled") return std::make_unique<PrecompiledNormalizer>(json);
  if (type == "StripAccents") {
    return std::make_unique<FunctionNormalizer>([](const AlignedText& text, TextScratch* scratch) {
      return Filter(
          text, [](char32_t c) { return !unicode::IsCombiningMark(c); }, scratch);
    });
  }
  if (type == "Prepend") {
    return std::make_unique<FunctionNormalizer>(
        [prefix = json["prepend"].String()](const AlignedText& text, TextScratch* scratch) {
          return text.empty() ? text : text.Prepend(prefix, &scratch->arena);
        });
  }
  if (type == "Strip") return std::make_unique<StripNormalizer>(json);
  if (type == "Replace") return std::make_unique<ReplaceNormalizer>(json);
  if (type == "Sequence") return std::make_unique<SequenceNormalizer>(json);
  throw Error(ErrorCode::kUnsupported, json.place() + ": the normalizer '" + type + "' is not supported");
}

}  // namespace mconnect
