// Python's operators on values. Each throws Failure where Python raises.
#ifndef MCONNECT_TEXT_TEMPLATE_OPERATORS_H_
#define MCONNECT_TEXT_TEMPLATE_OPERATORS_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/value.h"

namespace mconnect::jinja {

bool Truth(const Value& value);
bool Equal(const Value& a, const Value& b);
bool Less(const Value& a, const Value& b);  // fails for values without an order
bool LessOrEqual(const Value& a, const Value& b);
bool Contains(const Value& container, const Value& item, Budget& budget);

// Is it the same object?
bool Same(const Value& a, const Value& b);

void CheckHashable(const Value& value);

// len(), or nothing for what has none.
std::optional<std::int64_t> Length(const Value& value);

// What a loop over the value visits: characters, items, keys.
Values Iterate(const Value& value, Budget& budget);
bool IsIterable(const Value& value);

// Integers and booleans; nothing for other values.
std::optional<std::int64_t> ToInt(const Value& value);
// Integers, booleans and floats.
std::optional<double> ToFloat(const Value& value);

// Fails with "<what> must be ..., not <type>".
std::int64_t ExpectInt(const Value& value, std::string_view what);
const Text& ExpectText(const Value& value, std::string_view what);

// `op` is add, sub, mul, div, floordiv, mod or pow.
Value Arithmetic(std::string_view op, const Value& a, const Value& b, Budget& budget);
Value Negative(const Value& value);
Value Positive(const Value& value);

// value[start:stop:step]; None stands for what is left out.
Value Slice(const Value& value, const Value& start, const Value& stop, const Value& step, Budget& budget);

// value[index] of a string, list, tuple or range, counted from the end where negative; nothing beyond the ends.
std::optional<Value> At(const Value& value, std::int64_t index);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_OPERATORS_H_
