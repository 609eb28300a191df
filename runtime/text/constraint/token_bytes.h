// What each token of a vocabulary adds to a text.
#ifndef MCONNECT_TEXT_CONSTRAINT_TOKEN_BYTES_H_
#define MCONNECT_TEXT_CONSTRAINT_TOKEN_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace mconnect {

struct TokenBytes {
  std::vector<std::string> bytes;  // by id; empty: no such token, a special one, or one without text
  bool skips_space = false;        // a space at the beginning of the whole text is left out of it
};

// `tokenizer_json` is what `tokenizer` was made from; `vocabulary` is the number of ids.
// Throws Error(kUnsupported) naming a decoder whose tokens have no text of their own (WordPiece, BPEDecoder).
TokenBytes ReadTokenBytes(const Tokenizer& tokenizer, std::string_view tokenizer_json, std::int64_t vocabulary);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_TOKEN_BYTES_H_
