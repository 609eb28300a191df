// From text to tokens.

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "mconnect/error.h"
#include "runtime/text/length.h"
#include "runtime/text/tokenizer_impl.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Code points before a byte of the text, for bytes that mostly come in ascending order.
class CharCounter {
 public:
  explicit CharCounter(std::string_view text) : text_(text) {}

  Span Chars(Span bytes) {
    if (bytes.begin >= text_.size()) return bytes;
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
  std::uint32_t byte_ = 0;
  std::uint32_t chars_ = 0;
};

void CountChars(std::string_view text, std::span<EncodedToken> tokens) {
  if (unicode::IsAscii(text)) {
    for (EncodedToken& token : tokens) token.chars = token.bytes;
    return;
  }
  CharCounter counter(text);
  for (EncodedToken& token : tokens) token.chars = counter.Chars(token.bytes);
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

}  // namespace

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

void Tokenizer::Impl::TokenizePiece(std::string_view piece, Scratch* scratch) const {
  std::vector<PieceToken>& tokens = scratch->tokens;
  const bool known = scratch->known_pieces.ForEachToken(piece, /*kind=*/0, [&](const CachedToken& token) {
    tokens.push_back({token.id, static_cast<std::uint32_t>(token.end - token.begin)});
  });
  if (known) return;
  model->Tokenize(piece, &tokens);
  if (piece.size() > TokenCache::kMaxBytes || tokens.size() > TokenCache::kMaxTokens) return;
  std::array<CachedToken, TokenCache::kMaxTokens> cached;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].step != tokens[i].size) return;  // rare: not worth a place
    const std::size_t end = begin + tokens[i].size;
    cached[i] = {tokens[i].id, static_cast<std::uint8_t>(begin), static_cast<std::uint8_t>(end)};
    begin = end;
  }
  scratch->known_pieces.Put(piece, /*kind=*/0, std::span(cached).first(tokens.size()));
}

Tokenizer::Impl::Outcome Tokenizer::Impl::TokenizePart(const AlignedText& part, bool inside, bool last,
                                                       std::span<const Span> plain, Scratch* scratch,
                                                       TextTokens* result) const {
  const Normalizer* inner = inside ? cuts->inner_normalizer() : nullptr;
  const Normalizer* by = inner != nullptr ? inner : normalizer.get();
  const AlignedText text = by == nullptr ? part : by->Normalize(part, &scratch->text);
  const bool closed = cuts && cuts->EndStays(text, part.begin() + part.text().size());
  if (!closed && !last) return Outcome::kNotByItself;

  std::vector<Piece>& pieces = scratch->pieces;
  pieces.clear();
  added->FindNormalized(text, plain, &pieces);
  if (pre_tokenizer != nullptr) pre_tokenizer->Split(&pieces, &scratch->text);
  bool keeps = closed;
  for (const Piece& piece : pieces) {
    if (piece.added_token != Piece::kText) {
      result->tokens.push_back({piece.added_token, piece.text.Original(0, piece.text.text().size()), {}});
      if (result->wants_texts) result->texts.push_back(piece.text.text());
      keeps = keeps && !result->wants_texts;  // its text is not that of the vocabulary
      continue;
    }
    scratch->tokens.clear();
    if (closed && pieces.size() == 1) {  // is known by the part
      model->Tokenize(piece.text.text(), &scratch->tokens);
    } else {
      TokenizePiece(piece.text.text(), scratch);
    }
    std::size_t begin = 0;
    for (const PieceToken& token : scratch->tokens) {
      result->tokens.push_back({token.id, piece.text.Original(begin, begin + token.size), {}});
      if (result->wants_texts) result->texts.push_back(*model->vocabulary().Text(token.id));
      begin += token.step;
    }
  }
  return keeps ? Outcome::kKeep : Outcome::kDone;
}

void Tokenizer::Impl::TokenizeParts(const AlignedText& text, std::span<const Span> plain, Scratch* scratch,
                                    TextTokens* result) const {
  const std::string_view bytes = text.text();
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = cuts->Next(bytes, at);
    const std::uint32_t begin = text.begin() + static_cast<std::uint32_t>(at);
    const auto kind = static_cast<std::uint8_t>(at > 0 ? 0 : begin > 0 ? 1 : 2);  // prefixes depend on it
    const bool known =
        scratch->known_parts.ForEachToken(bytes.substr(at, end - at), kind, [&](const CachedToken& token) {
          result->tokens.push_back({token.id, {begin + token.begin, begin + token.end}, {}});
          if (result->wants_texts) result->texts.push_back(*model->vocabulary().Text(token.id));
        });
    if (!known) {
      const std::size_t first = result->tokens.size();
      Outcome outcome;
      while ((outcome = TokenizePart(text.Slice(at, end), at > 0, end == bytes.size(), plain, scratch, result)) ==
             Outcome::kNotByItself) {
        end = cuts->Next(bytes, at + 2 * (end - at));
      }
      if (outcome == Outcome::kKeep) Keep(bytes.substr(at, end - at), kind, begin, first, *result, scratch);
      if (!result->wants_texts) scratch->text.arena.Clear();
    }
    at = end;
  }
}

void Tokenizer::Impl::Keep(std::string_view part, std::uint8_t kind, std::uint32_t begin, std::size_t first,
                           const TextTokens& result, Scratch* scratch) const {
  const auto tokens = std::span(result.tokens).subspan(first);
  if (part.size() > TokenCache::kMaxBytes || tokens.size() > TokenCache::kMaxTokens) return;
  std::array<CachedToken, TokenCache::kMaxTokens> cached;
  std::ranges::transform(tokens, cached.begin(), [&](const EncodedToken& token) {
    return CachedToken{token.id, static_cast<std::uint8_t>(token.bytes.begin - begin),
                       static_cast<std::uint8_t>(token.bytes.end - begin)};
  });
  scratch->known_parts.Put(part, kind, std::span(cached).first(tokens.size()));
}

void Tokenizer::Impl::TokenizeText(std::string_view text, std::span<const Span> plain, Scratch* scratch,
                                   TextTokens* result) const {
  result->tokens.clear();
  result->texts.clear();
  scratch->raw.clear();
  added->FindRaw(text, plain, &scratch->raw);
  const bool by_parts = cuts && (plain.empty() || !added->has_normalized_special());
  for (const Piece& piece : scratch->raw) {
    if (piece.added_token != Piece::kText) {
      result->tokens.push_back({piece.added_token, piece.text.Original(0, piece.text.text().size()), {}});
      if (result->wants_texts) result->texts.push_back(piece.text.text());
    } else if (by_parts) {
      TokenizeParts(piece.text, plain, scratch, result);
    } else {
      TokenizePart(piece.text, /*inside=*/false, /*last=*/true, plain, scratch, result);
    }
  }
}

Encoding Tokenizer::Impl::Encode(std::string_view text, const std::string_view* pair,
                                 const EncodeOptions& options) const {
  if (pair != nullptr && !options.plain_text.empty()) RefusePlainText("a pair of texts");
  if (pair != nullptr && options.stride) {
    throw Error(ErrorCode::kInvalidArgument, "stride is for one text, not for a pair of texts", "leave stride unset");
  }
  CheckRanges(options.plain_text, text.size());
  std::vector<Span> plain = options.plain_text;
  std::erase_if(plain, [](const Span& range) { return range.begin == range.end; });
  std::unique_ptr<Scratch> scratch = TakeScratch();
  EncodingDraft& draft = scratch->draft;
  draft.segments.clear();
  draft.parts = pair == nullptr ? 1 : 2;
  draft.offsets = options.offsets;
  std::array<std::optional<std::string>, 2> repaired;  // outlives the tokens' texts
  std::array<std::string_view, 2> texts = {text, pair == nullptr ? std::string_view() : *pair};
  for (std::size_t i = 0; i < draft.parts; ++i) {
    if (texts[i].size() > std::numeric_limits<std::uint32_t>::max()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a text of " + std::to_string(texts[i].size()) + " bytes; the limit is 4294967295");
    }
    repaired[i] = plain.empty() ? unicode::Repair(texts[i]) : RepairRanges(texts[i], &plain);
    if (repaired[i]) texts[i] = *repaired[i];
    TextTokens& tokens = scratch->texts[i];
    tokens.wants_texts = options.offsets && post_processor != nullptr && post_processor->reads_tokens();
    TokenizeText(texts[i], plain, scratch.get(), &tokens);
    draft.segments.push_back({.part = i,
                              .type_id = static_cast<std::int32_t>(i),
                              .tokens = tokens.tokens,
                              .texts = tokens.texts,
                              .special = {}});
  }
  const Segment whole = draft.segments[0];
  const bool left = Truncate(options, &draft);
  const std::size_t kept = draft.segments[0].tokens.size();
  const bool windows = options.stride && kept < whole.tokens.size();
  if (options.offsets) {
    for (std::size_t i = 0; i < draft.parts; ++i) {
      CountChars(texts[i], windows ? whole.tokens : draft.segments[i].tokens);
    }
  }
  std::vector<Encoding> overflowing;
  if (windows) overflowing = Overflowing(options, whole, Windows(whole.tokens.size(), kept, *options.stride, left));
  if (post_processor != nullptr) post_processor->Process(options.add_special_tokens, &draft);
  Encoding encoding = Finish(draft);
  encoding.overflowing = std::move(overflowing);
  GiveBack(std::move(scratch));
  return encoding;
}

std::vector<Encoding> Tokenizer::Impl::Overflowing(
    const EncodeOptions& options, const Segment& whole,
    const std::vector<std::pair<std::size_t, std::size_t>>& windows) const {
  std::vector<Encoding> encodings;
  for (std::size_t i = 1; i < windows.size(); ++i) {  // the first one is the encoding itself
    const auto [begin, end] = windows[i];
    const auto range = whole.tokens.subspan(begin, end - begin);
    std::vector<EncodedToken> tokens(range.begin(), range.end());  // a post-processor may change them
    Segment segment = whole;
    segment.tokens = tokens;
    if (!segment.texts.empty()) segment.texts = segment.texts.subspan(begin, end - begin);
    EncodingDraft draft{.segments = {segment}, .parts = 1, .offsets = options.offsets};
    if (post_processor != nullptr) post_processor->Process(options.add_special_tokens, &draft);
    encodings.push_back(Finish(draft));
  }
  return encodings;
}

bool Tokenizer::Impl::Truncate(const EncodeOptions& options, EncodingDraft* draft) const {
  Truncation cut = truncation.value_or(Truncation{});
  if (options.max_tokens) {
    cut.max_tokens = *options.max_tokens;
    if (cut.max_tokens == 0) return cut.left;
  } else if (!truncation) {
    return cut.left;
  }
  const bool pair = draft->parts == 2;
  const std::size_t special =
      options.add_special_tokens && post_processor != nullptr ? post_processor->added_tokens(pair) : 0;
  const auto keep =
      KeptTokens(cut, draft->segments[0].tokens.size(), pair ? draft->segments[1].tokens.size() : 0, pair, special);
  for (std::size_t i = 0; i < draft->parts; ++i) {
    Segment& segment = draft->segments[i];
    const std::size_t count = i == 0 ? keep.first : keep.second;
    if (count >= segment.tokens.size()) continue;
    segment.tokens = cut.left ? segment.tokens.last(count) : segment.tokens.first(count);
    if (!segment.texts.empty()) segment.texts = cut.left ? segment.texts.last(count) : segment.texts.first(count);
  }
  return cut.left;
}

}  // namespace mconnect
