#include "runtime/text/template/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "runtime/text/template/characters.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/template/loop.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

using Type = Sequence::Type;

std::string Hex(char32_t c, int digits) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(static_cast<std::size_t>(digits), '0');
  for (int i = digits - 1; i >= 0; --i, c >>= 4) hex[static_cast<std::size_t>(i)] = kDigits[c & 0xF];
  return hex;
}

void PrintTextRepr(const Text& text, Text* out, Budget& budget) {
  budget.Bytes(out->size() + text.size());
  const bool single = text.bytes().find('\'') != std::string::npos;
  const char quote = single && text.bytes().find('"') == std::string::npos ? '"' : '\'';
  out->Append(std::string_view(&quote, 1));
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = unicode::Next(text.bytes(), &at);
    std::string written;
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      written = {'\\', static_cast<char>(c)};
    } else if (c == '\n') {
      written = "\\n";
    } else if (c == '\r') {
      written = "\\r";
    } else if (c == '\t') {
      written = "\\t";
    } else if (IsPrintable(c)) {
      written = text.bytes().substr(begin, at - begin);
    } else {
      written = c < 0x100 ? "\\x" + Hex(c, 2) : c < 0x10000 ? "\\u" + Hex(c, 4) : "\\U" + Hex(c, 8);
    }
    out->Append(written, text.IsUser(begin));
  }
  out->Append(std::string_view(&quote, 1));
}

void PrintItems(const Values& items, std::string_view open, std::string_view close, Text* out, Budget& budget) {
  out->Append(open);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out->Append(", ");
    PrintRepr(items[i], out, budget);
  }
  out->Append(close);
}

void PrintSequence(const Sequence& sequence, Text* out, Budget& budget) {
  switch (sequence.type) {
    case Type::kList:
      return PrintItems(sequence.items, "[", "]", out, budget);
    case Type::kTuple:
    case Type::kGroup:
      return PrintItems(sequence.items, "(", sequence.items.size() == 1 ? ",)" : ")", out, budget);
    case Type::kKeys:
      return PrintItems(sequence.items, "dict_keys([", "])", out, budget);
    case Type::kValues:
      return PrintItems(sequence.items, "dict_values([", "])", out, budget);
    case Type::kItems:
      return PrintItems(sequence.items, "dict_items([", "])", out, budget);
    case Type::kRange:
      out->Append("range(" + std::to_string(sequence.range[0]) + ", " + std::to_string(sequence.range[1]));
      if (sequence.range[2] != 1) out->Append(", " + std::to_string(sequence.range[2]));
      return out->Append(")");
    case Type::kIterator:
      FailUnsupported("printing a generator, which Python prints with an address");
  }
}

void PrintDict(const Dict& dict, Text* out, Budget& budget) {
  out->Append("{");
  bool first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!first) out->Append(", ");
    first = false;
    PrintRepr(key, out, budget);
    out->Append(": ");
    PrintRepr(value, out, budget);
  }
  out->Append("}");
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Text* out, Budget& budget) : style_(style), out_(out), budget_(budget) {}

  void Write(const Value& value, int level) {
    budget_.Step();
    if (const Text* text = value.AsText()) return WriteText(*text);
    if (const Sequence* sequence = value.AsSequence()) {
      if (sequence->type == Type::kList || sequence->type == Type::kTuple || sequence->type == Type::kGroup) {
        return WriteList(*sequence, level);
      }
    } else if (const Dict* dict = value.AsDict()) {
      return WriteDict(*dict, level);
    } else if (const auto scalar = Scalar(value)) {
      return out_->Append(*scalar);
    }
    Fail("Object of type " + std::string(value.type_name()) + " is not JSON serializable");
  }

 private:
  static std::optional<std::string> Scalar(const Value& value) {
    if (value.none()) return "null";
    if (const bool* boolean = value.AsBool()) return *boolean ? "true" : "false";
    if (const std::int64_t* number = value.AsInt()) return std::to_string(*number);
    const double* number = value.AsFloat();
    if (!number) return std::nullopt;
    if (std::isnan(*number)) return "NaN";
    if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
    return FloatRepr(*number);
  }

  void WriteText(const Text& text) {
    budget_.Bytes(out_->size() + text.size());
    out_->Append("\"");
    std::size_t done = 0;  // what needs no escape is copied in one piece
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      const char32_t c = unicode::Next(text.bytes(), &at);
      const std::string escape = Escape(c);
      if (escape.empty()) continue;
      out_->AppendSlice(text, done, begin);
      out_->Append(escape, text.IsUser(begin));
      done = at;
    }
    out_->AppendSlice(text, done, text.size());
    out_->Append("\"");
  }

  std::string Escape(char32_t c) const {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '\n':
        return "\\n";
      case '\r':
        return "\\r";
      case '\t':
        return "\\t";
      case '\f':
        return "\\f";
      case '\b':
        return "\\b";
      default:
        break;
    }
    if (c >= 0x20 && (!style_.ensure_ascii || c < 0x7F)) return "";
    if (c < 0x10000) return "\\u" + Hex(c, 4);
    c -= 0x10000;
    return "\\u" + Hex(0xD800 + (c >> 10), 4) + "\\u" + Hex(0xDC00 + (c & 0x3FF), 4);
  }

  void Break(int level) {
    if (!style_.indented) return;
    budget_.Bytes(out_->size() + style_.indent.size() * static_cast<std::size_t>(level));
    out_->Append("\n");
    for (int i = 0; i < level; ++i) out_->Append(style_.indent);
  }

  void WriteList(const Sequence& sequence, int level) {
    if (sequence.items.empty()) return out_->Append("[]");
    out_->Append("[");
    for (std::size_t i = 0; i < sequence.items.size(); ++i) {
      if (i > 0) out_->Append(style_.item_separator);
      Break(level + 1);
      Write(sequence.items[i], level + 1);
    }
    Break(level);
    out_->Append("]");
  }

  void WriteDict(const Dict& dict, int level) {
    if (dict.size() == 0) return out_->Append("{}");
    std::vector<Dict::Entry> entries = dict.entries();
    if (style_.sort_keys) {
      std::ranges::stable_sort(entries, [](const auto& a, const auto& b) { return Less(a.first, b.first); });
    }
    out_->Append("{");
    bool first = true;
    for (const auto& [key, value] : entries) {
      if (!first) out_->Append(style_.item_separator);
      first = false;
      Break(level + 1);
      WriteKey(key);
      out_->Append(style_.key_separator);
      Write(value, level + 1);
    }
    Break(level);
    out_->Append("}");
  }

  void WriteKey(const Value& key) {
    if (const Text* text = key.AsText()) return WriteText(*text);
    const auto scalar = Scalar(key);
    if (!scalar) Fail("keys must be str, int, float, bool or None, not " + std::string(key.type_name()));
    out_->Append("\"" + *scalar + "\"");
  }

  const JsonStyle& style_;
  Text* out_;
  Budget& budget_;
};

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  std::string_view written(buffer.data(), static_cast<std::size_t>(end - buffer.data()));  // [-]d[.ddd]e±xx
  std::string result;
  if (written.front() == '-') {
    result = "-";
    written.remove_prefix(1);
  }
  const std::size_t e = written.find('e');
  int exponent = 0;
  const std::string_view power = written.substr(e + (written[e + 1] == '+' ? 2 : 1));
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  std::string digits(1, written.front());
  if (e > 1) digits += written.substr(2, e - 2);
  if (exponent < -4 || exponent >= 16) {
    result += digits.substr(0, 1);
    if (digits.size() > 1) result += "." + digits.substr(1);
    const std::string magnitude = std::to_string(std::abs(exponent));
    return result + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
  }
  if (exponent < 0) return result + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return result + digits + std::string(whole - digits.size(), '0') + ".0";
  return result + digits.substr(0, whole) + "." + digits.substr(whole);
}

void PrintRepr(const Value& value, Text* out, Budget& budget) {
  const Text* text = value.AsText();
  if (value.undefined()) {
    out->Append("Undefined");
  } else if (text) {
    if (text->markup()) out->Append("Markup(");
    PrintTextRepr(*text, out, budget);
    if (text->markup()) out->Append(")");
  } else {
    Print(value, out, budget);
  }
}

void Print(const Value& value, Text* out, Budget& budget) {
  budget.Step();
  if (const Text* text = value.AsText()) {
    budget.Bytes(out->size() + text->size());
    out->Append(*text);
  } else if (value.none()) {
    out->Append("None");
  } else if (const bool* boolean = value.AsBool()) {
    out->Append(*boolean ? "True" : "False");
  } else if (const std::int64_t* integer = value.AsInt()) {
    out->Append(std::to_string(*integer));
  } else if (const double* number = value.AsFloat()) {
    out->Append(FloatRepr(*number));
  } else if (const Sequence* sequence = value.AsSequence()) {
    PrintSequence(*sequence, out, budget);
  } else if (const Dict* dict = value.AsDict()) {
    PrintDict(*dict, out, budget);
  } else if (const Namespace* space = value.AsNamespace()) {
    const Budget::Level level(budget);  // it may hold itself
    out->Append("<Namespace ");
    PrintDict(space->attributes, out, budget);
    out->Append(">");
  } else if (value.AsLoop()) {
    Loop& loop = *value.AsLoop();
    out->Append("<LoopContext " + std::to_string(loop.index0() + 1) + "/" + std::to_string(loop.length()) + ">");
  } else if (const Function* function = value.AsFunction()) {
    if (!function->macro) FailUnsupported("printing the function '" + function->name + "'");
    out->Append(function->name.empty() ? "<Macro anonymous>" : "<Macro '" + std::string(function->name) + "'>");
  }
}

Text Str(const Value& value, Budget& budget) {
  Text text;
  Print(value, &text, budget);
  return text;
}

Text Escaped(const Text& text, Budget& budget) {
  if (text.markup()) return text;
  budget.Bytes(text.size());
  Text result;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string_view escape;
    switch (text.bytes()[at]) {
      case '&':
        escape = "&amp;";
        break;
      case '<':
        escape = "&lt;";
        break;
      case '>':
        escape = "&gt;";
        break;
      case '"':
        escape = "&#34;";
        break;
      case '\'':
        escape = "&#39;";
        break;
      default:
        continue;
    }
    result.AppendSlice(text, done, at);
    result.Append(escape, text.IsUser(at));
    done = at + 1;
  }
  result.AppendSlice(text, done, text.size());
  result.set_markup(true);
  return result;
}

Text Concatenated(const Text& a, const Text& b, Budget& budget) {
  budget.Bytes(a.size() + b.size());
  if (a.markup() != b.markup()) return Concatenated(Escaped(a, budget), Escaped(b, budget), budget);
  Text result = a;
  result.Append(b);
  return result;
}

Text ToJson(const Value& value, const JsonStyle& style, Budget& budget) {
  Text result;
  JsonWriter(style, &result, budget).Write(value, 0);
  return result;
}

}  // namespace mconnect::jinja
