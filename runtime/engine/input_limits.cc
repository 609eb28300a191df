#include "runtime/engine/input_limits.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "runtime/base/json.h"

namespace mconnect {
namespace {

class Reader {
 public:
  explicit Reader(const JsonView& graph) {
    for (const JsonView& input : graph["inputs"].Items()) inputs_.emplace(input["id"].String(), input);
    for (const JsonView& weight : graph["weights"].Items()) weights_.emplace(weight["id"].String(), weight);
    for (const JsonView& node : graph["nodes"].Items()) Visit(node);
  }

  InputLimits Take() { return std::move(limits_); }

 private:
  void Visit(const JsonView& node) {
    const std::string& op = node["op"].String();
    if (op == "positions") {
      const std::vector<JsonView> outputs = node["outputs"].Items(1);
      if (outputs.empty()) node.Fail("it has no output");
      counted_.emplace(outputs[0]["id"].String(), Operand(node, 0));
    } else if (op == "embedding") {
      Index(Operand(node, 0), Rows(Operand(node, 1)));
    } else if (op == "rope") {
      Index(Operand(node, 1), Rows(Operand(node, 2)));
    } else if (op == "trailing") {
      Index(Operand(node, 1), std::numeric_limits<std::int64_t>::max());
    } else if (op == "cached_attention") {
      if (const auto input = inputs_.find(Operand(node, 4)); input != inputs_.end()) {
        limits_.cache_rows.insert(input->second["name"].String());
      }
    }
  }

  static std::string Operand(const JsonView& node, std::size_t index) {
    const std::vector<JsonView> operands = node["inputs"].Items();
    if (index >= operands.size()) node.Fail("it has too few inputs");
    return operands[index].String();
  }

  // Rows of a table; nothing where another node computes it.
  std::optional<std::int64_t> Rows(const std::string& id) const {
    const auto weight = weights_.find(id);
    if (weight == weights_.end()) return std::nullopt;
    const std::vector<JsonView> shape = weight->second["shape"].Items();
    if (shape.empty()) weight->second.Fail("a table has rows, this is a scalar");
    return shape[0].Int(1);
  }

  // Notes that the value `id` indexes `rows` rows.
  void Index(const std::string& id, std::optional<std::int64_t> rows) {
    if (!rows) return;
    if (const auto input = inputs_.find(id); input != inputs_.end()) {
      Lower(limits_.values, input->second["name"].String(), *rows - 1);
    } else if (const auto counted = counted_.find(id); counted != counted_.end()) {
      const auto over = inputs_.find(counted->second);
      if (over == inputs_.end()) return;
      const std::vector<JsonView> shape = over->second["shape"].Items();
      if (shape.size() > 1 && shape[1].json().is_string()) Lower(limits_.symbols, shape[1].String(), *rows);
    }
  }

  static void Lower(std::map<std::string, std::int64_t>& limits, const std::string& name, std::int64_t limit) {
    const auto [found, fresh] = limits.emplace(name, limit);
    if (!fresh) found->second = std::min(found->second, limit);
  }

  std::map<std::string, JsonView> inputs_, weights_;  // by id
  std::map<std::string, std::string> counted_;        // output of `positions` → what it counts along
  InputLimits limits_;
};

}  // namespace

InputLimits ReadInputLimits(std::string_view graph, std::string_view source) {
  const Json json = ParseJson(graph, source);
  return Reader(JsonView(json, std::string(source))).Take();
}

}  // namespace mconnect
