#include "runtime/text/template/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/characters.h"
#include "runtime/text/template/text_functions.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

std::string Trimmed(std::string_view text) {
  std::string trimmed = Strip(Text(std::string(text)), nullptr, true, true).bytes();
  if (!unicode::IsAscii(trimmed)) {
    for (std::size_t at = 0; at < trimmed.size();) {
      const char32_t c = unicode::Next(trimmed, &at);
      if (c >= 0x80 && IsDecimal(c)) FailUnsupported("a number with digits that are not ASCII");
    }
  }
  return trimmed;
}

// Without the underscores that stand between digits; nothing where one stands elsewhere.
std::optional<std::string> WithoutUnderscores(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0 ||
               std::isalnum(static_cast<unsigned char>(text[i + 1])) == 0) {
      return std::nullopt;
    }
  }
  return plain;
}

}  // namespace

std::optional<std::int64_t> ParseInt(std::string_view text, std::int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  std::string trimmed = Trimmed(text);
  std::string_view rest = trimmed;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const auto prefixed = [&](char letter, int meant) {
    if ((base != 0 && base != meant) || rest.size() < 2 || rest[0] != '0' || (rest[1] | 0x20) != letter) return false;
    rest.remove_prefix(2);
    if (rest.starts_with('_')) rest.remove_prefix(1);
    base = meant;
    return true;
  };
  if (!prefixed('x', 16) && !prefixed('o', 8) && !prefixed('b', 2) && base == 0) {
    if (rest.size() > 1 && rest[0] == '0' && rest.find_first_not_of("0_") != rest.npos) return std::nullopt;
    base = 10;
  }
  const auto digits = WithoutUnderscores(rest);
  if (!digits || digits->empty() || digits->front() == '-' || digits->front() == '+') return std::nullopt;
  std::uint64_t magnitude = 0;
  const char* end = digits->data() + digits->size();
  const auto [stop, error] = std::from_chars(digits->data(), end, magnitude, static_cast<int>(base));
  if (stop != end) return std::nullopt;
  const std::uint64_t limit = (std::uint64_t{1} << 63) - (negative ? 0 : 1);
  if (error != std::errc() || magnitude > limit) FailUnsupported("a number does not fit into 64 bits");
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<double> ParseFloat(std::string_view text) {
  const auto plain = WithoutUnderscores(Trimmed(text));
  if (!plain || plain->empty()) return std::nullopt;
  std::string_view rest = *plain;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::string lower(rest);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  double number = 0;
  if (lower == "inf" || lower == "infinity") {
    number = std::numeric_limits<double>::infinity();
  } else if (lower == "nan") {
    number = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (rest.empty() || rest.find_first_not_of("0123456789.eE+-") != rest.npos || rest[0] == '-' || rest[0] == '+') {
      return std::nullopt;
    }
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (stop != rest.data() + rest.size()) return std::nullopt;
    // Beyond the range from_chars leaves the number alone; strtod gives infinity or zero, as Python does.
    if (error == std::errc::result_out_of_range) number = std::strtod(std::string(rest).c_str(), nullptr);
  }
  return negative ? -number : number;
}

std::optional<std::int64_t> Truncated(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  if (number >= 0x1p63 || number < -0x1p63) FailUnsupported("a number does not fit into 64 bits");
  return static_cast<std::int64_t>(number);
}

double Rounded(double number, std::int64_t digits) {
  if (!std::isfinite(number) || number == 0 || digits > 323) return number;
  if (digits < -308) return std::copysign(0.0, number);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(number / unit) * unit;
  }
  // The C library rounds the exact binary value, half to even, as CPython does.
  const int size = std::snprintf(nullptr, 0, "%.*f", static_cast<int>(digits), number);
  std::string written(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(written.data(), written.size(), "%.*f", static_cast<int>(digits), number);
  written.pop_back();
  std::from_chars(written.data(), written.data() + written.size(), number);
  return number;
}

}  // namespace mconnect::jinja
