// Filters on what can be iterated over.

#include <algorithm>
#include <array>

#include "runtime/text/template/attributes.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"
#include "runtime/text/template/text_functions.h"

namespace mconnect::jinja {
namespace {

using Type = Sequence::Type;

// Arguments but for the first `count` positional ones.
Arguments Without(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

Value List(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("list", arguments, {});
  return MakeList(Iterate(value, env.budget()));
}

Value First(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("first", arguments, {});
  if (const Sequence* sequence = value.AsSequence()) {
    if (sequence->type == Type::kIterator) {
      return sequence->taken < sequence->items.size() ? sequence->items[sequence->taken++] : Value(Undefined{});
    }
    return sequence->items.empty() ? Value(Undefined{}) : sequence->items.front();
  }
  const Values items = Iterate(value, env.budget());
  return items.empty() ? Value(Undefined{}) : items.front();
}

Value Last(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("last", arguments, {});
  if (const Sequence* sequence = value.AsSequence()) {
    if (sequence->type == Type::kIterator) Fail("'generator' object is not reversible");
    return sequence->items.empty() ? Value(Undefined{}) : sequence->items.back();
  }
  const Values items = Iterate(value, env.budget());
  return items.empty() ? Value(Undefined{}) : items.back();
}

Value Reverse(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("reverse", arguments, {});
  if (value.AsText()) return Slice(value, None{}, None{}, Value(std::int64_t{-1}), env.budget());
  Values items = Iterate(value, env.budget());
  std::ranges::reverse(items);
  const bool generator = value.AsSequence() && value.AsSequence()->type == Type::kIterator;
  return generator ? MakeList(std::move(items)) : MakeIterator(std::move(items));
}

Value Join(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("join", arguments, {"d", "attribute"});
  const AttributePath path(env, p.Or(1, None{}));
  std::vector<Text> parts;
  std::size_t size = 0;
  for (const Value& item : Iterate(value, env.budget())) {
    parts.push_back(Str(path(item), env.budget()));
    env.budget().Bytes(size += parts.back().size());
  }
  return Value(Joined(p.Has(0) ? Str(p[0], env.budget()) : Text(), parts, env.budget()));
}

Value Items(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("items", arguments, {});
  if (value.undefined()) return MakeIterator({});
  const Dict* dict = value.AsDict();
  if (!dict) Fail("can only get item pairs from a mapping, not from '" + std::string(value.type_name()) + "'");
  env.budget().Step(dict->size());
  Values items;
  for (const auto& [key, item] : dict->entries()) items.push_back(MakeTuple({key, item}));
  return MakeIterator(std::move(items));
}

// Sorts by the keys of the items, stably; `reverse` keeps the order of equal items, as Python does.
Values Sorted(Values items, const std::vector<Value>& keys, bool reverse, Budget& budget) {
  std::vector<std::size_t> order(items.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    budget.Step();
    return reverse ? Less(keys[b], keys[a]) : Less(keys[a], keys[b]);
  });
  Values sorted;
  sorted.reserve(items.size());
  for (const std::size_t i : order) sorted.push_back(std::move(items[i]));
  return sorted;
}

Value DictSort(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = p.Has(1) ? ExpectText(p[1], "the order of dictsort").bytes() : "key";
  if (by != "key" && by != "value") Fail("dictsort: can only sort by key or value");
  const Dict* dict = value.AsDict();
  if (!dict) Fail("dictsort needs a mapping, not '" + std::string(value.type_name()) + "'");
  Values items;
  Values keys;
  for (const auto& [key, item] : dict->entries()) {
    items.push_back(MakeTuple({key, item}));
    const Value& sorted_by = by == "key" ? key : item;
    keys.push_back(p.Flag(0, false) ? sorted_by : IgnoreCase(sorted_by));
  }
  return MakeList(Sorted(std::move(items), keys, p.Flag(2, false), env.budget()));
}

Value Sort(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<AttributePath> paths;
  const Value attribute = p.Or(2, None{});
  if (const Text* text = attribute.AsText()) {
    const Text comma(",");
    for (Text& path : Split(*text, &comma, -1, false, env.budget())) paths.emplace_back(env, Value(std::move(path)));
  } else {
    paths.emplace_back(env, attribute);
  }
  Values items = Iterate(value, env.budget());
  Values keys;
  for (const Value& item : items) {
    Values parts;
    for (const AttributePath& path : paths) parts.push_back(p.Flag(1, false) ? path(item) : IgnoreCase(path(item)));
    keys.push_back(MakeList(std::move(parts)));
  }
  return MakeList(Sorted(std::move(items), keys, p.Flag(0, false), env.budget()));
}

Value GroupBy(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(env, p[0]);
  const Value* absent = p.IsNone(1) ? nullptr : &p[1];
  const bool exact = p.Flag(2, false);
  const auto key_of = [&](const Value& item) { return exact ? path(item, absent) : IgnoreCase(path(item, absent)); };
  Values items = Iterate(value, env.budget());
  Values keys;
  for (const Value& item : items) keys.push_back(key_of(item));
  items = Sorted(std::move(items), keys, false, env.budget());
  Values groups;
  for (std::size_t begin = 0; begin < items.size();) {
    std::size_t end = begin + 1;
    while (end < items.size() && Equal(key_of(items[end]), key_of(items[begin]))) ++end;
    const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
    Values group(first, items.begin() + static_cast<std::ptrdiff_t>(end));
    groups.emplace_back(Sequence(Type::kGroup, {path(items[begin], absent), MakeList(std::move(group))}));
    begin = end;
  }
  return MakeList(std::move(groups));
}

Value Unique(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("unique", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(env, p.Or(1, None{}));
  Dict seen;
  Values items;
  for (const Value& item : Iterate(value, env.budget())) {
    env.budget().Step();
    Value key = p.Flag(0, false) ? path(item) : IgnoreCase(path(item));
    if (!key.AsText()) env.budget().Step(seen.size());
    if (seen.Find(key)) continue;
    seen.Set(std::move(key), None{});
    items.push_back(item);
  }
  return MakeIterator(std::move(items));
}

template <bool kMax>
Value Extreme(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p(kMax ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(env, p.Or(1, None{}));
  const Values items = Iterate(value, env.budget());
  Value best;
  Value best_key;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Value key = p.Flag(0, false) ? path(items[i]) : IgnoreCase(path(items[i]));
    if (i > 0 && !(kMax ? Less(best_key, key) : Less(key, best_key))) continue;
    best = items[i];
    best_key = std::move(key);
  }
  return best;
}

Value Sum(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("sum", arguments, {"attribute", "start"});
  const AttributePath path(env, p.Or(0, None{}));
  Value sum = p.Or(1, Value(std::int64_t{0}));
  if (sum.AsText()) Fail("sum() can't sum strings");
  for (const Value& item : Iterate(value, env.budget())) sum = Arithmetic("add", sum, path(item), env.budget());
  return sum;
}

Value Batch(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("batch", arguments, {"linecount", "fill_with"}, 1);
  const std::int64_t size = p.Int(0, 0);
  Values batches;
  Values batch;
  for (const Value& item : Iterate(value, env.budget())) {
    if (static_cast<std::int64_t>(batch.size()) == size) batches.push_back(MakeList(std::exchange(batch, {})));
    batch.push_back(item);
  }
  if (!batch.empty()) {
    while (!p.IsNone(1) && static_cast<std::int64_t>(batch.size()) < size) {
      env.budget().Step();
      batch.push_back(p[1]);
    }
    batches.push_back(MakeList(std::move(batch)));
  }
  return MakeIterator(std::move(batches));
}

Value SliceFilter(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("slice", arguments, {"slices", "fill_with"}, 1);
  const Values items = Iterate(value, env.budget());
  const std::int64_t slices = p.Int(0, 0);
  if (slices == 0) Fail("division by zero");
  const std::int64_t each = static_cast<std::int64_t>(items.size()) / slices;
  const std::int64_t longer = static_cast<std::int64_t>(items.size()) % slices;
  Values result;
  auto begin = items.begin();
  for (std::int64_t i = 0; i < slices; ++i) {
    env.budget().Step();
    const auto end = begin + each + (i < longer ? 1 : 0);
    Values part(begin, end);
    if (!p.IsNone(1) && i >= longer) part.push_back(p[1]);
    result.push_back(MakeList(std::move(part)));
    begin = end;
  }
  return MakeIterator(std::move(result));
}

Value Map(Environment& env, const Value& value, const Arguments& arguments) {
  Values mapped;
  if (!Truth(value)) return MakeIterator({});
  if (arguments.positional.empty()) {
    const Parameters p("map", arguments, {"attribute", "default"}, 1);
    const AttributePath path(env, p[0]);
    const Value* absent = p.IsNone(1) ? nullptr : &p[1];
    for (const Value& item : Iterate(value, env.budget())) mapped.push_back(path(item, absent));
  } else {
    const std::string& name = ExpectText(arguments.positional[0], "the name of a filter").bytes();
    const Arguments rest = Without(arguments, 1);
    for (const Value& item : Iterate(value, env.budget())) mapped.push_back(env.Filter(name, item, rest));
  }
  return MakeIterator(std::move(mapped));
}

template <bool kAttribute, bool kWanted>
Value Select(Environment& env, const Value& value, const Arguments& arguments) {
  if (!Truth(value)) return MakeIterator({});
  constexpr std::size_t kTest = kAttribute ? 1 : 0;
  if (arguments.positional.size() < kTest) Fail("the name of an attribute is missing");
  const AttributePath path(env, kAttribute ? arguments.positional[0] : Value(None{}));
  const bool tests = arguments.positional.size() > kTest;
  const std::string name =
      tests ? ExpectText(arguments.positional[kTest], "the name of a test").bytes() : std::string();
  const Arguments rest = tests ? Without(arguments, kTest + 1) : Arguments();
  Values selected;
  for (const Value& item : Iterate(value, env.budget())) {
    const Value tested = path(item);
    if ((tests ? env.Test(name, tested, rest) : Truth(tested)) == kWanted) selected.push_back(item);
  }
  return MakeIterator(std::move(selected));
}

struct Entry {
  std::string_view name;
  Function::Body body;
};

constexpr auto kFilters = std::to_array<Entry>({
    {"batch", Batch},
    {"dictsort", DictSort},
    {"first", First},
    {"groupby", GroupBy},
    {"items", Items},
    {"join", Join},
    {"last", Last},
    {"list", List},
    {"map", Map},
    {"max", Extreme<true>},
    {"min", Extreme<false>},
    {"reject", Select<false, false>},
    {"rejectattr", Select<true, false>},
    {"reverse", Reverse},
    {"select", Select<false, true>},
    {"selectattr", Select<true, true>},
    {"slice", SliceFilter},
    {"sort", Sort},
    {"sum", Sum},
    {"unique", Unique},
});

}  // namespace

Function::Body FindSequenceFilter(std::string_view name) {
  const auto found = std::ranges::find(kFilters, name, &Entry::name);
  return found == kFilters.end() ? nullptr : found->body;
}

}  // namespace mconnect::jinja
