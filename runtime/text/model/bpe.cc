#include "runtime/text/model/bpe.h"

#include <bit>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <queue>

#include "mconnect/error.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Up to this many symbols a linear search for the next merge beats a heap.
constexpr std::size_t kShort = 48;
constexpr char32_t kDenseChars = 0x10000;

std::string OptionalString(const JsonView& json, std::string_view key) {
  const auto value = json.Find(key);
  return value && !value->IsNull() ? value->String() : std::string();
}

bool OptionalBool(const JsonView& json, std::string_view key) {
  const auto value = json.Find(key);
  return value && !value->IsNull() && value->Bool();
}

}  // namespace

BpeModel::MergeTable::MergeTable(std::size_t count) : slots_(std::bit_ceil(count + count / 2 + 2)) {}

std::size_t BpeModel::MergeTable::Place(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> 32) & mask;
  while (slots_[at].pair != pair && slots_[at].pair != kEmpty) at = (at + 1) & mask;
  return at;
}

void BpeModel::MergeTable::Insert(TokenId left, TokenId right, Merge merge) {
  slots_[Place(Pair(left, right))] = {Pair(left, right), merge};
}

BpeModel::Merge BpeModel::MergeTable::Find(TokenId left, TokenId right) const {
  return slots_[Place(Pair(left, right))].merge;
}

BpeModel::BpeModel(const JsonView& json, bool reads_bytes)
    : vocabulary_(json["vocab"]),
      merges_(json["merges"].json().size()),
      prefix_(OptionalString(json, "continuing_subword_prefix")),
      suffix_(OptionalString(json, "end_of_word_suffix")),
      fuse_unk_(OptionalBool(json, "fuse_unk")),
      byte_fallback_(OptionalBool(json, "byte_fallback")),
      ignore_merges_(OptionalBool(json, "ignore_merges")),
      reads_bytes_(reads_bytes) {
  if (const auto dropout = json.Find("dropout"); dropout && !dropout->IsNull() && dropout->Double() != 0) {
    throw Error(ErrorCode::kUnsupported, json.place() + ": dropout " + dropout->json().dump() + " is for training",
                "set it to null");
  }
  // The reference would take the bytes of prefix and suffix for bytes of the text, and come to offsets behind its end.
  if (byte_fallback_ && !(prefix_.empty() && suffix_.empty())) {
    throw Error(ErrorCode::kUnsupported, json.place() + ": byte_fallback beside continuing_subword_prefix or " +
                                             "end_of_word_suffix is not supported");
  }
  if (const auto unk = json.Find("unk_token"); unk && !unk->IsNull()) unk_token_ = unk->String();
  AddMerges(json["merges"]);
  if (reads_bytes_) {
    for (std::size_t b = 0; b < 256; ++b) {
      std::string token;
      unicode::AppendUtf8(byte_level::kCharOfByte[b], &token);
      const auto id = vocabulary_.Id(token);
      if (!id) json["vocab"].Fail("lacks '" + token + "', the byte " + std::to_string(b));
      id_of_byte_[b] = *id;
    }
  }
  if (!reads_bytes_ && prefix_.empty() && suffix_.empty()) {
    id_of_char_.resize(kDenseChars, -1);
    for (const auto& [token, id] : vocabulary_.ids()) {
      std::size_t end = 0;
      const char32_t c = token.empty() ? kDenseChars : unicode::Next(token, &end);
      if (c < kDenseChars && end == token.size()) id_of_char_[c] = id;
    }
  }
  if (ignore_merges_) {
    TokenMap whole;
    for (const auto& [token, id] : vocabulary_.ids()) {
      if (!reads_bytes_) {
        whole.emplace(token, id);
      } else if (const auto bytes = byte_level::Bytes(token)) {
        whole.emplace(*bytes, id);
      }
    }
    whole_ = TokenTable(whole);
  }
}

void BpeModel::AddMerges(const JsonView& json) {
  if (!json.json().is_array()) json.Fail("must be an array");
  std::uint32_t rank = 0;
  for (const Json& item : json.json()) {
    const auto fail = [&](const std::string& what) {
      json.Fail("merge " + std::to_string(rank) + ", " + item.dump().substr(0, 80) + ", " + what);
    };
    std::string left, right;
    if (item.is_string()) {
      const std::string& line = item.get_ref<const std::string&>();
      if (line.starts_with("#version")) continue;
      const std::size_t space = line.find(' ');
      if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) fail("is not two tokens");
      left = line.substr(0, space);
      right = line.substr(space + 1);
    } else if (item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
      left = item[0].get<std::string>();
      right = item[1].get<std::string>();
    } else {
      fail("is not two tokens");
    }
    if (right.size() < prefix_.size()) fail("lacks the prefix '" + prefix_ + "'");
    const auto left_id = vocabulary_.Id(left);
    const auto right_id = vocabulary_.Id(right);
    const auto id = vocabulary_.Id(left + right.substr(prefix_.size()));
    if (!left_id || !right_id || !id) {
      fail("needs a token that is not in the vocabulary");
    } else {
      merges_.Insert(*left_id, *right_id, {rank++, *id});
    }
  }
}

TokenId BpeModel::UnknownId() const {
  const auto id = vocabulary_.Id(*unk_token_);
  if (!id) throw Error(ErrorCode::kCorrupt, "the unk_token '" + *unk_token_ + "' is not in the vocabulary");
  return *id;
}

void BpeModel::AppendSymbols(std::string_view piece, std::vector<PieceToken>* symbols) const {
  if (reads_bytes_) {
    for (const char b : piece) symbols->push_back({id_of_byte_[static_cast<unsigned char>(b)], 1});
    return;
  }
  std::optional<PieceToken> unknown;  // not yet appended, for fuse_unk
  const auto append_unknown = [&] {
    if (unknown) symbols->push_back(*unknown);
    unknown.reset();
  };
  std::string symbol;
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t begin = at;
    const char32_t c = unicode::Next(piece, &at);
    const auto size = static_cast<std::uint32_t>(at - begin);
    if (c < id_of_char_.size() && id_of_char_[c] >= 0) {
      append_unknown();
      symbols->push_back({id_of_char_[c], size});
      continue;
    }
    symbol.clear();
    if (begin > 0) symbol += prefix_;
    symbol += piece.substr(begin, size);
    if (at == piece.size()) symbol += suffix_;
    if (const auto id = vocabulary_.Id(symbol)) {
      append_unknown();
      symbols->push_back({*id, size});
      continue;
    }
    if (byte_fallback_) {
      // All bytes or none. An unknown symbol before them comes after them, as in the reference.
      const std::size_t before = symbols->size();
      for (const char b : symbol) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned char>(b));
        const auto id = vocabulary_.Id(name);
        if (!id) break;
        symbols->push_back({*id, 1});
      }
      if (symbols->size() - before == symbol.size()) continue;
      symbols->resize(before);
    }
    if (!unk_token_) continue;
    if (unknown && fuse_unk_) {
      unknown = PieceToken{unknown->id, unknown->size + size};
    } else {
      append_unknown();
      unknown = PieceToken{UnknownId(), size};
    }
  }
  append_unknown();
}

void BpeModel::Tokenize(std::string_view piece, std::vector<PieceToken>* tokens) const {
  if (ignore_merges_) {
    if (const TokenId found = whole_.Find(piece); found >= 0) {
      tokens->push_back({found, static_cast<std::uint32_t>(piece.size())});
      return;
    }
  }
  const std::size_t first = tokens->size();
  AppendSymbols(piece, tokens);
  if (tokens->size() - first <= kShort) {
    MergeShort(first, tokens);
  } else {
    MergeLong(first, tokens);
  }
}

void BpeModel::MergeShort(std::size_t first, std::vector<PieceToken>* tokens) const {
  PieceToken* const symbols = tokens->data() + first;
  std::size_t count = tokens->size() - first;
  std::array<Merge, kShort> merges;  // merges[i]: of symbols i and i + 1
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = merges_.Find(symbols[i].id, symbols[i + 1].id);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoRank) break;
    symbols[best] = {merges[best].id, symbols[best].size + symbols[best + 1].size};
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      symbols[i] = symbols[i + 1];
      merges[i - 1] = merges[i];
    }
    --count;
    if (best > 0) merges[best - 1] = merges_.Find(symbols[best - 1].id, symbols[best].id);
    if (best + 1 < count) merges[best] = merges_.Find(symbols[best].id, symbols[best + 1].id);
  }
  tokens->resize(first + count);
}

void BpeModel::MergeLong(std::size_t first, std::vector<PieceToken>* tokens) const {
  // A linked list of symbols and a heap of the merges of neighbours, some of which are out of date.
  constexpr std::uint32_t kEnd = 0xFFFFFFFF;
  struct Links {
    std::uint32_t previous, next;
  };
  struct Candidate {
    Merge merge;
    std::uint32_t at;
    TokenId left, right;
    bool operator<(const Candidate& other) const {
      return merge.rank != other.merge.rank ? merge.rank > other.merge.rank : at > other.at;
    }
  };
  PieceToken* const symbols = tokens->data() + first;
  const auto count = static_cast<std::uint32_t>(tokens->size() - first);
  std::vector<Links> links(count);
  for (std::uint32_t i = 0; i < count; ++i) links[i] = {i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1};
  std::priority_queue<Candidate> queue;
  const auto consider = [&](std::uint32_t at) {
    if (at == kEnd || links[at].next == kEnd) return;
    const TokenId left = symbols[at].id;
    const TokenId right = symbols[links[at].next].id;
    const Merge merge = merges_.Find(left, right);
    if (merge.rank != kNoRank) queue.push({merge, at, left, right});
  };
  for (std::uint32_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const std::uint32_t next = links[top.at].next;
    if (symbols[top.at].size == 0 || symbols[top.at].id != top.left || next == kEnd || symbols[next].id != top.right) {
      continue;
    }
    symbols[top.at] = {top.merge.id, symbols[top.at].size + symbols[next].size};
    symbols[next].size = 0;  // gone
    links[top.at].next = links[next].next;
    if (links[next].next != kEnd) links[links[next].next].previous = top.at;
    consider(links[top.at].previous);
    consider(top.at);
  }
  std::erase_if(*tokens, [](const PieceToken& token) { return token.size == 0; });
}

}  // namespace mconnect
