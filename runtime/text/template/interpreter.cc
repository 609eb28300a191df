#include "runtime/text/template/interpreter.h"

#include <algorithm>
#include <utility>

#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"

namespace mconnect::jinja {
namespace {

using Op = Expression::Op;
using Do = Statement::Do;

constexpr std::size_t kKeptSteps = 16;  // what something costs that lives as long as the rendering

}  // namespace

template <typename F>
auto Interpreter::Activate(const Macro& macro, Activation* definer, F f) {
  budget().Step(macro.slots);
  if (macro.defines) {
    budget().Step(kKeptSteps);
    return f(activations_.emplace_back(macro.slots, definer));
  }
  Activation frame(macro.slots, definer);
  return f(frame);
}

Text Interpreter::Run(const Macro& root) {
  Text text;
  out_ = &text;
  Activate(root, nullptr, [&](Activation& frame) {
    Enter(root.loads, frame);
    return Execute(root.body, frame);
  });
  return text;
}

Value& Interpreter::At(const Place& place, Activation& frame) {
  Activation* function = &frame;
  for (std::size_t up = place.up; up > 0; --up) function = function->definer;
  return function->slots[place.slot];
}

Value Interpreter::Resolve(std::string_view name) const {
  if (const Value* variable = variables_.Find(name)) return *variable;
  auto global = FindGlobal(name);
  return global ? *std::move(global) : Value(Missing{});
}

void Interpreter::Enter(const std::vector<Load>& loads, Activation& frame) {
  for (const Load& load : loads) {
    switch (load.from) {
      case Load::From::kNothing:
        frame.slots[load.slot] = Missing{};
        break;
      case Load::From::kContext:
        frame.slots[load.slot] = Resolve(load.name);
        break;
      case Load::From::kCopy:
        frame.slots[load.slot] = At(load.place, frame);
        break;
      case Load::From::kParameter:
        break;
    }
  }
}

void Interpreter::Leave(const std::vector<Load>& loads, Activation& frame) {
  for (const Load& load : loads) frame.slots[load.slot] = Missing{};
}

void Interpreter::CheckNamespaces(const Target& target, Activation& frame) {
  if (target.space && !At(*target.space, frame).AsNamespace())
    Fail("cannot assign an attribute of what is no namespace");
  for (const Target& item : target.items) CheckNamespaces(item, frame);
}

void Interpreter::Assign(const Target& target, const Value& value, Activation& frame) {
  if (target.slot) {
    frame.slots[*target.slot] = value;
  } else if (target.space) {
    if (target.attribute.starts_with('_')) {
      Fail("a namespace has no attribute with a leading underscore: '" + target.attribute + "'");
    }
    Namespace* space = At(*target.space, frame).AsNamespace();
    if (!space) Fail("cannot assign an attribute of what is no namespace");
    budget().Step();
    space->attributes.Set(Value(target.attribute), value);
  } else {
    const Values parts = Iterate(value, budget());
    if (parts.size() != target.items.size()) {
      Fail("cannot unpack " + std::to_string(parts.size()) + " values into " + std::to_string(target.items.size()));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) Assign(target.items[i], parts[i], frame);
  }
}

Interpreter::Flow Interpreter::Execute(const std::vector<Statement>& body, Activation& frame) {
  for (const Statement& statement : body) {
    const Flow flow = Execute(statement, frame);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Execute(const Statement& statement, Activation& frame) {
  const Budget::Level level(budget());
  budget().Step();
  line_ = statement.line;
  switch (statement.what) {
    case Do::kOutput:
      for (const Expression& expression : statement.expressions) {
        if (expression.op == Op::kConst) {
          Print(expression.constant, out_, budget());
        } else {
          Print(Evaluate(expression, frame), out_, budget());
        }
      }
      return Flow::kNext;
    case Do::kIf:
      for (const Statement::Branch& branch : statement.branches) {
        if (Truth(Evaluate(branch.test, frame))) return Execute(branch.body, frame);
      }
      return Execute(statement.otherwise, frame);
    case Do::kFor:
      return ExecuteFor(statement, frame);
    case Do::kSet:
      CheckNamespaces(statement.targets[0], frame);
      Assign(statement.targets[0], Evaluate(statement.expressions[0], frame), frame);
      return Flow::kNext;
    case Do::kSetBlock:
    case Do::kFilter:
    case Do::kWith:
      return ExecuteBlock(statement, frame);
    case Do::kMacro:
      frame.slots[*statement.targets[0].slot] = Define(*statement.macro, frame);
      return Flow::kNext;
    case Do::kCall: {
      const Expression& call = statement.expressions[0];
      const Value callee = Evaluate(call.children[0], frame);
      Arguments arguments = Evaluate(*call.arguments, frame);
      arguments.named.emplace_back("caller", Define(*statement.macro, frame));
      Print(Call(callee, arguments), out_, budget());
      return Flow::kNext;
    }
    case Do::kGeneration:
      Print(Call(Define(*statement.macro, frame), Arguments()), out_, budget());
      return Flow::kNext;
    case Do::kBreak:
      return Flow::kBreak;
    case Do::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::ExecuteFor(const Statement& statement, Activation& frame) {
  Values items = Iterate(Evaluate(statement.expressions[0], frame), budget());
  std::optional<Activation> filter_frame;
  std::function<bool(const Value&)> test;
  if (const LoopFilter* filter = statement.filter.get()) {
    budget().Step(filter->slots);
    filter_frame.emplace(filter->slots, &frame);
    Enter(filter->loads, *filter_frame);
    test = [&, filter](const Value& item) {
      Assign(filter->target, item, *filter_frame);
      return Truth(Evaluate(filter->test, *filter_frame));
    };
  }
  std::optional<Loop> local;
  if (statement.loop) budget().Step(kKeptSteps);
  Loop& loop = statement.loop ? loops_.emplace_back(std::move(items), std::move(test))
                              : local.emplace(std::move(items), std::move(test));
  bool completed = false;  // an iteration that neither broke nor continued: Jinja's else looks at nothing else
  while (loop.Next()) {
    budget().Step();
    Assign(statement.targets[0], loop.item(), frame);
    if (statement.loop) frame.slots[*statement.loop] = Value(&loop);
    Enter(statement.loads, frame);
    const Flow flow = Execute(statement.body, frame);
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNext;
  }
  loop.Finish();
  Leave(statement.loads, frame);
  if (completed || statement.otherwise.empty()) return Flow::kNext;
  Enter(statement.else_loads, frame);
  const Flow flow = Execute(statement.otherwise, frame);
  Leave(statement.else_loads, frame);
  return flow;
}

Interpreter::Flow Interpreter::Capture(const std::vector<Statement>& body, Activation& frame, Text* captured) {
  Text* out = std::exchange(out_, captured);
  const Flow flow = Execute(body, frame);
  out_ = out;
  return flow;
}

Interpreter::Flow Interpreter::ExecuteBlock(const Statement& statement, Activation& frame) {
  Enter(statement.loads, frame);
  if (statement.what == Do::kWith) {
    for (std::size_t i = 0; i < statement.targets.size(); ++i) {
      Assign(statement.targets[i], Evaluate(statement.expressions[i], frame), frame);
    }
    const Flow flow = Execute(statement.body, frame);
    if (flow == Flow::kNext) Leave(statement.loads, frame);
    return flow;
  }
  Text text;
  const Flow flow = Capture(statement.body, frame, &text);
  if (flow != Flow::kNext) return flow;
  Value value(std::move(text));
  line_ = statement.line;
  if (!statement.expressions.empty()) {
    Value outer = std::exchange(captured_, std::move(value));
    value = Evaluate(statement.expressions[0], frame);
    captured_ = std::move(outer);
  }
  if (statement.what == Do::kFilter) {
    Print(value, out_, budget());
  } else {
    CheckNamespaces(statement.targets[0], frame);
    Assign(statement.targets[0], value, frame);
  }
  Leave(statement.loads, frame);
  return Flow::kNext;
}

Value Interpreter::Define(const Macro& macro, Activation& frame) {
  Function function;
  function.name = macro.name;
  function.macro = &macro;
  function.definer = &frame;
  return Value(std::move(function));
}

// Jinja's Macro.__call__.
Value Interpreter::CallMacro(const Function& function, const Arguments& arguments) {
  const Budget::Level level(budget());
  const Macro& macro = *function.macro;
  const auto fail = [&](const std::string& what) { Fail("macro '" + macro.name + "' " + what); };
  Dict named;
  for (const auto& [name, value] : arguments.named) {
    if (named.Find(name)) fail("has two values for the argument '" + name + "'");
    named.Set(Value(name), value);
  }
  return Activate(macro, function.definer, [&](Activation& frame) {
    const std::size_t positional = std::min(arguments.positional.size(), macro.parameters.size());
    for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
      const Macro::Parameter& parameter = macro.parameters[i];
      if (i < positional) {
        frame.slots[parameter.slot] = arguments.positional[i];
      } else if (const Value* value = named.Find(parameter.name)) {
        frame.slots[parameter.slot] = *value;
        named.Erase(parameter.name);
      }
    }
    if (macro.caller) {
      const Value* caller = named.Find("caller");
      frame.slots[*macro.caller] = caller && !caller->none() ? *caller : Value(Undefined{"caller"});
      named.Erase("caller");
    }
    if (!macro.kwargs && named.size() > 0) {
      fail("takes no argument '" + named.entries()[0].first.AsText()->bytes() + "'");
    }
    if (macro.kwargs) frame.slots[*macro.kwargs] = Value(std::move(named));
    if (macro.varargs) {
      frame.slots[*macro.varargs] = MakeTuple(
          {arguments.positional.begin() + static_cast<std::ptrdiff_t>(positional), arguments.positional.end()});
    } else if (arguments.positional.size() > positional) {
      fail("takes at most " + std::to_string(positional) + " arguments");
    }
    Enter(macro.loads, frame);
    for (const Macro::Parameter& parameter : macro.parameters) {
      if (!frame.slots[parameter.slot].missing()) continue;
      frame.slots[parameter.slot] =
          parameter.absent ? Evaluate(*parameter.absent, frame) : Value(Undefined{parameter.name});
    }
    const int line = line_;
    Text text;
    Capture(macro.body, frame, &text);
    line_ = line;
    return Value(std::move(text));
  });
}

Arguments Interpreter::Evaluate(const ArgumentList& list, Activation& frame) {
  Arguments arguments;
  arguments.positional.reserve(list.positional.size());
  for (const Expression& each : list.positional) arguments.positional.push_back(Evaluate(each, frame));
  for (const auto& [name, value] : list.named) arguments.named.emplace_back(name, Evaluate(value, frame));
  if (list.more_positional) {
    Values more = Iterate(Evaluate(*list.more_positional, frame), budget());
    std::ranges::move(more, std::back_inserter(arguments.positional));
  }
  if (list.more_named) {
    const Value more = Evaluate(*list.more_named, frame);
    const Dict* dict = more.AsDict();
    if (!dict) Fail("the argument after ** must be a mapping, not '" + std::string(more.type_name()) + "'");
    budget().Step(dict->size());
    for (const auto& [key, value] : dict->entries()) {
      const std::string& name = ExpectText(key, "each key after **").bytes();
      if (std::ranges::find(arguments.named, name, &std::pair<std::string, Value>::first) != arguments.named.end()) {
        Fail("two values for the argument '" + name + "'");
      }
      arguments.named.emplace_back(name, value);
    }
  }
  return arguments;
}

bool Interpreter::Compare(const Expression& expression, Activation& frame) {
  using Comparison = Expression::Comparison;
  Value left = Evaluate(expression.children[0], frame);
  for (std::size_t i = 0; i < expression.comparisons.size(); ++i) {
    Value right = Evaluate(expression.children[i + 1], frame);
    const bool holds = [&] {
      switch (expression.comparisons[i]) {
        case Comparison::kEqual:
          return Equal(left, right);
        case Comparison::kNotEqual:
          return !Equal(left, right);
        case Comparison::kLess:
          return Less(left, right);
        case Comparison::kLessOrEqual:
          return LessOrEqual(left, right);
        case Comparison::kGreater:
          return Less(right, left);
        case Comparison::kGreaterOrEqual:
          return LessOrEqual(right, left);
        case Comparison::kIn:
          return Contains(right, left, budget());
        case Comparison::kNotIn:
          return !Contains(right, left, budget());
      }
      return false;
    }();
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::Evaluate(const Expression& expression, Activation& frame) {
  budget().Step();
  if (expression.op == Op::kConst) return expression.constant;
  if (expression.op == Op::kName) {
    const Value& value = At(expression.place, frame);
    return value.missing() ? Value(Undefined{expression.name}) : value;
  }
  const Budget::Level level(budget());
  return EvaluateNested(expression, frame);
}

Value Interpreter::EvaluateNested(const Expression& expression, Activation& frame) {
  const std::vector<Expression>& children = expression.children;
  const auto child = [&](std::size_t i) { return Evaluate(children[i], frame); };
  const auto all = [&] {
    Values values;
    values.reserve(children.size());
    for (const Expression& each : children) values.push_back(Evaluate(each, frame));
    return values;
  };
  switch (expression.op) {
    case Op::kAnd: {
      Value left = child(0);
      return Truth(left) ? child(1) : left;
    }
    case Op::kOr: {
      Value left = child(0);
      return Truth(left) ? left : child(1);
    }
    case Op::kNot:
      return Value(!Truth(child(0)));
    case Op::kIf:
      if (Truth(child(0))) return child(1);
      return children.size() > 2 ? child(2) : Value(Undefined{});
    case Op::kBinary: {
      const Value left = child(0);
      return Arithmetic(expression.name, left, child(1), budget());
    }
    case Op::kNegative:
      return Negative(child(0));
    case Op::kPositive:
      return Positive(child(0));
    case Op::kCompare:
      return Value(Compare(expression, frame));
    case Op::kConcat: {
      Text text;
      for (const Expression& each : children) Print(Evaluate(each, frame), &text, budget());
      return Value(std::move(text));
    }
    case Op::kAttribute:
      return GetAttribute(child(0), expression.name);
    case Op::kItem: {
      const Value value = child(0);
      return GetItem(value, child(1));
    }
    case Op::kSlice: {
      const Values parts = all();
      return Slice(parts[0], parts[1], parts[2], parts[3], budget());
    }
    case Op::kList:
      return MakeList(all());
    case Op::kTuple:
      return MakeTuple(all());
    case Op::kDict: {
      const Values parts = all();
      Dict dict;
      for (std::size_t i = 0; i < parts.size(); i += 2) dict.Set(parts[i], parts[i + 1]);
      return Value(std::move(dict));
    }
    case Op::kCall: {
      const Value callee = child(0);
      return Call(callee, Evaluate(*expression.arguments, frame));
    }
    case Op::kFilter: {
      const Value value = child(0);
      return Filter(expression.name, value, Evaluate(*expression.arguments, frame));
    }
    case Op::kTest: {
      const Value value = child(0);
      return Value(Test(expression.name, value, Evaluate(*expression.arguments, frame)));
    }
    case Op::kCaptured:
      return captured_;
    case Op::kConst:
    case Op::kName:
      break;
  }
  return expression.constant;
}

}  // namespace mconnect::jinja
