// Methods of lists, tuples, ranges and dicts. Those that change them are absent: the reference's sandbox refuses them.

#include <algorithm>

#include "runtime/text/template/environment.h"
#include "runtime/text/template/operators.h"

namespace mconnect::jinja {
namespace {

using Type = Sequence::Type;

Value Count(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("count", arguments, {"value"}, 1);
  env.budget().Step(self.AsSequence()->items.size());
  return Value(static_cast<std::int64_t>(
      std::ranges::count_if(self.AsSequence()->items, [&](const Value& item) { return Equal(item, p[0]); })));
}

Value Index(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("index", arguments, {"value", "start", "stop"}, 1);
  const Values& items = self.AsSequence()->items;
  const auto length = static_cast<std::int64_t>(items.size());
  const auto bound = [&](std::size_t i, std::int64_t absent) {
    const std::int64_t given = p.Int(i, absent);
    return given < 0 ? std::max<std::int64_t>(given + length, 0) : std::min(given, length);
  };
  env.budget().Step(items.size());
  for (std::int64_t i = bound(1, 0); i < bound(2, length); ++i) {
    if (Equal(items[static_cast<std::size_t>(i)], p[0])) return Value(i);
  }
  Fail("the value is not in the list");
}

Value Copy(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("copy", arguments, {});
  return self.AsDict() ? Value(Dict(*self.AsDict())) : Value(Sequence(*self.AsSequence()));
}

Value Get(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("get", arguments, {"key", "default"}, 1);
  const Value* found = self.AsDict()->Find(p[0]);
  return found ? *found : p.Or(1, None{});
}

Value View(Type type, const Dict& dict, Environment& env) {
  env.budget().Step(dict.size());
  Values items;
  for (const auto& [key, value] : dict.entries()) {
    items.push_back(type == Type::kKeys ? key : type == Type::kValues ? value : MakeTuple({key, value}));
  }
  return Value(Sequence(type, std::move(items)));
}

template <Type kType>
Value ViewMethod(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("keys, values, items", arguments, {});
  return View(kType, *self.AsDict(), env);
}

}  // namespace

Function::Body FindSequenceMethod(Sequence::Type type, std::string_view name) {
  if (type == Type::kIterator || type == Type::kKeys || type == Type::kValues || type == Type::kItems) return nullptr;
  if (name == "count") return Count;
  if (name == "index") return Index;
  if (name == "copy" && type == Type::kList) return Copy;
  return nullptr;
}

Function::Body FindDictMethod(std::string_view name) {
  if (name == "get") return Get;
  if (name == "items") return ViewMethod<Type::kItems>;
  if (name == "keys") return ViewMethod<Type::kKeys>;
  if (name == "values") return ViewMethod<Type::kValues>;
  if (name == "copy") return Copy;
  return nullptr;
}

}  // namespace mconnect::jinja
