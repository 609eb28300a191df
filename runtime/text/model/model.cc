#include "runtime/text/model/model.h"

#include <algorithm>
#include <string>

#include "mconnect/error.h"
#include "runtime/text/byte_level.h"
#include "runtime/text/model/bpe.h"
#include "runtime/text/model/unigram.h"
#include "runtime/text/model/wordlevel.h"
#include "runtime/text/model/wordpiece.h"
#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Files of early versions have no type: of the models, only BPE has merges.
std::string TypeOf(const JsonView& json) {
  if (const auto type = json.Find("type")) return type->String();
  return json.Find("merges") ? "BPE" : "(none)";
}

bool IsEmpty(const JsonView& json, std::string_view key) {
  const auto value = json.Find(key);
  return !value || value->IsNull() || value->String().empty();
}

}  // namespace

bool TokenModel::CanReadBytes(const JsonView& json) {
  if (TypeOf(json) != "BPE" || !IsEmpty(json, "continuing_subword_prefix") || !IsEmpty(json, "end_of_word_suffix")) {
    return false;
  }
  return std::ranges::all_of(byte_level::kCharOfByte, [vocab = json["vocab"]](char32_t c) {
    std::string token;
    unicode::AppendUtf8(c, &token);
    return vocab.Find(token).has_value();
  });
}

std::unique_ptr<const TokenModel> TokenModel::FromJson(const JsonView& json, bool reads_bytes) {
  const std::string type = TypeOf(json);
  if (type == "BPE") return std::make_unique<BpeModel>(json, reads_bytes);
  if (type == "Unigram") return std::make_unique<UnigramModel>(json);
  if (type == "WordLevel") return std::make_unique<WordLevelModel>(json);
  if (type == "WordPiece") return std::make_unique<WordPieceModel>(json);
  throw Error(ErrorCode::kUnsupported, json.place() + ": the model '" + type + "' is not supported");
}

}  // namespace mconnect
