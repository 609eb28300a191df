#include "runtime/text/template/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/text/template/characters.h"
#include "runtime/text/template/loop.h"
#include "runtime/text/template/print.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

using Type = Sequence::Type;

[[noreturn]] void FailUndefined(const Undefined& undefined) {
  Fail(undefined.name.empty() ? "an undefined value is used" : "'" + std::string(undefined.name) + "' is undefined");
}

void RefuseUndefined(const Value& value) {
  if (const Undefined* undefined = value.AsUndefined()) FailUndefined(*undefined);
}

[[noreturn]] void FailOperands(std::string_view op, const Value& a, const Value& b) {
  RefuseUndefined(a);
  RefuseUndefined(b);
  Fail("unsupported operand types for " + std::string(op) + ": '" + std::string(a.type_name()) + "' and '" +
       std::string(b.type_name()) + "'");
}

[[noreturn]] void FailTooLarge() { FailUnsupported("a number does not fit into 64 bits"); }

bool IsTuple(const Sequence& sequence) { return sequence.type == Type::kTuple || sequence.type == Type::kGroup; }

bool SameKind(const Sequence& a, const Sequence& b) {
  return (IsTuple(a) && IsTuple(b)) || (a.type == b.type && (a.type == Type::kList || a.type == Type::kRange));
}

// Integers are compared exactly with floats: long double holds both.
std::optional<long double> ToNumber(const Value& value) {
  if (const auto number = ToInt(value)) return static_cast<long double>(*number);
  if (const double* number = value.AsFloat()) return static_cast<long double>(*number);
  return std::nullopt;
}

Value Power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) Fail("0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  std::int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) FailTooLarge();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) FailTooLarge();
  }
  return Value(result);
}

Value IntArithmetic(std::string_view op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (op == "add") {
    if (__builtin_add_overflow(a, b, &result)) FailTooLarge();
  } else if (op == "sub") {
    if (__builtin_sub_overflow(a, b, &result)) FailTooLarge();
  } else if (op == "mul") {
    if (__builtin_mul_overflow(a, b, &result)) FailTooLarge();
  } else if (op == "pow") {
    return Power(a, b);
  } else {
    if (b == 0) Fail("division by zero");
    if (op == "div") return Value(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    if (b == -1) {  // the quotient of the least number would overflow
      if (op == "mod") return Value(std::int64_t{0});
      return IntArithmetic("sub", 0, a);
    }
    const bool uneven = a % b != 0 && (a < 0) != (b < 0);
    result = op == "mod" ? a % b + (uneven ? b : 0) : a / b - (uneven ? 1 : 0);
  }
  return Value(result);
}

Value FloatArithmetic(std::string_view op, double a, double b) {
  if (op == "add") return Value(a + b);
  if (op == "sub") return Value(a - b);
  if (op == "mul") return Value(a * b);
  if (op == "pow") {
    if (a == 0 && b < 0) Fail("0.0 cannot be raised to a negative power");
    if (a < 0 && std::isfinite(b) && b != std::floor(b)) FailUnsupported("a power is a complex number");
    const double result = std::pow(a, b);
    if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) Fail("the result of a power is too large");
    return Value(result);
  }
  if (b == 0) Fail("float division by zero");
  if (op == "div") return Value(a / b);
  double rest = std::fmod(a, b);  // as CPython's float_divmod
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (op == "mod") return Value(rest);
  if (quotient == 0) return Value(std::copysign(0.0, a / b));
  double whole = std::floor(quotient);
  if (quotient - whole > 0.5) whole += 1;
  return Value(whole);
}

Value Repeat(const Value& value, std::int64_t count, Budget& budget) {
  count = std::max<std::int64_t>(count, 0);
  const auto times = static_cast<std::size_t>(count);
  if (const Text* text = value.AsText()) {
    if (text->empty()) return value;
    if (times > std::numeric_limits<std::uint32_t>::max()) budget.Bytes(std::numeric_limits<std::size_t>::max() / 2);
    budget.Bytes(text->size() * times);
    Text result;
    for (std::size_t i = 0; i < times; ++i) result.Append(*text);
    result.set_markup(text->markup());
    return Value(std::move(result));
  }
  const Sequence& sequence = *value.AsSequence();
  if (!sequence.items.empty() && times > std::numeric_limits<std::uint32_t>::max()) {
    budget.Step(std::numeric_limits<std::size_t>::max() / 2);
  }
  budget.Step(sequence.items.size() * times);
  Values items;
  if (sequence.items.empty()) return Value(Sequence(sequence.type, {}));
  for (std::size_t i = 0; i < times; ++i) items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return Value(Sequence(IsTuple(sequence) ? Type::kTuple : Type::kList, std::move(items)));
}

bool Repeats(const Value& value) {
  const Sequence* sequence = value.AsSequence();
  return value.AsText() || (sequence && (IsTuple(*sequence) || sequence->type == Type::kList));
}

// The bounds of a slice for a sequence of `length`, as Python's PySlice_AdjustIndices. Returns the number of items.
std::int64_t Bounds(std::int64_t length, const Value& start, const Value& stop, std::int64_t step,
                    std::int64_t* first) {
  const auto bound = [&](const Value& value, std::int64_t absent) {
    if (value.none()) return absent;
    const auto given = ToInt(value);
    if (!given) Fail("slice indices must be integers or None, not " + std::string(value.type_name()));
    const std::int64_t low = step < 0 ? -1 : 0;
    const std::int64_t high = step < 0 ? length - 1 : length;
    return *given < 0 ? std::max(*given + length, low) : std::min(*given, high);
  };
  *first = bound(start, step < 0 ? length - 1 : 0);
  const std::int64_t last = bound(stop, step < 0 ? -1 : length);
  if (step < 0) return last < *first ? (*first - last - 1) / -step + 1 : 0;
  return *first < last ? (last - *first - 1) / step + 1 : 0;
}

}  // namespace

bool Truth(const Value& value) {
  if (value.undefined() || value.missing() || value.none()) return false;
  if (const bool* boolean = value.AsBool()) return *boolean;
  if (const double* number = value.AsFloat()) return *number != 0;
  if (const std::int64_t* number = value.AsInt()) return *number != 0;
  if (const Text* text = value.AsText()) return !text->empty();
  if (const Sequence* sequence = value.AsSequence()) {
    return sequence->type == Type::kIterator || !sequence->items.empty();
  }
  if (const Dict* dict = value.AsDict()) return dict->size() != 0;
  return true;
}

bool Equal(const Value& a, const Value& b) {
  if (const Text* text = a.AsText()) return b.AsText() && *text == *b.AsText();
  if (const auto number = ToNumber(a)) {
    const auto other = ToNumber(b);
    return other && *number == *other;
  }
  if (a.undefined()) return b.undefined();
  if (a.none()) return b.none();
  if (const Sequence* sequence = a.AsSequence()) {
    const Sequence* other = b.AsSequence();
    if (!other) return false;
    if (sequence == other) return true;
    return SameKind(*sequence, *other) && std::ranges::equal(sequence->items, other->items, Equal);
  }
  if (const Dict* dict = a.AsDict()) {
    const Dict* other = b.AsDict();
    if (!other || dict->size() != other->size()) return false;
    return std::ranges::all_of(dict->entries(), [&](const Dict::Entry& entry) {
      const Value* value = other->Find(entry.first);
      return value && Equal(entry.second, *value);
    });
  }
  return a.identity() && a.identity() == b.identity();
}

bool Same(const Value& a, const Value& b) {
  if (a.identity() || b.identity()) return a.identity() == b.identity();
  return a.type_name() == b.type_name() && Equal(a, b);
}

bool Less(const Value& a, const Value& b) {
  const auto number = ToNumber(a);
  const auto other = ToNumber(b);
  if (number && other) return *number < *other;
  if (a.AsText() && b.AsText()) return a.AsText()->bytes() < b.AsText()->bytes();  // UTF-8 keeps the order
  const Sequence* left = a.AsSequence();
  const Sequence* right = b.AsSequence();
  if (left && right && SameKind(*left, *right) && left->type != Type::kRange) {
    const std::size_t common = std::min(left->items.size(), right->items.size());
    for (std::size_t i = 0; i < common; ++i) {
      if (!Equal(left->items[i], right->items[i])) return Less(left->items[i], right->items[i]);
    }
    return left->items.size() < right->items.size();
  }
  FailOperands("<", a, b);
}

bool LessOrEqual(const Value& a, const Value& b) {
  const auto number = ToNumber(a);
  const auto other = ToNumber(b);
  if (number && other) return *number <= *other;  // neither is less where one is not a number
  return Less(a, b) || Equal(a, b);
}

bool Contains(const Value& container, const Value& item, Budget& budget) {
  if (const Text* text = container.AsText()) {
    budget.Step(1 + text->size() / 64);
    return text->bytes().find(ExpectText(item, "the left operand of 'in <string>'").bytes()) != std::string::npos;
  }
  if (const Dict* dict = container.AsDict()) return dict->Find(item) != nullptr;
  if (const Sequence* sequence = container.AsSequence()) {
    if (sequence->type == Type::kKeys) CheckHashable(item);
    while (sequence->type == Type::kIterator && sequence->taken < sequence->items.size()) {
      budget.Step();
      if (Equal(sequence->items[sequence->taken++], item)) return true;
    }
    if (sequence->type == Type::kIterator) return false;
    budget.Step(sequence->items.size());
    return std::ranges::any_of(sequence->items, [&](const Value& each) { return Equal(each, item); });
  }
  if (container.undefined()) return false;
  Fail("argument of type '" + std::string(container.type_name()) + "' is not iterable");
}

void CheckHashable(const Value& value) {
  const Sequence* sequence = value.AsSequence();
  if (sequence && IsTuple(*sequence)) {
    for (const Value& item : sequence->items) CheckHashable(item);
  } else if (value.AsDict() || (sequence && (sequence->type == Type::kList || sequence->type == Type::kItems ||
                                             sequence->type == Type::kKeys))) {
    Fail("unhashable type: '" + std::string(value.type_name()) + "'");
  }
}

std::optional<std::int64_t> Length(const Value& value) {
  if (const Text* text = value.AsText()) return static_cast<std::int64_t>(unicode::CountChars(text->bytes()));
  if (const Dict* dict = value.AsDict()) return static_cast<std::int64_t>(dict->size());
  if (value.undefined()) return 0;
  if (Loop* loop = value.AsLoop()) return loop->length();
  const Sequence* sequence = value.AsSequence();
  if (!sequence || sequence->type == Type::kIterator) return std::nullopt;
  return static_cast<std::int64_t>(sequence->items.size());
}

bool IsIterable(const Value& value) {
  return value.AsText() || value.AsDict() || value.AsSequence() || value.undefined() || value.AsLoop();
}

Values Iterate(const Value& value, Budget& budget) {
  Values items;
  if (const Text* text = value.AsText()) {
    budget.Step(text->size());
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t begin = at;
      unicode::Next(text->bytes(), &at);
      Text character = text->Slice(begin, at);
      character.set_markup(false);
      items.emplace_back(std::move(character));
    }
  } else if (const Dict* dict = value.AsDict()) {
    budget.Step(dict->size());
    for (const auto& [key, unused] : dict->entries()) items.push_back(key);
  } else if (const Sequence* sequence = value.AsSequence()) {
    budget.Step(sequence->items.size());
    items = sequence->Take();
  } else if (value.AsLoop()) {
    FailUnsupported("iterating over a loop variable");
  } else if (!value.undefined()) {
    Fail("'" + std::string(value.type_name()) + "' object is not iterable");
  }
  return items;
}

std::optional<std::int64_t> ToInt(const Value& value) {
  if (const std::int64_t* number = value.AsInt()) return *number;
  if (const bool* boolean = value.AsBool()) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> ToFloat(const Value& value) {
  if (const double* number = value.AsFloat()) return *number;
  if (const auto number = ToInt(value)) return static_cast<double>(*number);
  return std::nullopt;
}

std::int64_t ExpectInt(const Value& value, std::string_view what) {
  RefuseUndefined(value);
  if (const auto number = ToInt(value)) return *number;
  Fail(std::string(what) + " must be an integer, not " + std::string(value.type_name()));
}

const Text& ExpectText(const Value& value, std::string_view what) {
  RefuseUndefined(value);
  if (const Text* text = value.AsText()) return *text;
  Fail(std::string(what) + " must be a string, not " + std::string(value.type_name()));
}

Value Arithmetic(std::string_view op, const Value& a, const Value& b, Budget& budget) {
  const Text* text = a.AsText();
  if (op == "mod" && text) return PercentFormat(*text, b, budget);
  RefuseUndefined(a);
  RefuseUndefined(b);
  const auto left = ToInt(a);
  const auto right = ToInt(b);
  if (left && right) return IntArithmetic(op, *left, *right);
  if (const auto x = ToFloat(a), y = ToFloat(b); x && y) return FloatArithmetic(op, *x, *y);
  if (op == "mul" && Repeats(a) && right) return Repeat(a, *right, budget);
  if (op == "mul" && Repeats(b) && left) return Repeat(b, *left, budget);
  if (op == "add" && text && b.AsText()) return Value(Concatenated(*text, *b.AsText(), budget));
  const Sequence* first = a.AsSequence();
  const Sequence* second = b.AsSequence();
  if (op == "add" && first && second && SameKind(*first, *second) && first->type != Type::kRange) {
    budget.Step(first->items.size() + second->items.size());
    Values items = first->items;
    items.insert(items.end(), second->items.begin(), second->items.end());
    return Value(Sequence(IsTuple(*first) ? Type::kTuple : Type::kList, std::move(items)));
  }
  FailOperands(op, a, b);
}

Value Negative(const Value& value) {
  if (const double* number = value.AsFloat()) return Value(-*number);
  if (const auto number = ToInt(value)) return IntArithmetic("sub", 0, *number);
  RefuseUndefined(value);
  Fail("bad operand type for unary -: '" + std::string(value.type_name()) + "'");
}

Value Positive(const Value& value) {
  if (value.AsFloat()) return value;
  if (const auto number = ToInt(value)) return Value(*number);
  RefuseUndefined(value);
  Fail("bad operand type for unary +: '" + std::string(value.type_name()) + "'");
}

std::optional<Value> At(const Value& value, std::int64_t index) {
  const std::int64_t length = *Length(value);
  if (index < 0) index += length;
  if (index < 0 || index >= length) return std::nullopt;
  const Text* text = value.AsText();
  if (!text) return value.AsSequence()->items[static_cast<std::size_t>(index)];
  const std::size_t begin = ByteOffset(text->bytes(), static_cast<std::size_t>(index));
  std::size_t end = begin;
  unicode::Next(text->bytes(), &end);
  return Value(text->Slice(begin, end));
}

Value Slice(const Value& value, const Value& start, const Value& stop, const Value& step, Budget& budget) {
  RefuseUndefined(value);
  const Text* text = value.AsText();
  const Sequence* sequence = value.AsSequence();
  const bool sliceable =
      text || (sequence && (IsTuple(*sequence) || sequence->type == Type::kList || sequence->type == Type::kRange));
  if (!sliceable) Fail("'" + std::string(value.type_name()) + "' object cannot be sliced");
  const std::int64_t by = step.none() ? 1 : ExpectInt(step, "the step of a slice");
  if (by == 0) Fail("slice step cannot be zero");
  if (by == std::numeric_limits<std::int64_t>::min()) FailUnsupported("a slice with the least step there is");
  if (text) budget.Bytes(text->size());
  std::int64_t first = 0;
  const std::int64_t count = Bounds(*Length(value), start, stop, by, &first);
  if (text) {
    if (by == 1) {
      const std::size_t begin = ByteOffset(text->bytes(), static_cast<std::size_t>(first));
      const std::size_t length =
          ByteOffset(std::string_view(text->bytes()).substr(begin), static_cast<std::size_t>(count));
      return Value(text->Slice(begin, begin + length));
    }
    Text result;
    const std::vector<std::size_t> borders = CharBorders(text->bytes());
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(first + i * by);
      result.AppendSlice(*text, borders[at], borders[at + 1]);
    }
    result.set_markup(text->markup());
    return Value(std::move(result));
  }
  budget.Step(static_cast<std::size_t>(count));
  Values items;
  for (std::int64_t i = 0; i < count; ++i) items.push_back(sequence->items[static_cast<std::size_t>(first + i * by)]);
  Sequence result(IsTuple(*sequence) ? Type::kTuple : sequence->type, std::move(items));
  if (sequence->type == Type::kRange) {
    result.range[0] = sequence->range[0] + first * sequence->range[2];
    result.range[2] = sequence->range[2] * by;
    std::int64_t last = 0;
    std::int64_t unused = 0;
    last = first + by * count;
    // Python keeps the bound that was asked for, not the one that is reached.
    const std::int64_t length = static_cast<std::int64_t>(sequence->items.size());
    const Value none{None{}};
    if (by > 0) {
      Bounds(length, stop, none, 1, &unused);
      last = stop.none() ? length : unused;
    } else {
      last = -1;
      if (!stop.none()) Bounds(length, stop, none, -1, &last);
    }
    result.range[1] = sequence->range[0] + last * sequence->range[2];
  }
  return Value(std::move(result));
}

}  // namespace mconnect::jinja
