#include "runtime/text/template/tree.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "mconnect/error.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

using Op = Expression::Op;
using Do = Statement::Do;

constexpr std::int64_t kMaxSlots = 1 << 16;

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

constexpr auto kUnaryOps =
    std::to_array<Named<Op>>({{"neg", Op::kNegative}, {"not", Op::kNot}, {"pos", Op::kPositive}});

constexpr auto kBinaryOps = std::to_array<Named<Op>>({{"add", Op::kBinary},
                                                      {"and", Op::kAnd},
                                                      {"div", Op::kBinary},
                                                      {"floordiv", Op::kBinary},
                                                      {"mod", Op::kBinary},
                                                      {"mul", Op::kBinary},
                                                      {"or", Op::kOr},
                                                      {"pow", Op::kBinary},
                                                      {"sub", Op::kBinary}});

constexpr auto kComparisons = std::to_array<Named<Expression::Comparison>>({
    {"eq", Expression::Comparison::kEqual},
    {"gt", Expression::Comparison::kGreater},
    {"gteq", Expression::Comparison::kGreaterOrEqual},
    {"in", Expression::Comparison::kIn},
    {"lt", Expression::Comparison::kLess},
    {"lteq", Expression::Comparison::kLessOrEqual},
    {"ne", Expression::Comparison::kNotEqual},
    {"notin", Expression::Comparison::kNotIn},
});

template <typename Table>
auto Find(const Table& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, &Table::value_type::name);
  return found == table.end() ? std::nullopt : std::optional(found->value);
}

class Reader {
 public:
  Macro ReadFunction(const JsonView& json, bool is_macro) {
    if (is_macro) {
      json.Closed({"body", "caller", "kwargs", "loads", "name", "parameters", "slots", "varargs"});
    } else {
      json.Closed({"body", "loads", "slots"});
    }
    Macro macro;
    macro.slots = Count(json["slots"]);
    functions_.push_back({macro.slots, false, 0, 0});
    macro.loads = Loads(json["loads"]);
    if (is_macro) {
      if (!json["name"].IsNull()) macro.name = json["name"].String();
      for (const JsonView& each : json["parameters"].Items()) {
        each.Closed({"default", "name", "slot"});
        Macro::Parameter& parameter = macro.parameters.emplace_back();
        parameter.name = each["name"].String();
        parameter.slot = Slot(each["slot"]);
        if (const auto absent = each.Find("default")) parameter.absent = Expr(*absent);
      }
      macro.caller = OptionalSlot(json, "caller");
      macro.kwargs = OptionalSlot(json, "kwargs");
      macro.varargs = OptionalSlot(json, "varargs");
    }
    macro.body = Body(json["body"]);
    macro.defines = functions_.back().defines;
    functions_.pop_back();
    return macro;
  }

 private:
  struct Function {
    std::size_t slots;
    bool defines;
    int loops;     // around the statement that is read
    int captures;  // expressions in which "captured" has a meaning
  };

  static std::size_t Count(const JsonView& json) { return static_cast<std::size_t>(json.Int(0, kMaxSlots)); }

  static std::size_t SlotOf(const JsonView& json, std::size_t slots) {
    const std::size_t slot = Count(json);
    if (slot >= slots) {
      json.Fail("the slot " + std::to_string(slot) + " is not among the function's " + std::to_string(slots));
    }
    return slot;
  }

  std::size_t Slot(const JsonView& json) const { return SlotOf(json, functions_.back().slots); }

  std::optional<std::size_t> OptionalSlot(const JsonView& json, std::string_view key) const {
    const auto found = json.Find(key);
    return found ? std::optional(Slot(*found)) : std::nullopt;
  }

  Place ReadPlace(const JsonView& json) const {
    Place place;
    if (const auto up = json.Find("up")) {
      place.up = static_cast<std::size_t>(up->Int(1, static_cast<std::int64_t>(functions_.size()) - 1));
    }
    place.slot = SlotOf(json["slot"], functions_[functions_.size() - 1 - place.up].slots);
    return place;
  }

  std::vector<Load> Loads(const JsonView& json) const {
    std::vector<Load> loads;
    for (const JsonView& each : json.Items()) {
      each.Closed({"context", "copy", "parameter", "slot"});
      Load& load = loads.emplace_back();
      load.slot = Slot(each["slot"]);
      if (const auto name = each.Find("context")) {
        load.from = Load::From::kContext;
        load.name = name->String();
      } else if (const auto place = each.Find("copy")) {
        place->Closed({"slot", "up"});
        load.from = Load::From::kCopy;
        load.place = ReadPlace(*place);
      } else if (const auto parameter = each.Find("parameter")) {
        if (!parameter->Bool()) parameter->Fail("must be true");
        load.from = Load::From::kParameter;
      }
    }
    return loads;
  }

  Target ReadTarget(const JsonView& json) const {
    json.Closed({"attribute", "items", "namespace", "slot"});
    Target target;
    if (const auto space = json.Find("namespace")) {
      space->Closed({"slot", "up"});
      target.space = ReadPlace(*space);
      target.attribute = json["attribute"].String();
    } else if (const auto items = json.Find("items")) {
      for (const JsonView& item : items->Items()) target.items.push_back(ReadTarget(item));
    } else {
      target.slot = Slot(json["slot"]);
    }
    return target;
  }

  std::vector<Statement> Body(const JsonView& json) {
    std::vector<Statement> body;
    for (const JsonView& each : json.Items()) body.push_back(ReadStatement(each));
    return body;
  }

  std::shared_ptr<const Macro> ReadMacro(const JsonView& json) {
    functions_.back().defines = true;
    return std::make_shared<const Macro>(ReadFunction(json, true));
  }

  Expression CapturingExpression(const JsonView& json) {
    ++functions_.back().captures;
    Expression expression = Expr(json);
    --functions_.back().captures;
    return expression;
  }

  Statement ReadStatement(const JsonView& json) {
    Statement statement;
    statement.line = static_cast<int>(json["line"].Int(0, std::numeric_limits<int>::max()));
    const std::string& what = json["do"].String();
    if (what == "output") {
      json.Closed({"do", "items", "line"});
      statement.what = Do::kOutput;
      statement.expressions = Expressions(json["items"]);
    } else if (what == "if") {
      json.Closed({"branches", "do", "else", "line"});
      statement.what = Do::kIf;
      for (const JsonView& branch : json["branches"].Items()) {
        branch.Closed({"body", "test"});
        statement.branches.push_back({Expr(branch["test"]), Body(branch["body"])});
      }
      statement.otherwise = Body(json["else"]);
    } else if (what == "for") {
      ReadFor(json, &statement);
    } else if (what == "set") {
      json.Closed({"do", "line", "target", "value"});
      statement.what = Do::kSet;
      statement.targets.push_back(ReadTarget(json["target"]));
      statement.expressions.push_back(Expr(json["value"]));
    } else if (what == "set_block" || what == "filter") {
      const bool sets = what == "set_block";
      statement.what = sets ? Do::kSetBlock : Do::kFilter;
      if (sets) {
        json.Closed({"body", "do", "filter", "line", "loads", "target"});
        statement.targets.push_back(ReadTarget(json["target"]));
      } else {
        json.Closed({"body", "do", "filter", "line", "loads"});
      }
      statement.loads = Loads(json["loads"]);
      statement.body = Body(json["body"]);
      const auto filter = sets ? json.Find("filter") : std::optional(json["filter"]);
      if (filter) statement.expressions.push_back(CapturingExpression(*filter));
    } else if (what == "with") {
      json.Closed({"bindings", "body", "do", "line", "loads"});
      statement.what = Do::kWith;
      statement.loads = Loads(json["loads"]);
      for (const JsonView& binding : json["bindings"].Items()) {
        binding.Closed({"target", "value"});
        statement.targets.push_back(ReadTarget(binding["target"]));
        statement.expressions.push_back(Expr(binding["value"]));
      }
      statement.body = Body(json["body"]);
    } else if (what == "macro") {
      json.Closed({"do", "line", "macro", "target"});
      statement.what = Do::kMacro;
      Target& target = statement.targets.emplace_back();
      target.slot = Slot(json["target"]);
      statement.macro = ReadMacro(json["macro"]);
    } else if (what == "call") {
      json.Closed({"call", "do", "line", "macro"});
      statement.what = Do::kCall;
      statement.macro = ReadMacro(json["macro"]);
      statement.expressions.push_back(Expr(json["call"]));
      if (statement.expressions[0].op != Op::kCall) json["call"].Fail("is no call");
    } else if (what == "generation") {
      json.Closed({"do", "line", "macro"});
      statement.what = Do::kGeneration;
      statement.macro = ReadMacro(json["macro"]);
    } else if (what == "break" || what == "continue") {
      json.Closed({"do", "line"});
      if (functions_.back().loops == 0) json.Fail("'" + what + "' outside of a loop");
      statement.what = what == "break" ? Do::kBreak : Do::kContinue;
    } else {
      json["do"].Fail("unknown statement '" + what + "'");
    }
    return statement;
  }

  void ReadFor(const JsonView& json, Statement* statement) {
    json.Closed({"body", "do", "else", "else_loads", "filter", "items", "line", "loads", "loop", "target"});
    statement->what = Do::kFor;
    statement->expressions.push_back(Expr(json["items"]));
    statement->targets.push_back(ReadTarget(json["target"]));
    statement->loop = OptionalSlot(json, "loop");
    if (const auto filter = json.Find("filter")) {
      filter->Closed({"loads", "slots", "target", "test"});
      LoopFilter read;
      read.slots = Count((*filter)["slots"]);
      functions_.push_back({read.slots, false, 0, 0});
      read.loads = Loads((*filter)["loads"]);
      read.target = ReadTarget((*filter)["target"]);
      read.test = Expr((*filter)["test"]);
      functions_.pop_back();
      statement->filter = std::make_shared<const LoopFilter>(std::move(read));
    }
    statement->loads = Loads(json["loads"]);
    ++functions_.back().loops;
    statement->body = Body(json["body"]);
    --functions_.back().loops;
    statement->else_loads = Loads(json["else_loads"]);
    statement->otherwise = Body(json["else"]);
  }

  std::vector<Expression> Expressions(const JsonView& json) {
    std::vector<Expression> expressions;
    for (const JsonView& each : json.Items()) expressions.push_back(Expr(each));
    return expressions;
  }

  Expression Expr(const JsonView& json) {
    const std::string& op = json["op"].String();
    Expression expression;
    const auto child = [&](std::string_view key) { expression.children.push_back(Expr(json[key])); };
    if (const auto unary = Find(kUnaryOps, op)) {
      json.Closed({"op", "value"});
      expression.op = *unary;
      child("value");
    } else if (const auto binary = Find(kBinaryOps, op)) {
      json.Closed({"left", "op", "right"});
      expression.op = *binary;
      expression.name = op;
      child("left");
      child("right");
    } else if (op == "const") {
      json.Closed({"op", "value"});
      expression.constant = Constant(json["value"]);
    } else if (op == "name") {
      json.Closed({"name", "op", "slot", "up"});
      expression.op = Op::kName;
      expression.name = json["name"].String();
      expression.place = ReadPlace(json);
    } else if (op == "list" || op == "tuple" || op == "concat") {
      json.Closed({"items", "op"});
      expression.op = op == "list" ? Op::kList : op == "tuple" ? Op::kTuple : Op::kConcat;
      expression.children = Expressions(json["items"]);
    } else if (op == "dict") {
      json.Closed({"items", "op"});
      expression.op = Op::kDict;
      for (const JsonView& pair : json["items"].Items()) {
        const auto parts = pair.Items();
        if (parts.size() != 2) pair.Fail("is no pair of a key and a value");
        for (const JsonView& part : parts) expression.children.push_back(Expr(part));
      }
    } else if (op == "if") {
      json.Closed({"else", "op", "test", "then"});
      expression.op = Op::kIf;
      child("test");
      child("then");
      if (json.Find("else")) child("else");
    } else if (op == "compare") {
      json.Closed({"op", "rest", "value"});
      expression.op = Op::kCompare;
      child("value");
      for (const JsonView& each : json["rest"].Items()) {
        each.Closed({"by", "value"});
        const auto by = Find(kComparisons, each["by"].String());
        if (!by) each["by"].Fail("unknown comparison '" + each["by"].String() + "'");
        expression.comparisons.push_back(*by);
        expression.children.push_back(Expr(each["value"]));
      }
    } else if (op == "attribute") {
      json.Closed({"name", "op", "value"});
      expression.op = Op::kAttribute;
      expression.name = json["name"].String();
      child("value");
    } else if (op == "item") {
      json.Closed({"key", "op", "value"});
      expression.op = Op::kItem;
      child("value");
      child("key");
    } else if (op == "slice") {
      json.Closed({"op", "start", "step", "stop", "value"});
      expression.op = Op::kSlice;
      child("value");
      for (const std::string_view part : {"start", "stop", "step"}) {
        if (json.Find(part)) {
          child(part);
        } else {
          expression.children.emplace_back().constant = None{};
        }
      }
    } else if (op == "captured") {
      json.Closed({"op"});
      if (functions_.back().captures == 0) json.Fail("'captured' outside of a filter block");
      expression.op = Op::kCaptured;
    } else if (op == "call" || op == "filter" || op == "test") {
      ReadCall(json, op, &expression);
    } else {
      json["op"].Fail("unknown expression '" + op + "'");
    }
    return expression;
  }

  void ReadCall(const JsonView& json, const std::string& op, Expression* expression) {
    expression->op = op == "call" ? Op::kCall : op == "filter" ? Op::kFilter : Op::kTest;
    if (op == "call") {
      json.Closed({"more_named", "more_positional", "named", "op", "positional", "value"});
    } else {
      json.Closed({"more_named", "more_positional", "name", "named", "op", "positional", "value"});
      const std::string& name = expression->name = json["name"].String();
      if (op == "test" ? !FindTest(name) : !FindFilter(name) && !FindSequenceFilter(name)) {
        throw Error(ErrorCode::kUnsupported, json.place() + ": the " + op + " '" + name + "' is not supported",
                    "build the bundle with this version of Model Connect");
      }
    }
    expression->children.push_back(Expr(json["value"]));
    ArgumentList arguments;
    if (const auto positional = json.Find("positional")) arguments.positional = Expressions(*positional);
    if (const auto named = json.Find("named")) {
      for (const JsonView& each : named->Items()) {
        each.Closed({"name", "value"});
        arguments.named.emplace_back(each["name"].String(), Expr(each["value"]));
      }
    }
    if (const auto more = json.Find("more_positional")) arguments.more_positional = Expr(*more);
    if (const auto more = json.Find("more_named")) arguments.more_named = Expr(*more);
    expression->arguments = std::make_shared<const ArgumentList>(std::move(arguments));
  }

  static Value Constant(const JsonView& json) {
    if (json.IsNull()) return None{};
    if (json.json().is_boolean()) return Value(json.Bool());
    if (json.json().is_string()) return Value(json.String());
    if (json.json().is_number_float()) return Value(json.Double());
    return Value(json.Int());
  }

  std::vector<Function> functions_;
};

}  // namespace

Macro ReadTree(const JsonView& json) { return Reader().ReadFunction(json, false); }

}  // namespace mconnect::jinja
