#include "runtime/text/safe_cuts.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/text/unicode.h"
#include "runtime/text/unicode_segmentation.h"

namespace mconnect {
namespace {

constexpr std::string_view kMetaspace = "\u2581";

// Patterns none of whose matches goes from a solid character to a space, or across a line feed to a letter.
// GPT-2; cl100k (Llama 3, OLMo 2) and how its maker writes it; Qwen 2 and 3; o200k (gpt-oss) and how its maker writes
// it; Tekken (Mistral); DeepSeek 3, three in a row.
#define MCONNECT_UPPER R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define MCONNECT_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define MCONNECT_SHORT R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define MCONNECT_OTHER R"(| ?[^\s\p{L}\p{N}]+)"
#define MCONNECT_SPACE R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
constexpr std::string_view kPatterns[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    MCONNECT_SHORT R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})" MCONNECT_OTHER R"([\r\n]*)" MCONNECT_SPACE,
    MCONNECT_SHORT R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" MCONNECT_OTHER R"([\r\n]*)" MCONNECT_SPACE,
    MCONNECT_UPPER "*" MCONNECT_LOWER "+" MCONNECT_SHORT "?|" MCONNECT_UPPER "+" MCONNECT_LOWER "*" MCONNECT_SHORT
                   R"(?|\p{N}{1,3})" MCONNECT_OTHER R"([\r\n/]*)" MCONNECT_SPACE,
    MCONNECT_UPPER "*" MCONNECT_LOWER "+|" MCONNECT_UPPER "+" MCONNECT_LOWER R"(*|\p{N})" MCONNECT_OTHER
                   R"([\r\n/]*)" MCONNECT_SPACE,
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^)"
    "\r\n"
    R"(\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[)"
    "\r\n"
    R"(]*|\s*[)"
    "\r\n"
    R"(]+|\s+(?!\S)|\s+)",
};
#undef MCONNECT_UPPER
#undef MCONNECT_LOWER
#undef MCONNECT_SHORT
#undef MCONNECT_OTHER
#undef MCONNECT_SPACE
// Patterns that a cut in front of a space or a letter does not change, but that make none there.
constexpr std::string_view kLocalPatterns[] = {R"(\p{N}{1,3})", R"(\p{N})", "[一-龥\u3040-ゟ゠-ヿ]+"};

std::string_view TypeOf(const JsonView& json) {
  const auto type = json.Find("type");
  return type ? std::string_view(type->String()) : std::string_view();
}

// The parts of a sequence, or the one part that there is; none for null.
std::vector<JsonView> PartsOf(const std::optional<JsonView>& json, std::string_view list) {
  if (!json || json->IsNull()) return {};
  if (TypeOf(*json) != "Sequence") return {*json};
  std::vector<JsonView> parts;
  for (const JsonView& item : (*json)[list].Items()) {
    for (const JsonView& part : PartsOf(item, list)) parts.push_back(part);
  }
  return parts;
}

bool IsReplaceOf(const JsonView& json, std::string_view kind, std::string_view pattern, std::string_view content) {
  if (TypeOf(json) != "Replace" || json["content"].String() != content) return false;
  const auto found = json["pattern"].Find(kind);
  return found && found->String() == pattern;
}

// A split that keeps matches and what lies between them apart.
std::optional<std::string_view> PatternOf(const JsonView& json) {
  if (TypeOf(json) != "Split") return std::nullopt;
  const auto pattern = json["pattern"].Find("Regex");
  const bool isolated = json["behavior"].String() == "Isolated" && !json["invert"].Bool();
  return pattern && isolated ? std::optional<std::string_view>(pattern->String()) : std::nullopt;
}

bool IsAny(std::string_view text, std::span<const std::string_view> of) {
  return std::ranges::find(of, text) != of.end();
}

bool IsAnyType(const JsonView& json, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, TypeOf(json)) != types.end();
}

// Byte-level: patterns of the list, of which the one that cuts before spaces is there.
bool ArePatterns(const std::vector<JsonView>& parts) {
  bool cuts = false;
  for (const JsonView& part : parts) {
    if (TypeOf(part) == "ByteLevel" && &part != &parts.back()) return false;  // patterns behind it see no spaces
    if (const auto pattern = PatternOf(part)) {
      if (IsAny(*pattern, kPatterns)) {
        cuts = true;
      } else if (!IsAny(*pattern, kLocalPatterns)) {
        return false;
      }
    } else if (TypeOf(part) == "ByteLevel") {
      const auto use_regex = part.Find("use_regex");
      cuts = cuts || !use_regex || use_regex->Bool();
    } else if (TypeOf(part) != "Digits") {
      return false;
    }
  }
  return cuts;
}

}  // namespace

const std::bitset<0x10000>& SafeCuts::SolidChars() {
  static const std::bitset<0x10000>& chars = *[] {
    auto* solid = new std::bitset<0x10000>;
    for (char32_t c = 0x80; c < 0x10000; ++c) {
      if ((c >= 0xD800 && c < 0xE000) || !(unicode::IsWord(c) || unicode::IsPunctuation(c))) continue;
      std::string text;
      unicode::AppendUtf8(c, &text);
      const std::size_t size = text.size();
      text += ' ';  // some begin clusters that a space belongs to
      (*solid)[c] = !unicode::IsWhitespace(c) && unicode::ClusterEnd(text, 0) == size;
    }
    return solid;
  }();
  return chars;
}

SafeCuts::SafeCuts(Kind kind, const JsonView& json, const Normalizer* normalizer) : kind_(kind) {
  for (std::size_t c = 0x21; c < 0x7F; ++c) solid_[c] = true;
  if (kind == Kind::kBytes) {
    // A prefix would be put in front of a part that begins with a letter.
    behind_line_feed_ = std::ranges::none_of(
        PartsOf(json.Find("pre_tokenizer"), "pretokenizers"),
        [](const auto& part) { return TypeOf(part) == "ByteLevel" && part["add_prefix_space"].Bool(); });
  }
  if (kind == Kind::kWords) at_line_feed_ = true;
  if (kind == Kind::kMetaspace && normalizer != nullptr) {
    TextScratch scratch;
    at_line_feed_ = normalizer->Normalize(AlignedText("x\nx"), &scratch).text() == "x x";
  }
}

std::optional<SafeCuts> SafeCuts::Of(const JsonView& json, const Normalizer* normalizer) {
  const std::vector<JsonView> normalizers = PartsOf(json.Find("normalizer"), "normalizers");
  const std::vector<JsonView> splits = PartsOf(json.Find("pre_tokenizer"), "pretokenizers");
  const auto all_normalizers = [&](std::initializer_list<std::string_view> types) {
    return std::ranges::all_of(normalizers, [&](const JsonView& part) { return IsAnyType(part, types); });
  };
  if (ArePatterns(splits)) {
    if (!all_normalizers({"NFC", "NFD"})) return std::nullopt;
    return SafeCuts(Kind::kBytes, json, normalizer);
  }
  if (splits.size() == 1 && IsAnyType(splits[0], {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"})) {
    if (!all_normalizers({"BertNormalizer", "Lowercase", "NFC", "NFD", "StripAccents"})) return std::nullopt;
    return SafeCuts(Kind::kWords, json, normalizer);
  }
  if (splits.size() == 1 && TypeOf(splits[0]) == "Metaspace") {
    const auto split = splits[0].Find("split");
    if ((split && !split->IsNull() && !split->Bool()) || splits[0]["replacement"].String() != kMetaspace ||
        normalizer == nullptr) {
      return std::nullopt;
    }
    for (std::size_t i = 0; i < normalizers.size(); ++i) {
      const JsonView& part = normalizers[i];
      const bool known = (i == 0 && TypeOf(part) == "Precompiled") ||
                         (TypeOf(part) == "Strip" && !part["strip_left"].Bool()) ||
                         IsReplaceOf(part, "Regex", " {2,}", " ") || IsReplaceOf(part, "Regex", " {2,}", kMetaspace);
      if (!known) return std::nullopt;
    }
    TextScratch scratch;
    if (normalizer->Normalize(AlignedText("x x"), &scratch).text() != "x x") return std::nullopt;
    return SafeCuts(Kind::kMetaspace, json, normalizer);
  }
  const auto is_space_split = [](const JsonView& part) {  // does nothing, as spaces are no more
    if (TypeOf(part) != "Split") return false;
    const auto text = part["pattern"].Find("String");
    return text && text->String() == " ";
  };
  const bool prepends = normalizers.size() == 2 && TypeOf(normalizers[0]) == "Prepend";
  if (normalizers.size() == (prepends ? 2 : 1) && IsReplaceOf(normalizers.back(), "String", " ", kMetaspace) &&
      std::ranges::all_of(splits, is_space_split)) {
    SafeCuts cuts(Kind::kSentencePieceBpe, json, normalizer);
    if (!cuts.Forbid(json["model"])) return std::nullopt;
    if (prepends) cuts.inner_ = Normalizer::FromJson(normalizers.back());
    return cuts;
  }
  return std::nullopt;
}

bool SafeCuts::Forbid(const JsonView& model) {
  const auto is_set = [&](std::string_view key) {
    const auto value = model.Find(key);
    return value && !value->IsNull() && !(value->json().is_string() && value->String().empty()) &&
           !(value->json().is_boolean() && !value->Bool());
  };
  const auto merges = model.Find("merges");
  if (!merges || !merges->json().is_array() || is_set("continuing_subword_prefix") || is_set("end_of_word_suffix") ||
      is_set("ignore_merges")) {
    return false;
  }
  const Json& vocab = model["vocab"].json();
  if (!vocab.is_object() || !vocab.contains(kMetaspace)) return false;
  const auto unk = model.Find("unk_token");
  behind_line_feed_ = true;
  for (char c = 'A'; c <= 'z'; ++c) {  // an unknown letter would be one with an unknown line feed
    if (c <= 'Z' || c >= 'a') behind_line_feed_ = behind_line_feed_ && vocab.contains(std::string(1, c));
  }
  for (const Json& merge : merges->json()) {
    std::string left, right;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    } else if (merge.is_string()) {
      const auto& line = merge.get_ref<const std::string&>();
      left = line.substr(0, line.find(' '));
      right = line.substr(std::min(line.size(), left.size() + 1));
    }
    for (const std::string& token : {left, right}) {
      // A symbol that is not its own text.
      if (token.empty() || (token.size() == 6 && token.starts_with("<0x") && token.ends_with(">"))) return false;
      if (unk && !unk->IsNull() && token == unk->String()) return false;
    }
    const auto letter = static_cast<unsigned char>(right[0] | 0x20);
    if (left.back() == '\n' && letter >= 'a' && letter <= 'z') behind_line_feed_ = false;
    if (!right.starts_with(kMetaspace) || left.ends_with(kMetaspace)) continue;
    if (static_cast<unsigned char>(left.back()) >= 0x80) return false;
    solid_[static_cast<unsigned char>(left.back())] = false;
  }
  return true;
}

std::span<const std::string_view> SafeCuts::starts() const {
  static constexpr std::string_view kStarts[] = {" ", "\n", "\t", "\r", kMetaspace};
  // Byte-level text has spaces, and U+2581 is a character like any other.
  return std::span(kStarts).first(kind_ == Kind::kBytes || kind_ == Kind::kWords ? 4 : 5);
}

bool SafeCuts::IsSolidBefore(std::string_view text, std::size_t at) const {
  const auto byte = static_cast<unsigned char>(text[at - 1]);
  if (byte < 0x80) return solid_[byte];
  const char32_t c = unicode::Previous(text, &at);
  return c < 0x10000 && SolidChars()[c];
}

std::size_t SafeCuts::Next(std::string_view text, std::size_t at) const {
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == ' ' || (at_line_feed_ && text[i] == '\n')) {
      if (!IsSolidBefore(text, i)) continue;
      // SentencePiece normalizes by clusters: one of more than the space is another matter.
      if (kind_ == Kind::kMetaspace && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x80 &&
          unicode::ClusterEnd(text, i) != i + 1) {
        continue;
      }
      return i;
    }
    if (behind_line_feed_ && text[i] == '\n' && i + 1 < text.size()) {
      const auto letter = static_cast<unsigned char>(text[i + 1] | 0x20);
      if (letter >= 'a' && letter <= 'z' && IsSolidBefore(text, i)) return i + 1;
    }
  }
  return text.size();
}

bool SafeCuts::EndStays(const AlignedText& normalized, std::size_t end) const {
  if (kind_ != Kind::kMetaspace) return true;
  const std::string_view text = normalized.text();
  return !text.empty() && !text.ends_with(' ') && !text.ends_with(kMetaspace) &&
         normalized.Original(0, text.size()).end == end;
}

}  // namespace mconnect
