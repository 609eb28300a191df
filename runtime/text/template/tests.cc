// Tests: what stands behind `is`.

#include <algorithm>
#include <array>

#include "runtime/text/template/environment.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"

namespace mconnect::jinja {
namespace {

template <bool (*kIs)(const Value&)>
Value Unary(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("the test", arguments, {});
  return Value(kIs(value));
}

template <bool (*kIs)(const Value&, const Value&)>
Value Binary(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("the test", arguments, {"other"}, 1);
  return Value(kIs(value, p[0]));
}

bool IsDefined(const Value& value) { return !value.undefined(); }
bool IsUndefined(const Value& value) { return value.undefined(); }
bool IsNone(const Value& value) { return value.none(); }
bool IsBoolean(const Value& value) { return value.AsBool() != nullptr; }
bool IsTrue(const Value& value) { return value.AsBool() && *value.AsBool(); }
bool IsFalse(const Value& value) { return value.AsBool() && !*value.AsBool(); }
bool IsInteger(const Value& value) { return value.AsInt() != nullptr; }
bool IsFloat(const Value& value) { return value.AsFloat() != nullptr; }
bool IsNumber(const Value& value) { return ToFloat(value).has_value(); }
bool IsString(const Value& value) { return value.AsText() != nullptr; }
bool IsEscaped(const Value& value) { return value.AsText() && value.AsText()->markup(); }
bool IsMapping(const Value& value) { return value.AsDict() != nullptr; }
bool IsCallable(const Value& value) { return value.AsFunction() || value.AsLoop() || value.undefined(); }

// Has a length and can be subscripted. Undefined says that it has both.
bool IsSequence(const Value& value) {
  const Sequence* sequence = value.AsSequence();
  if (sequence) {
    return sequence->type == Sequence::Type::kList || sequence->type == Sequence::Type::kTuple ||
           sequence->type == Sequence::Type::kGroup || sequence->type == Sequence::Type::kRange;
  }
  return value.AsText() || value.AsDict() || value.undefined();
}

Value Divisible(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("divisibleby", arguments, {"num"}, 1);
  return Value(Equal(Arithmetic("mod", value, p[0], env.budget()), Value(std::int64_t{0})));
}

template <std::int64_t kRest>
Value Parity(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("odd, even", arguments, {});
  return Value(Equal(Arithmetic("mod", value, Value(std::int64_t{2}), env.budget()), Value(kRest)));
}

Value In(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("in", arguments, {"seq"}, 1);
  return Value(Contains(p[0], value, env.budget()));
}

template <bool kUpper>
Value IsCase(Environment& env, const Value& value, const Arguments&) {
  const Value text(Str(value, env.budget()));
  return FindTextMethod(kUpper ? "isupper" : "islower")(env, text, Arguments());
}

Value IsFilter(Environment&, const Value& value, const Arguments&) {
  const Text* name = value.AsText();
  return Value(name && (FindFilter(name->bytes()) || FindSequenceFilter(name->bytes())));
}

Value IsTest(Environment&, const Value& value, const Arguments&) {
  return Value(value.AsText() && FindTest(value.AsText()->bytes()));
}

bool NotEqual(const Value& a, const Value& b) { return !Equal(a, b); }
bool Greater(const Value& a, const Value& b) { return Less(b, a); }
bool GreaterOrEqual(const Value& a, const Value& b) { return LessOrEqual(b, a); }

struct Entry {
  std::string_view name;
  Function::Body body;
};

constexpr auto kTests = std::to_array<Entry>({
    {"!=", Binary<NotEqual>},
    {"<", Binary<Less>},
    {"<=", Binary<LessOrEqual>},
    {"==", Binary<Equal>},
    {">", Binary<Greater>},
    {">=", Binary<GreaterOrEqual>},
    {"boolean", Unary<IsBoolean>},
    {"callable", Unary<IsCallable>},
    {"defined", Unary<IsDefined>},
    {"divisibleby", Divisible},
    {"eq", Binary<Equal>},
    {"equalto", Binary<Equal>},
    {"escaped", Unary<IsEscaped>},
    {"even", Parity<0>},
    {"false", Unary<IsFalse>},
    {"filter", IsFilter},
    {"float", Unary<IsFloat>},
    {"ge", Binary<GreaterOrEqual>},
    {"greaterthan", Binary<Greater>},
    {"gt", Binary<Greater>},
    {"in", In},
    {"integer", Unary<IsInteger>},
    {"iterable", Unary<IsIterable>},
    {"le", Binary<LessOrEqual>},
    {"lessthan", Binary<Less>},
    {"lower", IsCase<false>},
    {"lt", Binary<Less>},
    {"mapping", Unary<IsMapping>},
    {"ne", Binary<NotEqual>},
    {"none", Unary<IsNone>},
    {"number", Unary<IsNumber>},
    {"odd", Parity<1>},
    {"sameas", Binary<Same>},
    {"sequence", Unary<IsSequence>},
    {"string", Unary<IsString>},
    {"test", IsTest},
    {"true", Unary<IsTrue>},
    {"undefined", Unary<IsUndefined>},
    {"upper", IsCase<true>},
});

}  // namespace

Function::Body FindTest(std::string_view name) {
  const auto found = std::ranges::find(kTests, name, &Entry::name);
  return found == kTests.end() ? nullptr : found->body;
}

}  // namespace mconnect::jinja
