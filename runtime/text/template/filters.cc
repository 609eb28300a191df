// Filters on one value.

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/text/template/attributes.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/template/numbers.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"
#include "runtime/text/template/text_functions.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

// markupsafe.soft_str: strings as they are, other values as str() prints them.
Text SoftStr(const Value& value, Budget& budget) {
  const Text* text = value.AsText();
  return text ? *text : Str(value, budget);
}

Value Default(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("default", arguments, {"default_value", "boolean"});
  return value.undefined() || (p.Flag(1, false) && !Truth(value)) ? p.Or(0, Value("")) : value;
}

Value String(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("string", arguments, {});
  return value.AsText() ? value : Value(Str(value, env.budget()));
}

template <Case kCase>
Value ChangeCase(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("upper, lower", arguments, {});
  return Value(ToCase(SoftStr(value, env.budget()), kCase));
}

Value Capitalize(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("capitalize", arguments, {});
  return FindTextMethod("capitalize")(env, Value(SoftStr(value, env.budget())), Arguments());
}

// Upper case behind white space and brackets, lower case elsewhere.
Value Title(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("title", arguments, {});
  const Text text = SoftStr(value, env.budget());
  env.budget().Bytes(text.size());
  const auto separates = [](char32_t c) {
    return IsSpace(c) || std::u32string_view(U"-({[<").find(c) != std::u32string_view::npos;
  };
  Text result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    std::size_t first = at;
    const bool separator = separates(unicode::Next(text.bytes(), &first));
    for (std::size_t next = at; at < text.size(); at = next) {
      if (separates(unicode::Next(text.bytes(), &next)) != separator) break;
    }
    const Text part = text.Slice(begin, at);  // its case is its own: a sigma does not look beyond it
    AppendCase(part, 0, first - begin, Case::kUpper, &result);
    const Text rest = part.Slice(first - begin, part.size());
    AppendCase(rest, 0, rest.size(), Case::kLower, &result);
  }
  return Value(std::move(result));
}

Value Trim(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("trim", arguments, {"chars"});
  const Text text = SoftStr(value, env.budget());
  return Value(Strip(text, p.IsNone(0) ? nullptr : &ExpectText(p[0], "the argument of trim"), true, true));
}

Value Replace(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("replace", arguments, {"old", "new", "count"}, 2);
  const Text text = Str(value, env.budget());
  Text plain;
  plain.Append(text);
  return Value(
      Replaced(plain, Str(p[0], env.budget()), Str(p[1], env.budget()), p.IsNone(2) ? -1 : p.Int(2, -1), env.budget()));
}

Value Indent(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("indent", arguments, {"width", "first", "blank"});
  Text indention;
  if (p.Has(0) && p[0].AsText()) {
    indention = *p[0].AsText();
  } else {
    const Value space(" ");
    indention = *Arithmetic("mul", space, p.Or(0, Value(std::int64_t{4})), env.budget()).AsText();
  }
  Text text = ExpectText(value, "the value of indent");
  const bool markup = text.markup();
  text.Append("\n");  // so that a last empty line counts
  std::vector<Text> lines = SplitLines(text);
  const bool blank = p.Flag(2, false);
  Text result;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    env.budget().Bytes(result.size() + indention.size() + lines[i].size());
    if (i > 0) result.Append("\n");
    if (i > 0 ? blank || !lines[i].empty() : p.Flag(1, false)) result.Append(indention);
    result.Append(lines[i]);
  }
  result.set_markup(markup);
  return Value(std::move(result));
}

Value Truncate(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const Text& text = ExpectText(value, "the value of truncate");
  const Text end = p.Has(2) ? ExpectText(p[2], "the end of truncate") : Text("...");
  const std::int64_t length = p.Int(0, 255);
  const std::int64_t leeway = p.IsNone(3) ? 5 : p.Int(3, 5);
  const auto end_length = static_cast<std::int64_t>(unicode::CountChars(end.bytes()));
  if (length < end_length) Fail("truncate: the length is shorter than the end");
  if (leeway < 0) Fail("truncate: the leeway is negative");
  env.budget().Bytes(text.size());
  if (static_cast<std::int64_t>(unicode::CountChars(text.bytes())) - leeway <= length) return value;
  Text kept = text.Slice(0, ByteOffset(text.bytes(), static_cast<std::size_t>(length - end_length)));
  if (!p.Flag(1, false)) {
    const std::size_t space = kept.bytes().rfind(' ');
    if (space != std::string::npos) kept = kept.Slice(0, space);
  }
  return Value(Concatenated(kept, end, env.budget()));
}

Value Center(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("center", arguments, {"width"});
  return Value(Padded(SoftStr(value, env.budget()), p.Int(0, 80), " ", Align::kCenter, env.budget()));
}

Value WordCount(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("wordcount", arguments, {});
  const Text text = SoftStr(value, env.budget());
  std::int64_t count = 0;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = unicode::Next(text.bytes(), &at);
    const bool word = IsAlnum(c) || c == '_';
    count += word && !in_word;
    in_word = word;
  }
  return Value(count);
}

Value Escape(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("escape", arguments, {});
  return Value(Escaped(SoftStr(value, env.budget()), env.budget()));
}

Value Safe(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("safe", arguments, {});
  Text text = Str(value, env.budget());
  text.set_markup(true);
  return Value(std::move(text));
}

Value FormatFilter(Environment& env, const Value& value, const Arguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    Fail("format: positional and named arguments at the same time");
  }
  if (arguments.named.empty()) {
    return PercentFormat(SoftStr(value, env.budget()), MakeTuple(arguments.positional), env.budget());
  }
  Dict named;
  for (const auto& [name, argument] : arguments.named) named.Set(Value(name), argument);
  return PercentFormat(SoftStr(value, env.budget()), Value(std::move(named)), env.budget());
}

Value ToJsonFilter(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = p.Flag(0, false);
  style.sort_keys = p.Flag(3, false);
  if (!p.IsNone(1)) {
    style.indented = true;
    style.item_separator = Text(",");
    if (const Text* indent = p[1].AsText()) {
      style.indent = *indent;
    } else {
      style.indent = *Arithmetic("mul", Value(" "), p[1], env.budget()).AsText();
    }
  }
  if (!p.IsNone(2)) {
    const Values separators = Iterate(p[2], env.budget());
    if (separators.size() != 2) Fail("tojson: separators must be two strings");
    style.item_separator = ExpectText(separators[0], "a separator of tojson");
    style.key_separator = ExpectText(separators[1], "a separator of tojson");
  }
  return Value(ToJson(value, style, env.budget()));
}

Value Int(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("int", arguments, {"default", "base"});
  const Value absent = p.Or(0, Value(std::int64_t{0}));
  std::optional<std::int64_t> number;
  if (const Text* text = value.AsText()) {
    number = ParseInt(text->bytes(), p.Int(1, 10));
    if (!number) {
      if (const auto real = ParseFloat(text->bytes())) number = Truncated(*real);
    }
  } else if (const double* real = value.AsFloat()) {
    if (std::isinf(*real)) Fail("cannot convert float infinity to integer");
    number = Truncated(*real);
  } else if (value.undefined()) {
    ExpectInt(value, "int");
  } else {
    number = ToInt(value);
  }
  return number ? Value(*number) : absent;
}

Value Float(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("float", arguments, {"default"});
  if (value.undefined()) ExpectInt(value, "float");
  const Text* text = value.AsText();
  const auto number = text ? ParseFloat(text->bytes()) : ToFloat(value);
  return number ? Value(*number) : p.Or(0, Value(0.0));
}

Value Abs(Environment&, const Value& value, const Arguments& arguments) {
  const Parameters p("abs", arguments, {});
  if (const double* number = value.AsFloat()) return Value(std::abs(*number));
  return ExpectInt(value, "the value of abs") < 0 ? Negative(value) : Positive(value);
}

Value Round(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("round", arguments, {"precision", "method"});
  const std::int64_t digits = p.Int(0, 0);
  const std::string method = p.Has(1) ? ExpectText(p[1], "the method of round").bytes() : "common";
  if (method == "common") {
    if (const double* number = value.AsFloat()) {
      const double rounded = Rounded(*number, digits);
      if (std::isinf(rounded) && std::isfinite(*number)) Fail("rounded value too large to represent");
      return Value(rounded);
    }
    const std::int64_t number = ExpectInt(value, "the value of round");
    if (digits >= 0) return Value(number);
    if (digits < -18) return Value(std::int64_t{0});
    std::int64_t unit = 1;
    for (std::int64_t i = digits; i < 0; ++i) unit *= 10;
    std::int64_t rest = number % unit;
    if (rest < 0) rest += unit;
    const bool up = rest > unit - rest || (rest == unit - rest && ((number - rest) / unit) % 2 != 0);
    return Arithmetic("add", Value(number - rest), Value(up ? unit : 0), env.budget());
  }
  if (method != "ceil" && method != "floor") Fail("round: the method must be common, ceil or floor");
  const Value power = Arithmetic("pow", Value(std::int64_t{10}), Value(digits), env.budget());
  const Value scaled = Arithmetic("mul", value, power, env.budget());
  const auto number = ToFloat(scaled);
  if (!number) Fail("round: the value is no number");
  Value whole = scaled;
  if (scaled.AsFloat()) {
    const auto integer = Truncated(method == "ceil" ? std::ceil(*number) : std::floor(*number));
    if (!integer) Fail("round: the value is infinite or not a number");
    whole = Value(*integer);
  }
  return Arithmetic("div", whole, power, env.budget());
}

Value LengthFilter(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("length", arguments, {});
  if (const Text* text = value.AsText()) env.budget().Step(text->size() / 64);
  const auto length = Length(value);
  if (!length) Fail("object of type '" + std::string(value.type_name()) + "' has no length");
  return Value(*length);
}

Value Attr(Environment& env, const Value& value, const Arguments& arguments) {
  const Parameters p("attr", arguments, {"name"}, 1);
  const auto found = env.FindAttribute(value, ExpectText(p[0], "the name of an attribute").bytes());
  return found ? *found : Value(Undefined{});
}

struct Entry {
  std::string_view name;
  Function::Body body;
};

constexpr auto kFilters = std::to_array<Entry>({
    {"abs", Abs},
    {"attr", Attr},
    {"capitalize", Capitalize},
    {"center", Center},
    {"count", LengthFilter},
    {"d", Default},
    {"default", Default},
    {"e", Escape},
    {"escape", Escape},
    {"float", Float},
    {"format", FormatFilter},
    {"indent", Indent},
    {"int", Int},
    {"length", LengthFilter},
    {"lower", ChangeCase<Case::kLower>},
    {"replace", Replace},
    {"round", Round},
    {"safe", Safe},
    {"string", String},
    {"title", Title},
    {"tojson", ToJsonFilter},
    {"trim", Trim},
    {"truncate", Truncate},
    {"upper", ChangeCase<Case::kUpper>},
    {"wordcount", WordCount},
});

}  // namespace

Function::Body FindFilter(std::string_view name) {
  const auto found = std::ranges::find(kFilters, name, &Entry::name);
  return found == kFilters.end() ? nullptr : found->body;
}

}  // namespace mconnect::jinja
