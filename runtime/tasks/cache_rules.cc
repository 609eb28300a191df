#include "runtime/tasks/cache_rules.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/base/json.h"

namespace mconnect {

CacheRules ReadCacheRules(std::string_view graph, std::string_view source) {
  const Json json = ParseJson(graph, source);
  const JsonView view(json, std::string(source));
  std::map<std::string, JsonView> weights;
  for (const JsonView& weight : view["weights"].Items()) weights.emplace(weight["id"].String(), weight);
  CacheRules rules;
  for (const JsonView& node : view["nodes"].Items()) {
    const std::string& op = node["op"].String();
    if (op == "cached_attention") {
      rules.windows = rules.windows || node["attrs"].Find("window").has_value();
    } else if (op == "rope") {
      // x, positions, cos and sin, then cos and sin of short texts.
      const std::vector<JsonView> inputs = node["inputs"].Items();
      if (inputs.size() < 5) continue;
      const auto table = weights.find(inputs[4].String());
      if (table == weights.end()) node.Fail("its table of short texts is no weight");
      const std::vector<JsonView> shape = table->second["shape"].Items();
      if (shape.empty()) table->second.Fail("a table has rows, this is a scalar");
      const std::int64_t rows = shape[0].Int(1);
      rules.short_context = std::min(rules.short_context.value_or(rows), rows);
    }
  }
  return rules;
}

}  // namespace mconnect
