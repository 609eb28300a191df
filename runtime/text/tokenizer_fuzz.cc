// Any tokenizer.json, and any text through what it makes.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/testing/fuzzing.h"
#include "runtime/text/stream_decoder.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {
namespace {

using Json = nlohmann::json;

// What must be so, whatever the input is; a sanitizer or the driver reports the end of the process.
void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

// The range is in the text, and its borders are between characters.
bool IsRange(const Span& span, std::size_t size) { return span.begin <= span.end && span.end <= size; }

void Check(const Encoding& encoding, std::size_t bytes, bool offsets) {
  const std::size_t size = encoding.size();
  Require(encoding.type_ids.size() == size && encoding.attention_mask.size() == size &&
              encoding.special_tokens_mask.size() == size,
          "all vectors of an encoding are as long");
  Require(encoding.byte_offsets.size() == (offsets ? size : 0) && encoding.char_offsets.size() == (offsets ? size : 0),
          "offsets are those of all tokens, or none");
  // A text that is not well-formed may grow to three times its bytes.
  for (const Span& span : encoding.byte_offsets) Require(IsRange(span, 3 * bytes), "byte offsets are in the text");
  for (const Span& span : encoding.char_offsets) Require(IsRange(span, 3 * bytes), "char offsets are in the text");
}

// `call`, and whether it was an Error that ended it.
template <typename F>
bool Tolerates(F call) {
  try {
    call();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Exercise(const Tokenizer& tokenizer, std::string_view choices, std::string_view text) {
  const auto choice = [&](std::size_t i) { return i < choices.size() ? static_cast<unsigned char>(choices[i]) : 0u; };
  EncodeOptions options;
  options.add_special_tokens = (choice(0) & 1) == 0;
  options.offsets = (choice(0) & 2) == 0;
  if ((choice(0) & 4) != 0) options.max_tokens = choice(1);
  if ((choice(0) & 8) != 0) {
    options.padding =
        Padding{.to = Padding::To::kFixed, .length = choice(2), .multiple_of = choice(3), .left = choice(4) > 64};
  }
  Encoding encoding;
  Tolerates([&] {
    encoding = tokenizer.Encode(text, options);
    Check(encoding, text.size(), options.offsets);
  });
  const std::size_t middle = text.size() / 2;
  Tolerates([&] {
    Check(tokenizer.Encode(text.substr(0, middle), text.substr(middle), options), text.size(), options.offsets);
  });
  Tolerates([&] {
    EncodeOptions plain = options;
    plain.plain_text = {{static_cast<std::uint32_t>(middle / 2), static_cast<std::uint32_t>(middle)}};
    Check(tokenizer.Encode(text, plain), text.size(), plain.offsets);
  });
  std::vector<TokenId> ids = encoding.ids;
  for (const unsigned char c : choices) ids.push_back(static_cast<TokenId>(c) - 2);
  ids.resize(std::min<std::size_t>(ids.size(), 5000));
  for (const bool skip : {false, true}) {
    std::string whole;
    const bool decoded = Tolerates([&] { whole = tokenizer.Decode(ids, skip); });
    std::string streamed;
    const bool streams = Tolerates([&] {
      StreamDecoder decoder(tokenizer, skip);
      for (const TokenId id : ids) streamed += decoder.Put(id);
      streamed += decoder.Finish();
    });
    Require(decoded == streams && whole == streamed, "a stream of tokens decodes to the same text");
  }
  for (const TokenId id : {-1, 0, 5, 1 << 30}) {
    const auto token = tokenizer.IdToToken(id);
    if (token) tokenizer.TokenToId(*token);
    tokenizer.IsSpecial(id);
  }
}

// --- Good inputs: each component of the format at least once.

Json Parse(const char* text) { return Json::parse(text); }

std::vector<Json> Models() {
  Json bytes = {
      {"type", "BPE"}, {"vocab", Json::object()}, {"merges", {"h e", "l l", "he ll", "Ġ w"}}, {"ignore_merges", true}};
  int id = 0;
  for (int c = 0; c < 256; ++c) {
    // The letters of bytes: those that print are themselves, the others follow U+00FF.
    const bool prints = (c >= '!' && c <= '~') || (c >= 0xA1 && c <= 0xAC) || c >= 0xAE;
    static int beyond = 0;
    const int point = prints ? c : 256 + beyond++;
    std::string letter;
    if (point < 0x80) {
      letter = static_cast<char>(point);
    } else {
      letter = {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 63))};
    }
    bytes["vocab"][letter] = id++;
  }
  for (const char* token : {"he", "ll", "hell", "Ġw", "hello"}) bytes["vocab"][token] = id++;
  Json fallback =
      Parse(R"({"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, "dropout": null,
    "continuing_subword_prefix": "", "end_of_word_suffix": "", "vocab": {"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4},
    "merges": [["▁", "a"]]})");
  for (int c = 0; c < 256; ++c) {
    constexpr char kHex[] = "0123456789ABCDEF";
    fallback["vocab"][std::string("<0x") + kHex[c >> 4] + kHex[c & 15] + ">"] = 5 + c;
  }
  return {
      bytes,
      fallback,
      Parse(R"({"type": "BPE", "unk_token": "<unk>", "continuing_subword_prefix": "##", "end_of_word_suffix": "</w>",
            "vocab": {"<unk>": 0, "a": 1, "b": 2, "##b": 3, "##b</w>": 4, "a</w>": 5, "ab</w>": 6, "##a": 7},
            "merges": ["a ##b</w>"]})"),
      Parse(R"({"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##able": 4, "a": 5,
            "##b": 6, "é": 7, "hello": 8, "##lo": 9, "[PAD]": 10, "[MASK]": 11}})"),
      Parse(R"({"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [["<unk>", 0.0], ["▁", -2.5],
            ["a", -3.0], ["▁a", -1.5], ["ab", -2.0], ["b", -4.25], ["<0x41>", -9], ["é", -5]]})"),
      Parse(
          R"({"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "hello": 1, "world": 2, "a": 3, ".": 4}})")};
}

// A trie of three units: "a" becomes "b".
constexpr const char* kCharsmap = "DAAAAACAAQBhDQAAAAAAgGIA";

std::vector<Json> Normalizers() {
  std::vector<Json> parts;
  for (const char* type : {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "ByteLevel", "Nmt", "StripAccents"}) {
    parts.push_back({{"type", type}});
  }
  parts.push_back(
      Parse(R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
    "lowercase": true})"));
  parts.push_back(Parse(R"({"type": "Prepend", "prepend": "▁"})"));
  parts.push_back(Parse(R"({"type": "Strip", "strip_left": true, "strip_right": true})"));
  parts.push_back(Parse(R"({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})"));
  parts.push_back(Parse(R"({"type": "Replace", "pattern": {"Regex": " {2,}|\\p{L}\\d?"}, "content": " "})"));
  parts.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", kCharsmap}});
  parts.push_back({{"type", "Sequence"}, {"normalizers", Json(std::vector<Json>(parts.begin(), parts.end() - 1))}});
  return parts;
}

std::vector<Json> PreTokenizers() {
  std::vector<Json> parts;
  for (const char* type : {"BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"})
    parts.push_back({{"type", type}});
  for (const char* behavior : {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"}) {
    parts.push_back({{"type", "Punctuation"}, {"behavior", behavior}});
    parts.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", "\\s+|\\p{N}"}}}, {"behavior", behavior}, {"invert", false}});
  }
  parts.push_back(Parse(R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": true})"));
  parts.push_back(Parse(
      R"({"type": "Split", "pattern": {"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    "behavior": "Isolated", "invert": false})"));
  parts.push_back(Parse(R"({"type": "Digits", "individual_digits": true})"));
  parts.push_back(Parse(R"({"type": "FixedLength", "length": 3})"));
  parts.push_back(Parse(R"({"type": "CharDelimiterSplit", "delimiter": "|"})"));
  parts.push_back(Parse(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})"));
  parts.push_back(Parse(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false})"));
  parts.push_back(Parse(R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})"));
  parts.push_back(Parse(R"({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": false},
    {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]})"));
  return parts;
}

std::vector<Json> PostProcessors() {
  std::vector<Json> parts = {
      Parse(R"({"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]})"),
      Parse(
          R"({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": true, "add_prefix_space": true})"),
      Parse(R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})"),
      Parse(
          R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A",
        "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 1}},
        {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [1, 2], "tokens": ["<s>", "x"]}}})")};
  parts.push_back({{"type", "Sequence"}, {"processors", {parts[2], parts[3]}}});
  return parts;
}

std::vector<Json> Decoders() {
  std::vector<Json> parts;
  for (const char* type : {"ByteLevel", "ByteFallback", "Fuse"}) parts.push_back({{"type", type}});
  parts.push_back(Parse(R"({"type": "WordPiece", "prefix": "##", "cleanup": true})"));
  parts.push_back(Parse(R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true})"));
  parts.push_back(Parse(R"({"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": true})"));
  parts.push_back(Parse(R"({"type": "BPEDecoder", "suffix": "</w>"})"));
  parts.push_back(Parse(R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})"));
  parts.push_back(Parse(R"({"type": "Replace", "pattern": {"Regex": "a+|é"}, "content": " "})"));
  parts.push_back(Parse(R"({"type": "Strip", "content": " ", "start": 1, "stop": 1})"));
  parts.push_back({{"type", "Sequence"}, {"decoders", {parts[7], parts[1], parts[2], parts[9]}}});
  return parts;
}

std::vector<Json> AddedTokens() {
  const auto token = [](int id, const char* content, bool special, bool normalized, bool word, bool left, bool right) {
    return Json{{"id", id},        {"content", content},       {"single_word", word}, {"lstrip", left},
                {"rstrip", right}, {"normalized", normalized}, {"special", special}};
  };
  return {Json::array(
      {token(1, "<s>", true, false, false, false, false), token(400, "<mask>", true, false, false, true, true),
       token(401, "Tool", false, true, true, false, false), token(402, "é", false, true, false, false, true)})};
}

// A document for each component, each with another of the other components.
std::vector<std::string> MakeSeeds() {
  const std::vector<std::pair<const char*, std::vector<Json>>> parts = {
      {"normalizer", Normalizers()},
      {"pre_tokenizer", PreTokenizers()},
      {"post_processor", PostProcessors()},
      {"decoder", Decoders()},
      {"model", Models()},
      {"added_tokens", AddedTokens()},
      {"truncation",
       {Parse(R"({"max_length": 12, "strategy": "LongestFirst", "stride": 0, "direction": "Right"})"),
        Parse(R"({"max_length": 5, "strategy": "OnlyFirst", "stride": 0, "direction": "Left"})"), nullptr}},
      {"padding",
       {Parse(
            R"({"strategy": {"Fixed": 16}, "direction": "Left", "pad_to_multiple_of": 8, "pad_id": 0, "pad_type_id": 0,
                    "pad_token": "[PAD]"})"),
        Parse(R"({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"})"),
        nullptr}}};
  const std::vector<std::string> texts = {"hello world, unable ab <mask> Tool. <s> 1234\n  héllo", "",
                                          " a b|c  世界 café 👩‍👧 \t", "▁a <0x41> \xC3 \xF0\x9F\x98 z"};
  std::size_t most = 0;
  for (const auto& [key, choices] : parts) most = std::max(most, choices.size());
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < 2 * most; ++i) {
    Json document = {{"version", "1.0"}};
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto& [key, choices] = parts[k];
      document[key] = i < most ? choices[i % choices.size()] : choices[(i + 3 * k) % choices.size()];
    }
    const std::string choices = {static_cast<char>(i % 16), 9, 20, 8, static_cast<char>(i), 3, 4, 7};
    seeds.push_back(document.dump() + fuzzing::kSeparator + choices + fuzzing::kSeparator + texts[i % texts.size()]);
  }
  return seeds;
}

}  // namespace

const std::vector<std::string>& fuzzing::Seeds() {
  static const std::vector<std::string> seeds = MakeSeeds();
  return seeds;
}

}  // namespace mconnect

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mconnect;
  const auto parts = fuzzing::Parts({reinterpret_cast<const char*>(data), size}, 3);
  try {
    const Tokenizer tokenizer = Tokenizer::FromJson(parts[0]);
    fuzzing::Accept();
    Exercise(tokenizer, parts[1], parts[2]);
  } catch (const Error&) {  // a fair answer
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned int seed) {
  return mconnect::fuzzing::MutateInPlace(data, size, capacity, seed);
}
