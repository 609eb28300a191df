#include "runtime/text/constraint/schema_disjoint.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace mconnect {

bool Disjoint(const Schema& a, const Schema& b, const std::string& place) {
  if (!a.is_object() || !b.is_object()) return false;
  const auto constants = [](const Schema& s) -> std::optional<Schema> {
    if (!s.is_object()) return std::nullopt;
    if (s.contains("const")) return Schema::array({s["const"]});
    if (s.contains("enum") && s["enum"].is_array()) return s["enum"];
    return std::nullopt;
  };
  const auto apart = [](const Schema& x, const Schema& y) {
    return std::ranges::none_of(x, [&](const Schema& v) { return std::ranges::find(y, v) != y.end(); });
  };
  const auto ca = constants(a), cb = constants(b);
  if (ca && cb) return apart(*ca, *cb);
  if (ca || cb) {
    const Schema& typed = ca ? b : a;
    if (!typed.contains("type")) return false;
    const std::vector<std::string> types = SchemaTypes(typed, place);
    return std::ranges::none_of(ca ? *ca : *cb, [&](const Schema& v) { return HasType(v, types); });
  }
  if (!a.contains("type") || !b.contains("type")) return false;
  const std::vector<std::string> ta = SchemaTypes(a, place), tb = SchemaTypes(b, place);
  const bool share = std::ranges::any_of(ta, [&](const std::string& x) {
    return std::ranges::any_of(tb, [&](const std::string& y) {
      return x == y || (x == "number" && y == "integer") || (x == "integer" && y == "number");
    });
  });
  if (!share) return true;
  if (ta != std::vector<std::string>{"object"} || tb != ta) return false;
  const auto required = [](const Schema& s, const std::string& key) {
    return s.contains("required") && std::ranges::find(s["required"], Schema(key)) != s["required"].end();
  };
  if (!a.contains("properties") || !b.contains("properties")) return false;
  for (const auto& [key, value] : a["properties"].items()) {
    if (!b["properties"].contains(key) || !required(a, key) || !required(b, key)) continue;
    const auto va = constants(value), vb = constants(b["properties"][key]);
    if (va && vb && apart(*va, *vb)) return true;
  }
  return false;
}

}  // namespace mconnect
