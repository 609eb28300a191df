#include "runtime/text/model/unigram.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "mconnect/error.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// An unknown character is this much less probable than the least probable token (SentencePiece's kUnkPenalty).
constexpr double kUnkPenalty = 10;
// Pieces up to this many bytes need no memory from the heap.
constexpr std::size_t kShort = 128;

std::vector<std::string> Tokens(const JsonView& vocab, std::vector<double>* scores) {
  if (!vocab.json().is_array()) vocab.Fail("must be an array of tokens and scores");
  std::vector<std::string> tokens;
  tokens.reserve(vocab.json().size());
  scores->reserve(vocab.json().size());
  for (const Json& item : vocab.json()) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_string() || !item[1].is_number()) {
      vocab.Fail("entry " + std::to_string(tokens.size()) + ", " + item.dump().substr(0, 80) +
                 ", is not a token and a score");
    }
    tokens.push_back(item[0].get<std::string>());
    scores->push_back(item[1].get<double>());
  }
  return tokens;
}

}  // namespace

UnigramModel::UnigramModel(const JsonView& json)
    : vocabulary_(json["vocab"], Tokens(json["vocab"], &scores_)), trie_(vocabulary_.ids()) {
  if (const auto unk = json.Find("unk_id"); unk && !unk->IsNull()) {
    unk_id_ = static_cast<TokenId>(unk->Int(0, static_cast<std::int64_t>(scores_.size()) - 1));
  }
  if (!scores_.empty()) unk_score_ = *std::ranges::min_element(scores_) - kUnkPenalty;
  const auto fallback = json.Find("byte_fallback");
  byte_fallback_ = fallback && !fallback->IsNull() && fallback->Bool();
  if (!byte_fallback_) return;
  for (unsigned b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", b);
    id_of_byte_.push_back(vocabulary_.Id(name).value_or(-1));
  }
}

void UnigramModel::FindBest(std::string_view piece, std::span<Best> best) const {
  // Of equally probable ways the one whose last token begins first stays, as in the reference.
  const auto consider = [](Best* target, double score, std::size_t begin, TokenId id) {
    if (target->begin != kNowhere && !(score > target->score)) return;
    *target = {.score = score, .begin = static_cast<std::uint32_t>(begin), .next = 0, .id = id};
  };
  std::ranges::fill(best, Best{.score = 0, .begin = kNowhere, .next = 0, .id = 0});
  for (std::size_t begin = 0; begin < piece.size();) {
    const double score = best[begin].score;
    std::size_t next = begin;
    unicode::Next(piece, &next);
    bool single = false;
    trie_.ForEachPrefix(piece.substr(begin), [&](std::size_t size, TokenId id) {
      consider(&best[begin + size], score + scores_[static_cast<std::size_t>(id)], begin, id);
      single = single || begin + size == next;
    });
    if (!single) {
      if (!unk_id_) {
        throw Error(ErrorCode::kCorrupt, "a character is not in the vocabulary, and the model has no unk_id");
      }
      consider(&best[next], score + unk_score_, begin, *unk_id_);
    }
    begin = next;
  }
}

void UnigramModel::AppendUnknown(std::string_view run, std::vector<PieceToken>* tokens) const {
  const auto size = static_cast<std::uint32_t>(run.size());
  const auto whole = vocabulary_.Id(run);
  const auto known = [this](char b) { return id_of_byte_[static_cast<unsigned char>(b)] >= 0; };
  if (whole || !byte_fallback_ || !std::ranges::all_of(run, known)) {
    tokens->push_back({whole.value_or(*unk_id_), size});
    return;
  }
  // As in the reference, each byte's token covers the whole run.
  for (const char b : run) tokens->push_back({id_of_byte_[static_cast<unsigned char>(b)], size, 0});
  tokens->back().step = size;
}

void UnigramModel::Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const {
  std::array<Best, kShort + 1> short_best;
  std::vector<Best> long_best;
  std::span<Best> best = std::span(short_best).first(std::min(short_best.size(), piece.size() + 1));
  if (piece.size() > kShort) {
    long_best.resize(piece.size() + 1);
    best = long_best;
  }
  FindBest(piece, best);

  for (std::size_t end = piece.size(); end > 0; end = best[end].begin) {
    best[best[end].begin].next = static_cast<std::uint32_t>(end);
  }
  for (std::size_t begin = 0; begin < piece.size();) {
    std::size_t end = best[begin].next;
    if (best[end].id != unk_id_) {
      tokens->push_back({best[end].id, static_cast<std::uint32_t>(end - begin)});
    } else {
      while (end < piece.size() && best[best[end].next].id == unk_id_) end = best[end].next;
      AppendUnknown(piece.substr(begin, end - begin), tokens);
    }
    begin = end;
  }
}

}  // namespace mconnect
