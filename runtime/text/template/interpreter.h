// Runs the tree of a template.
#ifndef MCONNECT_TEXT_TEMPLATE_INTERPRETER_H_
#define MCONNECT_TEXT_TEMPLATE_INTERPRETER_H_

#include <deque>
#include <optional>
#include <string_view>

#include "runtime/text/template/environment.h"
#include "runtime/text/template/loop.h"
#include "runtime/text/template/tree.h"

namespace mconnect::jinja {

// The variables of one call of a function.
struct Activation {
  Activation(std::size_t slots, Activation* definer) : slots(slots, Value(Missing{})), definer(definer) {}

  Values slots;
  Activation* definer;  // of the function that this one was defined in; null for the template
};

// One rendering of one template.
class Interpreter final : public Environment {
 public:
  // `variables` are what the template finds by name, before the global functions.
  Interpreter(const Dict& variables, Budget& budget, std::optional<LocalTime> now)
      : Environment(budget, now), variables_(variables) {}

  // Throws Failure; line() then says where.
  Text Run(const Macro& root);
  int line() const noexcept { return line_; }

 protected:
  Value CallMacro(const Function& macro, const Arguments& arguments) override;

 private:
  enum class Flow { kNext, kBreak, kContinue };

  // Runs in a new activation, which lives on where a macro may still see it.
  template <typename F>
  auto Activate(const Macro& macro, Activation* definer, F f);

  Flow Execute(const std::vector<Statement>& body, Activation& frame);
  Flow Execute(const Statement& statement, Activation& frame);
  Flow ExecuteFor(const Statement& statement, Activation& frame);
  Flow ExecuteBlock(const Statement& statement, Activation& frame);  // set block, filter block, with
  Flow Capture(const std::vector<Statement>& body, Activation& frame, Text* captured);
  Value Define(const Macro& macro, Activation& frame);

  void Enter(const std::vector<Load>& loads, Activation& frame);
  void Leave(const std::vector<Load>& loads, Activation& frame);
  static Value& At(const Place& place, Activation& frame);
  Value Resolve(std::string_view name) const;
  void Assign(const Target& target, const Value& value, Activation& frame);
  void CheckNamespaces(const Target& target, Activation& frame);

  Value Evaluate(const Expression& expression, Activation& frame);
  Value EvaluateNested(const Expression& expression, Activation& frame);
  bool Compare(const Expression& expression, Activation& frame);
  Arguments Evaluate(const ArgumentList& list, Activation& frame);

  const Dict& variables_;
  std::deque<Activation> activations_;  // those that macros may see
  std::deque<Loop> loops_;              // those with a variable
  Text* out_ = nullptr;
  Value captured_;
  int line_ = 0;
};

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_INTERPRETER_H_
