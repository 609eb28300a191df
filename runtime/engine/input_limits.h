// What a module's graph demands of its inputs beyond dtype and shape.
#ifndef MCONNECT_ENGINE_INPUT_LIMITS_H_
#define MCONNECT_ENGINE_INPUT_LIMITS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace mconnect {

// Engines do not check these: a token id beyond the vocabulary would read zeros or another token's row.
struct InputLimits {
  std::map<std::string, std::int64_t> values;   // input → its greatest value; the least is 0
  std::map<std::string, std::int64_t> symbols;  // dimension ("tokens") → its greatest value
  std::set<std::string> cache_rows;             // inputs whose values are rows of the cache
};

// Reads them off a graph.json (docs/graph.md): an input that indexes a table ends with the table, and so do the
// positions that are counted along a dimension. `source` names the text in messages. Throws Error(kCorrupt).
InputLimits ReadInputLimits(std::string_view graph, std::string_view source);

}  // namespace mconnect

#endif  // MCONNECT_ENGINE_INPUT_LIMITS_H_
