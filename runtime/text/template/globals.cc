// Functions that every template can call.

#include <algorithm>
#include <array>

#include "runtime/text/template/environment.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"

namespace mconnect::jinja {
namespace {

constexpr std::int64_t kMaxRange = 100'000;  // as the reference's sandbox

Value Range(Environment& env, const Value&, const Arguments& arguments) {
  if (!arguments.named.empty()) Fail("range() takes no keyword arguments");
  const Parameters p("range", arguments, {"start", "stop", "step"}, 1);
  const std::int64_t start = p.Has(1) ? p.Int(0, 0) : 0;
  const std::int64_t stop = p.Has(1) ? p.Int(1, 0) : p.Int(0, 0);
  const std::int64_t step = p.Int(2, 1);
  if (step == 0) Fail("range() arg 3 must not be zero");
  const auto wide = [](std::int64_t n) { return static_cast<long double>(n); };
  const long double distance = step > 0 ? wide(stop) - wide(start) : wide(start) - wide(stop);
  if (distance / std::abs(wide(step)) > kMaxRange) {
    Fail("range(" + std::to_string(start) + ", " + std::to_string(stop) + ", " + std::to_string(step) +
         ") is longer than the limit of " + std::to_string(kMaxRange));
  }
  Values items;
  for (std::int64_t n = start; step > 0 ? n < stop : n > stop;) {
    env.budget().Step();
    items.emplace_back(n);
    if (__builtin_add_overflow(n, step, &n)) break;
  }
  Sequence range(Sequence::Type::kRange, std::move(items));
  range.range[0] = start;
  range.range[1] = stop;
  range.range[2] = step;
  return Value(std::move(range));
}

// dict(mapping or pairs, name=value, ...)
Dict MakeDict(std::string_view function, Environment& env, const Arguments& arguments) {
  if (arguments.positional.size() > 1) Fail(std::string(function) + "() takes at most 1 positional argument");
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& from = arguments.positional[0];
    if (const Dict* other = from.AsDict()) {
      env.budget().Step(other->size());
      dict = *other;
    } else {
      for (const Value& pair : Iterate(from, env.budget())) {
        Values parts = Iterate(pair, env.budget());
        if (parts.size() != 2) Fail(std::string(function) + "() needs pairs of a key and a value");
        dict.Set(parts[0], parts[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) dict.Set(Value(name), value);
  return dict;
}

Value DictGlobal(Environment& env, const Value&, const Arguments& arguments) {
  return Value(MakeDict("dict", env, arguments));
}

Value NamespaceGlobal(Environment& env, const Value&, const Arguments& arguments) {
  Dict attributes = MakeDict("namespace", env, arguments);
  for (const auto& [name, unused] : attributes.entries()) {
    if (name.AsText() && name.AsText()->bytes().starts_with('_')) {
      Fail("a namespace has no attribute with a leading underscore: '" + name.AsText()->bytes() + "'");
    }
  }
  Namespace* space = env.NewNamespace();
  space->attributes = std::move(attributes);
  return Value(space);
}

Value RaiseException(Environment& env, const Value&, const Arguments& arguments) {
  const Parameters p("raise_exception", arguments, {"message"}, 1);
  Fail("the template refuses the conversation: " + Str(p[0], env.budget()).bytes());
}

Value StrftimeNow(Environment& env, const Value&, const Arguments& arguments) {
  const Parameters p("strftime_now", arguments, {"format"}, 1);
  const Text& format = ExpectText(p[0], "the argument of strftime_now()");
  return Value(Text(FormatTime(format.bytes(), env.now())));
}

struct Entry {
  std::string_view name;
  Function::Body body;
};

constexpr auto kGlobals = std::to_array<Entry>({
    {"dict", DictGlobal},
    {"namespace", NamespaceGlobal},
    {"raise_exception", RaiseException},
    {"range", Range},
    {"strftime_now", StrftimeNow},
});

}  // namespace

std::optional<Value> FindGlobal(std::string_view name) {
  const auto found = std::ranges::find(kGlobals, name, &Entry::name);
  if (found == kGlobals.end()) return std::nullopt;
  Function function;
  function.name = std::string(name);
  function.body = found->body;
  return Value(std::move(function));
}

}  // namespace mconnect::jinja
