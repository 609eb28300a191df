// Values as text: Python's str(), repr(), json.dumps() and formatting. What the user supplied stays marked.
#ifndef MCONNECT_TEXT_TEMPLATE_PRINT_H_
#define MCONNECT_TEXT_TEMPLATE_PRINT_H_

#include <string>
#include <string_view>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/value.h"

namespace mconnect::jinja {

// Appends str(value). Fails for what Python prints with an address.
void Print(const Value& value, Text* out, Budget& budget);
Text Str(const Value& value, Budget& budget);

// Appends repr(value).
void PrintRepr(const Value& value, Text* out, Budget& budget);

// repr(float): the shortest digits that read back as the same number.
std::string FloatRepr(double value);

// a + b; where one is Markup, the other is escaped.
Text Concatenated(const Text& a, const Text& b, Budget& budget);

// markupsafe.escape: a string of Markup. Markup stays as it is.
Text Escaped(const Text& text, Budget& budget);

struct JsonStyle {
  bool ensure_ascii = false;
  bool indented = false;
  Text indent;  // of one level
  Text item_separator = Text(", ");
  Text key_separator = Text(": ");
  bool sort_keys = false;
};

// json.dumps(value).
Text ToJson(const Value& value, const JsonStyle& style, Budget& budget);

// text % value
Value PercentFormat(const Text& text, const Value& value, Budget& budget);

// text.format(*positional, **named)
Value BraceFormat(const Text& text, const Arguments& arguments, Environment& environment);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_PRINT_H_
