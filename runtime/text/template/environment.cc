#include "runtime/text/template/environment.h"

#include <algorithm>
#include <ctime>

#include "runtime/text/template/loop.h"
#include "runtime/text/template/operators.h"

namespace mconnect::jinja {
namespace {

Value LoopCycle(Environment&, const Value& self, const Arguments& arguments) {
  return self.AsLoop()->Cycle(arguments.positional);
}

Value LoopChanged(Environment&, const Value& self, const Arguments& arguments) {
  return Value(self.AsLoop()->Changed(arguments.positional));
}

Value Method(std::string_view name, Function::Body body, const Value& self) {
  Function method;
  method.name = std::string(name);
  method.body = body;
  method.self = self;
  return Value(std::move(method));
}

// Attributes that Python's objects have and this runtime does not.
bool IsMissingFrom(const Value& value, std::string_view name) {
  static constexpr std::string_view kText[] = {"casefold",  "encode",      "expandtabs", "format_map", "isidentifier",
                                               "isnumeric", "isprintable", "istitle",    "maketrans",  "translate"};
  static constexpr std::string_view kNumber[] = {
      "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "fromhex", "hex", "imag",
      "is_integer",       "numerator", "real",       "to_bytes"};
  if (value.AsText()) return std::ranges::find(kText, name) != std::end(kText);
  if (ToFloat(value)) return std::ranges::find(kNumber, name) != std::end(kNumber);
  if (value.AsFunction()) return value.AsFunction()->macro != nullptr && (name == "arguments" || name == "caller");
  return false;
}

}  // namespace

LocalTime Environment::now() const {
  if (now_) return *now_;
  const auto system = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const std::time_t seconds = std::chrono::system_clock::to_time_t(system);
  std::tm local = {};
  localtime_r(&seconds, &local);
  const std::chrono::microseconds offset = std::chrono::seconds(local.tm_gmtoff);
  return LocalTime(system.time_since_epoch() + offset);
}

std::optional<Value> Environment::FindAttribute(const Value& value, std::string_view name) {
  if (name.starts_with('_')) return std::nullopt;  // the sandbox hides it
  if (const Namespace* space = value.AsNamespace()) {
    const Value* found = space->attributes.Find(name);
    return found ? std::optional(*found) : std::nullopt;
  }
  if (Loop* loop = value.AsLoop()) {
    if (name == "cycle") return Method("cycle", LoopCycle, value);
    if (name == "changed") return Method("changed", LoopChanged, value);
    return loop->Attribute(name);
  }
  const Sequence* sequence = value.AsSequence();
  if (sequence && sequence->type == Sequence::Type::kGroup && (name == "grouper" || name == "list")) {
    return sequence->items[name == "grouper" ? 0 : 1];
  }
  if (sequence && sequence->type == Sequence::Type::kRange) {
    if (name == "start") return Value(sequence->range[0]);
    if (name == "stop") return Value(sequence->range[1]);
    if (name == "step") return Value(sequence->range[2]);
  }
  if (const Function* function = value.AsFunction(); function && function->macro && name == "name") {
    return function->name.empty() ? Value(None{}) : Value(Text(function->name));
  }
  const Function::Body body = value.AsText()   ? FindTextMethod(name)
                              : value.AsDict() ? FindDictMethod(name)
                              : sequence       ? FindSequenceMethod(sequence->type, name)
                                               : nullptr;
  if (body) return Method(name, body, value);
  if (IsMissingFrom(value, name)) {
    FailUnsupported("the attribute '" + std::string(name) + "' of '" + std::string(value.type_name()) + "'");
  }
  return std::nullopt;
}

Value Environment::GetAttribute(const Value& value, std::string_view name) {
  budget_.Step();
  if (const Undefined* undefined = value.AsUndefined()) {
    Fail((undefined->name.empty() ? "a value" : "'" + std::string(undefined->name) + "'") +
         " is undefined and has no attribute '" + std::string(name) + "'");
  }
  if (auto found = FindAttribute(value, name)) return *std::move(found);
  static constexpr std::string_view kChanging[] = {"clear", "pop", "popitem", "setdefault", "update"};
  if (const Dict* dict = value.AsDict(); dict && std::ranges::find(kChanging, name) == std::end(kChanging)) {
    if (const Value* item = dict->Find(name)) return *item;
  }
  return Undefined{name};
}

Value Environment::GetItem(const Value& value, const Value& key) {
  budget_.Step();
  if (const Undefined* undefined = value.AsUndefined()) {
    Fail((undefined->name.empty() ? "a value" : "'" + std::string(undefined->name) + "'") +
         " is undefined and has no items");
  }
  const Sequence* sequence = value.AsSequence();
  if (const Dict* dict = value.AsDict()) {
    const bool hashable = !key.AsDict() && !(key.AsSequence() && key.AsSequence()->type == Sequence::Type::kList);
    if (const Value* item = hashable ? dict->Find(key) : nullptr) return *item;
  } else if (value.AsText() ||
             (sequence && (sequence->type == Sequence::Type::kList || sequence->type == Sequence::Type::kTuple ||
                           sequence->type == Sequence::Type::kGroup || sequence->type == Sequence::Type::kRange))) {
    if (const auto index = ToInt(key)) {
      if (value.AsText()) budget_.Step(value.AsText()->size() / 64);
      auto item = At(value, *index);
      return item ? *std::move(item) : Value(Undefined{});
    }
  }
  if (const Text* name = key.AsText()) {
    if (auto found = FindAttribute(value, name->bytes())) return *std::move(found);
  }
  return Undefined{};
}

Value Environment::Filter(std::string_view name, const Value& value, const Arguments& arguments) {
  budget_.Step();
  Function::Body body = FindFilter(name);
  if (!body) body = FindSequenceFilter(name);
  if (!body) Fail("no filter is named '" + std::string(name) + "'");
  return body(*this, value, arguments);
}

bool Environment::Test(std::string_view name, const Value& value, const Arguments& arguments) {
  budget_.Step();
  const Function::Body body = FindTest(name);
  if (!body) Fail("no test is named '" + std::string(name) + "'");
  return Truth(body(*this, value, arguments));
}

Value Environment::Call(const Value& callee, const Arguments& arguments) {
  budget_.Step();
  if (const Undefined* undefined = callee.AsUndefined()) {
    Fail(undefined->name.empty() ? "an undefined value is called"
                                 : "'" + std::string(undefined->name) + "' is undefined and cannot be called");
  }
  const Function* function = callee.AsFunction();
  if (!function) Fail("'" + std::string(callee.type_name()) + "' object is not callable");
  return function->macro ? CallMacro(*function, arguments) : function->body(*this, function->self, arguments);
}

Parameters::Parameters(std::string_view function, const Arguments& arguments,
                       std::initializer_list<std::string_view> names, std::size_t required)
    : function_(function), values_(names.size()) {
  const auto fail = [&](const std::string& what) { Fail(std::string(function) + "() " + what); };
  if (arguments.positional.size() > names.size()) {
    fail("takes at most " + std::to_string(names.size()) + " arguments, not " +
         std::to_string(arguments.positional.size()));
  }
  std::ranges::copy(arguments.positional, values_.begin());
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) fail("takes no argument '" + name + "'");
    std::optional<Value>& slot = values_[static_cast<std::size_t>(found - names.begin())];
    if (slot) fail("has two values for the argument '" + name + "'");
    slot = value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!values_[i]) fail("lacks the argument '" + std::string(names.begin()[i]) + "'");
  }
}

std::int64_t Parameters::Int(std::size_t i, std::int64_t absent) const {
  return Has(i) ? ExpectInt(*values_[i], "an argument of " + std::string(function_) + "()") : absent;
}

bool Parameters::Flag(std::size_t i, bool absent) const { return Has(i) ? Truth(*values_[i]) : absent; }

}  // namespace mconnect::jinja
