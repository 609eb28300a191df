// What a decoder's graph says about going on from a cache.
#ifndef MCONNECT_TASKS_CACHE_RULES_H_
#define MCONNECT_TASKS_CACHE_RULES_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace mconnect {

struct CacheRules {
  // Some layer sees only so many columns back: columns that the mask hides would take room in its window.
  bool windows = false;

  // Keys of a text of more tokens than this are turned by other rotary factors than those of a shorter one (LongRoPE):
  // a cache of the one is of no use to the other.
  std::optional<std::int64_t> short_context = std::nullopt;
};

// Reads them off a graph.json (docs/graph.md). `source` names the text in messages. Throws Error(kCorrupt).
CacheRules ReadCacheRules(std::string_view graph, std::string_view source);

}  // namespace mconnect

#endif  // MCONNECT_TASKS_CACHE_RULES_H_
