// Formatting: "%s" % value and "{}".format(value).

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/text/template/characters.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/template/numbers.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"
#include "runtime/text/template/text_functions.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

constexpr std::int64_t kMaxPrecision = 1000;

// How one value is written, of either syntax.
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > = ^, or 0: by the type
  char sign = '-';
  bool alternate = false;
  bool grouped = false;
  std::int64_t width = 0;
  std::int64_t precision = -1;
  char type = 0;
};

std::string Digits(std::uint64_t magnitude, unsigned base, bool upper) {
  const char* letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), letters[magnitude % base]);
    magnitude /= base;
  } while (magnitude > 0);
  return digits;
}

std::string Printed(const char* format, std::int64_t precision, double number) {
  const int size = std::snprintf(nullptr, 0, format, static_cast<int>(precision), number);
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), format, static_cast<int>(precision), number);
  text.pop_back();
  return text;
}

void Group(std::string* digits) {
  const std::size_t end = std::min(digits->find_first_of(".eE"), digits->size());
  for (std::size_t at = end; at > 3; at -= 3) digits->insert(at - 3, ",");
}

// Sign, digits and padding of a number.
Text Assemble(bool negative, const std::string& prefix, std::string digits, const Spec& spec, Budget& budget) {
  if (spec.grouped) Group(&digits);
  const std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (spec.align == '=') {
    const auto taken = static_cast<std::int64_t>(sign.size() + prefix.size());
    Text text(sign + prefix);
    text.Append(Padded(Text(digits), spec.width - taken, spec.fill, Align::kRight, budget));
    return text;
  }
  const Align align = spec.align == '<' ? Align::kLeft : spec.align == '^' ? Align::kFormatCenter : Align::kRight;
  return Padded(Text(sign + prefix + digits), spec.width, spec.fill, align, budget);
}

Text FormatInt(std::int64_t number, const Spec& spec, Budget& budget) {
  const auto magnitude = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
  switch (spec.type) {
    case 'x':
      return Assemble(number < 0, spec.alternate ? "0x" : "", Digits(magnitude, 16, false), spec, budget);
    case 'X':
      return Assemble(number < 0, spec.alternate ? "0X" : "", Digits(magnitude, 16, true), spec, budget);
    case 'o':
      return Assemble(number < 0, spec.alternate ? "0o" : "", Digits(magnitude, 8, false), spec, budget);
    case 'b':
      return Assemble(number < 0, spec.alternate ? "0b" : "", Digits(magnitude, 2, false), spec, budget);
    default:
      return Assemble(number < 0, "", std::to_string(magnitude), spec, budget);
  }
}

Text FormatFloat(double number, const Spec& spec, Budget& budget) {
  const bool negative = std::signbit(number) && !std::isnan(number);
  const double magnitude = std::abs(number);
  const std::int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  if (precision > kMaxPrecision) FailUnsupported("a precision beyond " + std::to_string(kMaxPrecision));
  const bool upper = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
  std::string digits;
  if (!std::isfinite(number)) {
    digits = std::isnan(number) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
    if (spec.type == '%') digits += '%';
  } else if (spec.type == '%') {
    digits = Printed("%.*f", precision, magnitude * 100) + "%";
  } else if (spec.type == 'e' || spec.type == 'E') {
    digits = Printed(upper ? "%.*E" : "%.*e", precision, magnitude);
  } else if (spec.type == 'g' || spec.type == 'G') {
    digits = Printed(upper ? "%.*G" : "%.*g", std::max<std::int64_t>(precision, 1), magnitude);
  } else if (spec.type == 0) {
    if (spec.precision >= 0) FailUnsupported("a precision without a type");
    digits = FloatRepr(magnitude);
  } else {
    digits = Printed("%.*f", precision, magnitude);
  }
  return Assemble(negative, "", std::move(digits), spec, budget);
}

Text FormatText(const Text& text, const Spec& spec, Budget& budget) {
  Text part =
      spec.precision < 0 ? text : text.Slice(0, ByteOffset(text.bytes(), static_cast<std::size_t>(spec.precision)));
  const Align align = spec.align == '>' ? Align::kRight : spec.align == '^' ? Align::kFormatCenter : Align::kLeft;
  return Padded(part, spec.width, spec.fill, align, budget);
}

std::int64_t ReadNumber(std::string_view text, std::size_t* at, std::int64_t absent) {
  std::int64_t number = absent;
  for (; *at < text.size() && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
    number = std::max<std::int64_t>(number, 0) * 10 + (text[*at] - '0');
    if (number > std::int64_t{1} << 32) Fail("a width or precision is too large");
  }
  return number;
}

// One conversion of the % syntax; `value` is null for "%%".
Text Convert(const Value& value, Spec spec, bool zero, Budget& budget) {
  const char type = spec.type;
  if (type == 's' || type == 'r' || type == 'a') {
    if (type == 'a') FailUnsupported("the conversion '%a'");
    Text text;
    if (type == 's') {
      text = value.AsText() ? *value.AsText() : Str(value, budget);
    } else {
      PrintRepr(value, &text, budget);
    }
    if (spec.align == 0) spec.align = '>';
    return FormatText(text, spec, budget);
  }
  if (type == 'c') {
    Text text;
    if (const auto point = ToInt(value)) {
      if (*point < 0 || *point > 0x10FFFF || (*point >= 0xD800 && *point < 0xE000)) Fail("%c arg not in range");
      std::string bytes;
      unicode::AppendUtf8(static_cast<char32_t>(*point), &bytes);
      text = Text(std::move(bytes));
    } else {
      text = ExpectText(value, "%c");
      if (unicode::CountChars(text.bytes()) != 1) Fail("%c requires int or char");
    }
    if (spec.align == 0) spec.align = '>';
    return FormatText(text, spec, budget);
  }
  if (zero && spec.align != '<') {
    spec.align = '=';
    spec.fill = "0";
  }
  if (std::string_view("eEfFgG").find(type) != std::string_view::npos) {
    const auto number = ToFloat(value);
    if (!number) ExpectInt(value, "a number to format");
    return FormatFloat(*number, spec, budget);
  }
  if (std::string_view("diuxXo").find(type) == std::string_view::npos) {
    Fail("unsupported format character '" + std::string(1, type) + "'");
  }
  std::optional<std::int64_t> number = ToInt(value);
  if (!number && value.AsFloat() && type != 'x' && type != 'X' && type != 'o') number = Truncated(*value.AsFloat());
  if (!number) number = ExpectInt(value, "a number to format");
  if (spec.precision > 0) FailUnsupported("the precision of an integer");
  if (type == 'i' || type == 'u') spec.type = 'd';
  return FormatInt(*number, spec, budget);
}

// Reads "[[fill]align][sign][#][0][width][,][.precision][type]".
Spec ParseSpec(const std::string& text) {
  Spec spec;
  std::size_t at = 0;
  const auto is_align = [&](std::size_t i) {
    return i < text.size() && std::string_view("<>=^").find(text[i]) != std::string_view::npos;
  };
  const std::size_t after_fill = ByteOffset(text, 1);
  if (!text.empty() && is_align(after_fill)) {
    spec.fill = text.substr(0, after_fill);
    spec.align = text[after_fill];
    at = after_fill + 1;
  } else if (is_align(0)) {
    spec.align = text[0];
    at = 1;
  }
  const auto take = [&](char c) { return at < text.size() && text[at] == c ? (++at, true) : false; };
  if (at < text.size() && (text[at] == '+' || text[at] == '-' || text[at] == ' ')) spec.sign = text[at++];
  spec.alternate = take('#');
  if (take('0') && spec.align == 0) {
    spec.align = '=';
    spec.fill = "0";
  }
  spec.width = ReadNumber(text, &at, 0);
  spec.grouped = take(',');
  if (take('.')) {
    spec.precision = ReadNumber(text, &at, -1);
    if (spec.precision < 0) Fail("Format specifier missing precision");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) Fail("Invalid format specifier '" + text + "'");
  return spec;
}

// format(value, spec)
Text FormatValue(const Value& value, const std::string& written, Budget& budget) {
  const Text* text = value.AsText();
  if (written.empty()) return text ? *text : Str(value, budget);
  const Spec spec = ParseSpec(written);
  const auto unknown = [&]() {
    Fail("Unknown format code '" + std::string(1, spec.type) + "' for '" + std::string(value.type_name()) + "'");
  };
  if (text) {
    if (spec.type != 0 && spec.type != 's') unknown();
    if (spec.align == '=' || spec.sign != '-' || spec.alternate || spec.grouped)
      Fail("the format is not one of strings");
    return FormatText(*text, spec, budget);
  }
  const auto integer = ToInt(value);
  const bool real_type = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type != 0;
  if (integer && !real_type) {
    if (spec.precision >= 0) Fail("Precision not allowed in integer format specifier");
    if (spec.type == 'c' || spec.type == 'n') FailUnsupported("the format '" + written + "'");
    if (spec.type != 0 && std::string_view("dxXob").find(spec.type) == std::string_view::npos) unknown();
    if (value.AsBool() && spec.type == 0) FailUnsupported("the format '" + written + "' of a bool");
    return FormatInt(*integer, spec, budget);
  }
  if (const auto number = ToFloat(value)) {
    if (spec.type == 'n') FailUnsupported("the format '" + written + "'");
    if (spec.type != 0 && !real_type) unknown();
    return FormatFloat(*number, spec, budget);
  }
  Fail("unsupported format string passed to '" + std::string(value.type_name()) + "'");
}

// A field's name: "0", "name", "name.attribute[item]", or empty for the next one.
Value Lookup(std::string_view name, const Arguments& arguments, std::int64_t* next, Environment& environment) {
  const std::size_t end = std::min(name.find_first_of(".["), name.size());
  const std::string first(name.substr(0, end));
  Value value;
  const bool number = first.find_first_not_of("0123456789") == std::string::npos;
  if (number) {
    if (first.empty() ? *next < 0 : *next > 0) Fail("cannot mix automatic and manual field numbering");
    std::int64_t index = first.empty() ? (*next)++ : (*next = -1, ParseInt(first).value_or(0));
    if (index >= static_cast<std::int64_t>(arguments.positional.size())) {
      Fail("Replacement index " + std::to_string(index) + " out of range for positional args tuple");
    }
    value = arguments.positional[static_cast<std::size_t>(index)];
  } else {
    const auto found = std::ranges::find(arguments.named, first, &std::pair<std::string, Value>::first);
    if (found == arguments.named.end()) Fail("format() lacks the argument '" + first + "'");
    value = found->second;
  }
  for (std::size_t at = end; at < name.size();) {
    const bool item = name[at] == '[';
    const std::size_t stop = item ? name.find(']', at) : std::min(name.find_first_of(".[", at + 1), name.size());
    if (stop == name.npos) Fail("Missing ']' in format string");
    const std::string part(name.substr(at + 1, stop - at - 1));
    if (part.empty()) Fail("Empty attribute in format string");
    if (item) {
      const bool index = part.find_first_not_of("0123456789") == std::string::npos;
      value = environment.GetItem(value, index ? Value(ParseInt(part).value_or(0)) : Value(part));
    } else {
      value = environment.GetItem(value, Value(part));
    }
    at = stop + (item ? 1 : 0);
  }
  return value;
}

}  // namespace

Value PercentFormat(const Text& format, const Value& value, Budget& budget) {
  const Sequence* tuple = value.AsSequence();
  if (tuple && tuple->type != Sequence::Type::kTuple && tuple->type != Sequence::Type::kGroup) tuple = nullptr;
  const Dict* dict = value.AsDict();
  std::size_t used = 0;
  const auto next = [&]() -> const Value& {
    const std::size_t count = tuple ? tuple->items.size() : 1;
    if (used >= count) Fail("not enough arguments for format string");
    return tuple ? tuple->items[used++] : (++used, value);
  };
  const std::string& text = format.bytes();
  Text result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t percent = std::min(text.find('%', at), text.size());
    budget.Bytes(result.size() + percent - at);
    result.AppendSlice(format, at, percent);
    at = percent + 1;
    if (percent == text.size()) break;
    const Value* named = nullptr;
    if (at < text.size() && text[at] == '(') {
      const std::size_t close = text.find(')', at);
      if (close == std::string::npos) Fail("incomplete format key");
      if (!dict) Fail("format requires a mapping");
      named = dict->Find(std::string_view(text).substr(at + 1, close - at - 1));
      if (!named) Fail("format: no value for the key '" + text.substr(at + 1, close - at - 1) + "'");
      at = close + 1;
    }
    Spec spec;
    bool zero = false;
    for (; at < text.size() && std::string_view("-+ #0").find(text[at]) != std::string_view::npos; ++at) {
      if (text[at] == '-') spec.align = '<';
      if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
      if (text[at] == '#') spec.alternate = true;
      if (text[at] == '0') zero = true;
    }
    if (at < text.size() && text[at] == '*') FailUnsupported("a width of '*'");
    spec.width = ReadNumber(text, &at, 0);
    if (at < text.size() && text[at] == '.') {
      ++at;
      if (at < text.size() && text[at] == '*') FailUnsupported("a precision of '*'");
      spec.precision = ReadNumber(text, &at, 0);
    }
    if (at == text.size()) Fail("incomplete format");
    spec.type = text[at++];
    if (spec.type == '%') {
      result.Append("%");
      continue;
    }
    Text converted = Convert(named ? *named : next(), spec, zero, budget);
    if (format.markup()) converted = Escaped(converted, budget);
    budget.Bytes(result.size() + converted.size());
    result.Append(converted);
  }
  if (tuple ? used < tuple->items.size() : used == 0 && !dict && !(value.AsSequence())) {
    Fail("not all arguments converted during string formatting");
  }
  result.set_markup(format.markup());
  return Value(std::move(result));
}

Value BraceFormat(const Text& format, const Arguments& arguments, Environment& environment) {
  Budget& budget = environment.budget();
  const std::string& text = format.bytes();
  Text result;
  std::int64_t next = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
    budget.Bytes(result.size() + brace - at);
    result.AppendSlice(format, at, brace);
    if (brace == text.size()) break;
    at = brace + 1;
    if (at < text.size() && text[at] == text[brace]) {
      result.AppendSlice(format, brace, at++);
      continue;
    }
    if (text[brace] == '}') Fail("Single '}' encountered in format string");
    const std::size_t close = text.find('}', at);
    if (close == std::string::npos) Fail("expected '}' before end of string");
    std::string_view field = std::string_view(text).substr(at, close - at);
    if (field.find('{') != field.npos) FailUnsupported("a format within a format");
    at = close + 1;
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string spec(field.substr(std::min(colon + 1, field.size())));
    field = field.substr(0, colon);
    char conversion = 0;
    if (field.size() >= 2 && field[field.size() - 2] == '!') {
      conversion = field.back();
      field.remove_suffix(2);
    }
    Value value = Lookup(field, arguments, &next, environment);
    if (conversion == 's') {
      value = Value(Str(value, budget));
    } else if (conversion == 'r') {
      Text repr;
      PrintRepr(value, &repr, budget);
      value = Value(std::move(repr));
    } else if (conversion != 0) {
      FailUnsupported("the conversion '!" + std::string(1, conversion) + "'");
    }
    Text written = FormatValue(value, spec, budget);
    if (format.markup()) written = Escaped(written, budget);
    budget.Bytes(result.size() + written.size());
    result.Append(written);
  }
  result.set_markup(format.markup());
  return Value(std::move(result));
}

}  // namespace mconnect::jinja
