#include "runtime/text/decoder.h"

#include <optional>
#include <string_view>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  if (from.empty()) return;
  for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

// Each token by itself, given its index.
class TokenStage : public DecoderStage {
 public:
  using Function = std::function<std::string(std::string token, std::size_t index)>;
  explicit TokenStage(Function function) : function_(std::move(function)) {}
  void Put(std::string token, const Sink& next) override { next(function_(std::move(token), index_++)); }
  void Finish(const Sink&) override {}

 private:
  Function function_;
  std::size_t index_ = 0;
};

// Puts fragments together and gives the whole to a stage that can only work on that.
class WholeStage : public DecoderStage {
 public:
  explicit WholeStage(std::unique_ptr<DecoderStage> stage) : stage_(std::move(stage)) {}
  void Put(std::string text, const Sink&) override { whole_ += text; }
  void Finish(const Sink& next) override {
    stage_->Put(std::move(whole_), next);
    stage_->Finish(next);
  }

 private:
  std::unique_ptr<DecoderStage> stage_;
  std::string whole_;
};

// Bytes written in the byte-level alphabet; ill-formed parts become U+FFFD.
class ByteLevelStage : public DecoderStage {
 public:
  void Put(std::string token, const Sink& next) override {
    auto bytes = byte_level::Bytes(token);
    held_ += bytes ? *bytes : token;
    const std::size_t incomplete = unicode::IncompleteSuffix(held_);
    std::string rest = held_.substr(held_.size() - incomplete);
    held_.resize(held_.size() - incomplete);
    Finish(next);
    held_ = std::move(rest);
  }
  void Finish(const Sink& next) override {
    if (held_.empty()) return;
    auto repaired = unicode::Repair(held_);
    next(repaired ? *std::move(repaired) : std::move(held_));
    held_.clear();
  }

 private:
  std::string held_;
};

// Runs of tokens like <0xE2> as the bytes they name; if a run is not well-formed, U+FFFD for each of its bytes.
class ByteFallbackStage : public DecoderStage {
 public:
  void Put(std::string token, const Sink& next) override {
    if (const auto byte = Byte(token)) {
      run_.push_back(*byte);
      return;
    }
    Finish(next);
    next(std::move(token));
  }
  void Finish(const Sink& next) override {
    if (run_.empty()) return;
    if (unicode::Repair(run_)) {
      for (std::size_t i = 0; i < run_.size(); ++i) next("\uFFFD");
    } else {
      next(run_);
    }
    run_.clear();
  }

 private:
  static std::optional<char> Byte(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    int value = 0;
    for (const char digit : token.substr(3, 2)) {
      const int d = digit >= '0' && digit <= '9'   ? digit - '0'
                    : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                    : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                                                   : -1;
      if (d < 0) return std::nullopt;
      value = value * 16 + d;
    }
    return static_cast<char>(value);
  }

  std::string run_;
};

// Up to `start` times the character at the beginning and `stop` times at the end of a token, which may come in
// fragments.
class StripStage : public DecoderStage {
 public:
  StripStage(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}

  void Put(std::string text, const Sink& next) override {
    held_ += text;
    while (stripped_ < start_ && held_.starts_with(content_)) {
      held_.erase(0, content_.size());
      ++stripped_;
    }
    if (held_.empty()) return;
    stripped_ = start_;  // another character was seen
    std::size_t keep = held_.size();
    for (std::size_t i = 0; i < stop_ && std::string_view(held_).substr(0, keep).ends_with(content_); ++i) {
      keep -= content_.size();
    }
    if (keep > 0) next(held_.substr(0, keep));
    held_.erase(0, keep);
  }
  void Finish(const Sink&) override { held_.clear(); }

 private:
  std::string content_;
  std::size_t start_;
  std::size_t stop_;
  std::size_t stripped_ = 0;
  std::string held_;
};

// The end-of-word suffix becomes a space, but nothing in the last token.
class BpeStage : public DecoderStage {
 public:
  explicit BpeStage(std::string suffix) : suffix_(std::move(suffix)) {}
  void Put(std::string token, const Sink& next) override {
    if (last_) {
      ReplaceAll(suffix_, " ", &*last_);
      next(*std::move(last_));
    }
    last_ = std::move(token);
  }
  void Finish(const Sink& next) override {
    if (!last_) return;
    ReplaceAll(suffix_, "", &*last_);
    next(*std::move(last_));
    last_.reset();
  }

 private:
  std::string suffix_;
  std::optional<std::string> last_;
};

// Without the spaces that tokenization put around English punctuation and contractions.
void CleanUp(std::string* text) {
  static constexpr std::pair<std::string_view, std::string_view> kCleanups[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kCleanups) ReplaceAll(from, to, text);
}

// Connectionist temporal classification (Graves et al. 2006): of equal neighbours one stays, and padding goes.
class CtcStage : public DecoderStage {
 public:
  CtcStage(std::string pad, std::string delimiter, bool cleanup)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), cleanup_(cleanup) {}

  void Put(std::string token, const Sink& next) override {
    if (last_ == token) return;
    last_ = token;
    ReplaceAll(pad_, "", &token);
    if (cleanup_) {
      CleanUp(&token);
      ReplaceAll(delimiter_, " ", &token);
    }
    if (!token.empty()) next(std::move(token));
  }
  void Finish(const Sink&) override { last_.reset(); }

 private:
  std::string pad_;
  std::string delimiter_;
  bool cleanup_;
  std::optional<std::string> last_;
};

std::string WordPieceToken(std::string token, std::size_t index, const std::string& prefix, bool cleanup) {
  if (index > 0) token = token.starts_with(prefix) ? token.substr(prefix.size()) : " " + token;
  if (cleanup) CleanUp(&token);
  return token;
}

// Spaces for the replacement character, which is dropped from the first token where the pre-tokenizer put it there.
std::string MetaspaceToken(std::string_view token, std::size_t index, std::string_view replacement, bool prepended) {
  std::string text(token);
  ReplaceAll(replacement, index == 0 && prepended ? "" : " ", &text);
  return text;
}

std::string RegexReplaced(std::string_view token, const Regex& regex, std::string_view content,
                          Regex::Scratch* scratch) {
  std::vector<Match> parts;
  regex.Split(token, scratch, &parts);
  std::string text;
  for (const Match& part : parts) text += part.matched ? content : token.substr(part.begin, part.end - part.begin);
  return text;
}

// `make` for a stage that works on whole tokens.
Decoder::MakeStage Whole(std::function<std::unique_ptr<DecoderStage>()> make) {
  return [make = std::move(make)](bool fused) -> std::unique_ptr<DecoderStage> {
    return fused ? std::make_unique<WholeStage>(make()) : make();
  };
}

Decoder::MakeStage Tokenwise(TokenStage::Function function) {
  return Whole([function = std::move(function)] { return std::make_unique<TokenStage>(function); });
}

}  // namespace

Decoder::Decoder() {
  parts_.push_back(
      {Tokenwise([](std::string token, std::size_t index) { return index > 0 ? " " + token : token; }), false});
}

Decoder Decoder::FromJson(const JsonView& json) {
  Decoder decoder;
  decoder.parts_.clear();
  decoder.Add(json);
  return decoder;
}

void Decoder::Add(const JsonView& json) {
  const std::string& type = json["type"].String();
  if (type == "Sequence") {
    for (const JsonView& item : json["decoders"].Items()) Add(item);
  } else if (type == "ByteLevel") {
    parts_.push_back({[](bool) { return std::make_unique<ByteLevelStage>(); }, true});
  } else if (type == "ByteFallback") {
    parts_.push_back({Whole([] { return std::make_unique<ByteFallbackStage>(); }), false});
  } else if (type == "Fuse") {
    parts_.push_back(
        {[](bool) { return std::make_unique<TokenStage>([](std::string text, std::size_t) { return text; }); }, true});
  } else if (type == "WordPiece") {
    parts_.push_back({Tokenwise([prefix = json["prefix"].String(), cleanup = json["cleanup"].Bool()](
                                    std::string token, std::size_t index) {
                        return WordPieceToken(std::move(token), index, prefix, cleanup);
                      }),
                      false});
  } else if (type == "Metaspace") {
    const auto scheme = json.Find("prepend_scheme");
    const auto add = json.Find("add_prefix_space");
    const bool prepended = !(scheme && scheme->String() == "never") && !(add && !add->IsNull() && !add->Bool());
    parts_.push_back(
        {Tokenwise([replacement = json["replacement"].String(), prepended](std::string token, std::size_t index) {
           return MetaspaceToken(token, index, replacement, prepended);
         }),
         false});
  } else if (type == "CTC") {
    parts_.push_back(
        {Whole([pad = json["pad_token"].String(), delimiter = json["word_delimiter_token"].String(),
                cleanup = json["cleanup"].Bool()] { return std::make_unique<CtcStage>(pad, delimiter, cleanup); }),
         false});
  } else if (type == "BPEDecoder") {
    parts_.push_back({Whole([suffix = json["suffix"].String()] { return std::make_unique<BpeStage>(suffix); }), false});
  } else if (type == "Replace") {
    const std::string& content = json["content"].String();
    if (const auto literal = json["pattern"].Find("String")) {
      parts_.push_back({Tokenwise([from = literal->String(), content](std::string token, std::size_t) {
                          ReplaceAll(from, content, &token);
                          return token;
                        }),
                        false});
    } else {
      const auto regex = std::make_shared<const Regex>(RegexFromJson(json["pattern"]));
      parts_.push_back({Whole([regex, content] {
                          const auto scratch = std::make_shared<Regex::Scratch>();
                          return std::make_unique<TokenStage>([=](std::string token, std::size_t) {
                            return RegexReplaced(token, *regex, content, scratch.get());
                          });
                        }),
                        false});
    }
  } else if (type == "Strip") {
    const std::string content = json["content"].String();
    if (unicode::CountChars(content) != 1) json["content"].Fail("must be one character");
    const auto start = static_cast<std::size_t>(json["start"].Int(0));
    const auto stop = static_cast<std::size_t>(json["stop"].Int(0));
    parts_.push_back({[content, start, stop](bool fused) -> std::unique_ptr<DecoderStage> {
                        if (fused) return std::make_unique<StripStage>(content, start, stop);
                        return std::make_unique<TokenStage>([content, start, stop](std::string token, std::size_t) {
                          std::string text;
                          StripStage(content, start, stop).Put(std::move(token), [&](std::string s) { text += s; });
                          return text;
                        });
                      },
                      false});
  } else {
    throw Error(ErrorCode::kUnsupported, json.place() + ": the decoder '" + type + "' is not supported");
  }
}

DecoderChain::DecoderChain(const Decoder& decoder) {
  bool fused = false;
  for (const Decoder::Part& part : decoder.parts_) {
    stages_.push_back(part.make(fused));
    fused = fused || part.fuses;
  }
}

void DecoderChain::Pass(std::size_t stage, std::string text, std::string* out) {
  if (stage == stages_.size()) {
    *out += text;
  } else {
    stages_[stage]->Put(std::move(text), [&](std::string next) { Pass(stage + 1, std::move(next), out); });
  }
}

void DecoderChain::Put(std::string token, std::string* text) { Pass(0, std::move(token), text); }

void DecoderChain::Finish(std::string* text) {
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    stages_[stage]->Finish([&](std::string next) { Pass(stage + 1, std::move(next), text); });
  }
}

}  // namespace mconnect
