// What the tests of this folder share.
#ifndef MCONNECT_TEXT_TESTING_H_
#define MCONNECT_TEXT_TESTING_H_

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

inline std::ostream& operator<<(std::ostream& out, const Span& span) {
  return out << "[" << span.begin << "," << span.end << ")";
}

namespace testing_text {

// The error that `f` throws, as "code name: message".
template <typename F>
std::string ErrorOf(F f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(ErrorCodeName(error.code())) + ": " + error.message();
  }
  return "no error";
}

inline std::string Normalized(std::string_view normalizer, std::string_view text) {
  const Json json = ParseJson(normalizer, "normalizer");
  TextScratch scratch;
  return std::string(Normalizer::FromJson(JsonView(json, "normalizer"))->Normalize(AlignedText(text), &scratch).text());
}

using Pieces = std::vector<std::pair<std::string, Span>>;

// The pieces and where they come from, in bytes.
inline Pieces PreTokenized(std::string_view pre_tokenizer, std::string_view text) {
  const Json json = ParseJson(pre_tokenizer, "pre_tokenizer");
  TextScratch scratch;
  bool bytes_stay = false;
  std::vector<Piece> pieces = {{AlignedText(text), Piece::kText}};
  PreTokenizer::FromJson(JsonView(json, "pre_tokenizer"), &bytes_stay)->Split(&pieces, &scratch);
  Pieces result;
  for (const Piece& piece : pieces) {
    result.emplace_back(piece.text.text(), piece.text.Original(0, piece.text.text().size()));
  }
  return result;
}

}  // namespace testing_text
}  // namespace mconnect

#endif  // MCONNECT_TEXT_TESTING_H_
