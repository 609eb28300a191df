// Python's conversions of strings and floats to numbers.
#ifndef MCONNECT_TEXT_TEMPLATE_NUMBERS_H_
#define MCONNECT_TEXT_TEMPLATE_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace mconnect::jinja {

// int(text, base) and float(text): nothing where Python raises ValueError. Throws Failure(kUnsupported) for integers
// beyond 64 bits and for digits that are not ASCII.
std::optional<std::int64_t> ParseInt(std::string_view text, std::int64_t base = 10);
std::optional<double> ParseFloat(std::string_view text);

// int(number): nothing where it is infinite or not a number.
std::optional<std::int64_t> Truncated(double number);

// round(number, digits)
double Rounded(double number, std::int64_t digits);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_NUMBERS_H_
