// Methods of strings.

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "runtime/text/template/characters.h"
#include "runtime/text/template/environment.h"
#include "runtime/text/template/operators.h"
#include "runtime/text/template/print.h"
#include "runtime/text/template/text_functions.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

const Text& Self(const Value& self) { return *self.AsText(); }

// An argument that is a string or absent or None.
const Text* OptionalText(const Parameters& p, std::size_t i, std::string_view what) {
  return p.IsNone(i) ? nullptr : &ExpectText(p[i], what);
}

Value List(std::vector<Text> parts) {
  Values items;
  items.reserve(parts.size());
  for (Text& part : parts) items.emplace_back(std::move(part));
  return MakeList(std::move(items));
}

template <bool kLeft, bool kRight>
Value StripMethod(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("strip", arguments, {"chars"});
  env.budget().Bytes(Self(self).size());
  return Value(Strip(Self(self), OptionalText(p, 0, "the argument of strip()"), kLeft, kRight));
}

template <bool kFromRight>
Value SplitMethod(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("split", arguments, {"sep", "maxsplit"});
  return List(Split(Self(self), OptionalText(p, 0, "the separator"), p.Int(1, -1), kFromRight, env.budget()));
}

Value SplitLinesMethod(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("splitlines", arguments, {"keepends"});
  env.budget().Bytes(Self(self).size());
  return List(SplitLines(Self(self), p.Flag(0, false)));
}

template <bool kFromRight>
Value Partition(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("partition", arguments, {"sep"}, 1);
  const Text& text = Self(self);
  const Text& separator = ExpectText(p[0], "the separator");
  if (separator.empty()) Fail("empty separator");
  env.budget().Bytes(text.size());
  const std::size_t at = kFromRight ? text.bytes().rfind(separator.bytes()) : text.bytes().find(separator.bytes());
  if (at == std::string::npos) {
    return kFromRight ? MakeTuple({Value(""), Value(""), self}) : MakeTuple({self, Value(""), Value("")});
  }
  const std::size_t after = at + separator.size();
  return MakeTuple({Value(text.Slice(0, at)), Value(text.Slice(at, after)), Value(text.Slice(after, text.size()))});
}

// The part of the text that optional start and end arguments select, in bytes; nothing where start lies behind the end.
std::optional<std::pair<std::size_t, std::size_t>> Window(const Text& text, const Parameters& p) {
  const auto length = static_cast<std::int64_t>(unicode::CountChars(text.bytes()));
  const auto bound = [&](std::size_t i, std::int64_t absent) {
    const std::int64_t given = p.IsNone(i) ? absent : p.Int(i, absent);
    return given < 0 ? std::max<std::int64_t>(given + length, 0) : given;
  };
  const std::int64_t start = bound(1, 0);
  const std::int64_t end = std::min(bound(2, length), length);
  if (start > end) return std::nullopt;
  return std::pair(ByteOffset(text.bytes(), static_cast<std::size_t>(start)),
                   ByteOffset(text.bytes(), static_cast<std::size_t>(end)));
}

template <bool kAtEnd>
Value StartsWith(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p(kAtEnd ? "endswith" : "startswith", arguments, {"prefix", "start", "end"}, 1);
  env.budget().Bytes(Self(self).size());
  const auto window = Window(Self(self), p);
  const auto matches = [&](const Value& affix) {
    const Text& text = ExpectText(affix, "the argument of startswith() or endswith()");
    if (!window) return false;
    const auto part = std::string_view(Self(self).bytes()).substr(window->first, window->second - window->first);
    return kAtEnd ? part.ends_with(text.bytes()) : part.starts_with(text.bytes());
  };
  const Sequence* several = p[0].AsSequence();
  if (several && several->type == Sequence::Type::kTuple) {
    return Value(std::ranges::any_of(several->items, matches));
  }
  return Value(matches(p[0]));
}

template <bool kFromRight, bool kMustExist>
Value Find(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p(kMustExist ? "index" : "find", arguments, {"sub", "start", "end"}, 1);
  const Text& text = Self(self);
  const std::string& sub = ExpectText(p[0], "the argument of find() or index()").bytes();
  env.budget().Bytes(text.size());
  if (const auto window = Window(text, p)) {
    const auto part = std::string_view(text.bytes()).substr(window->first, window->second - window->first);
    const std::size_t at = kFromRight ? part.rfind(sub) : part.find(sub);
    if (at != std::string_view::npos) {
      const auto before = std::string_view(text.bytes()).substr(0, window->first + at);
      return Value(static_cast<std::int64_t>(unicode::CountChars(before)));
    }
  }
  if (kMustExist) Fail("substring not found");
  return Value(std::int64_t{-1});
}

Value Count(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("count", arguments, {"sub", "start", "end"}, 1);
  const std::string& sub = ExpectText(p[0], "the argument of count()").bytes();
  env.budget().Bytes(Self(self).size());
  const auto window = Window(Self(self), p);
  if (!window) return Value(std::int64_t{0});
  const auto part = std::string_view(Self(self).bytes()).substr(window->first, window->second - window->first);
  if (sub.empty()) return Value(static_cast<std::int64_t>(unicode::CountChars(part)) + 1);
  std::int64_t count = 0;
  for (std::size_t at = part.find(sub); at != part.npos; at = part.find(sub, at + sub.size())) ++count;
  return Value(count);
}

Value Replace(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("replace", arguments, {"old", "new", "count"}, 2);
  const Text& from = ExpectText(p[0], "the first argument of replace()");
  const Text& to = ExpectText(p[1], "the second argument of replace()");
  const bool escapes = Self(self).markup();
  return Value(Replaced(Self(self), from, escapes ? Escaped(to, env.budget()) : to, p.Int(2, -1), env.budget()));
}

Value Join(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("join", arguments, {"iterable"}, 1);
  std::vector<Text> parts;
  for (const Value& item : Iterate(p[0], env.budget())) {
    const Text& part = ExpectText(item, "each item of join()");
    parts.push_back(Self(self).markup() ? Escaped(part, env.budget()) : part);
  }
  Text result = Joined(Self(self), parts, env.budget());
  result.set_markup(Self(self).markup());
  return Value(std::move(result));
}

template <Case kCase>
Value ToCaseMethod(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("upper, lower", arguments, {});
  env.budget().Bytes(Self(self).size());
  return Value(ToCase(Self(self), kCase));
}

Value Capitalize(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("capitalize", arguments, {});
  const Text& text = Self(self);
  env.budget().Bytes(text.size());
  Text result;
  const std::size_t first = ByteOffset(text.bytes(), 1);
  AppendCase(text, 0, first, Case::kTitle, &result);
  AppendCase(text, first, text.size(), Case::kLower, &result);
  result.set_markup(text.markup());
  return Value(std::move(result));
}

Value Title(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("title", arguments, {});
  const Text& text = Self(self);
  env.budget().Bytes(text.size());
  Text result;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = unicode::Next(text.bytes(), &at);
    AppendCase(text, begin, at, in_word ? Case::kLower : Case::kTitle, &result);
    in_word = IsCased(c);
  }
  result.set_markup(text.markup());
  return Value(std::move(result));
}

Value SwapCase(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("swapcase", arguments, {});
  const Text& text = Self(self);
  env.budget().Bytes(text.size());
  Text result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = unicode::Next(text.bytes(), &at);
    if (IsUpper(c) || IsLower(c)) {
      AppendCase(text, begin, at, IsUpper(c) ? Case::kLower : Case::kUpper, &result);
    } else {
      result.AppendSlice(text, begin, at);
    }
  }
  result.set_markup(text.markup());
  return Value(std::move(result));
}

template <bool (*kIs)(char32_t)>
Value IsAll(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("is...", arguments, {});
  const std::string& bytes = Self(self).bytes();
  env.budget().Bytes(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    if (!kIs(unicode::Next(bytes, &at))) return Value(false);
  }
  return Value(!bytes.empty());
}

Value IsAscii(Environment&, const Value& self, const Arguments& arguments) {
  const Parameters p("isascii", arguments, {});
  return Value(unicode::IsAscii(Self(self).bytes()));
}

template <bool (*kIs)(char32_t), bool (*kIsNot)(char32_t)>
Value IsCase(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("isupper, islower", arguments, {});
  const std::string& bytes = Self(self).bytes();
  env.budget().Bytes(bytes.size());
  bool found = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const char32_t c = unicode::Next(bytes, &at);
    if (kIsNot(c) || IsTitle(c)) return Value(false);
    found = found || kIs(c);
  }
  return Value(found);
}

template <bool kAtEnd>
Value RemoveAffix(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p(kAtEnd ? "removesuffix" : "removeprefix", arguments, {"affix"}, 1);
  const Text& text = Self(self);
  const std::string& affix = ExpectText(p[0], "the argument of removeprefix() or removesuffix()").bytes();
  env.budget().Bytes(text.size());
  if (!(kAtEnd ? text.bytes().ends_with(affix) : text.bytes().starts_with(affix))) return self;
  return Value(kAtEnd ? text.Slice(0, text.size() - affix.size()) : text.Slice(affix.size(), text.size()));
}

template <Align kAlign>
Value Justify(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("center, ljust, rjust", arguments, {"width", "fillchar"}, 1);
  const Text* fill = p.Has(1) ? &ExpectText(p[1], "the fill character") : nullptr;
  if (fill && unicode::CountChars(fill->bytes()) != 1) Fail("the fill character must be exactly one character long");
  return Value(Padded(Self(self), p.Int(0, 0), fill ? fill->bytes() : " ", kAlign, env.budget()));
}

Value ZFill(Environment& env, const Value& self, const Arguments& arguments) {
  const Parameters p("zfill", arguments, {"width"}, 1);
  const Text& text = Self(self);
  const std::size_t sign = text.bytes().starts_with('+') || text.bytes().starts_with('-') ? 1 : 0;
  Text result = text.Slice(0, sign);
  result.Append(Padded(text.Slice(sign, text.size()), p.Int(0, 0) - static_cast<std::int64_t>(sign), "0", Align::kRight,
                       env.budget()));
  return Value(std::move(result));
}

Value Format(Environment& env, const Value& self, const Arguments& arguments) {
  return BraceFormat(Self(self), arguments, env);
}

struct Entry {
  std::string_view name;
  Function::Body body;
};

constexpr auto kMethods = std::to_array<Entry>({
    {"capitalize", Capitalize},
    {"center", Justify<Align::kCenter>},
    {"count", Count},
    {"endswith", StartsWith<true>},
    {"find", Find<false, false>},
    {"format", Format},
    {"index", Find<false, true>},
    {"isalnum", IsAll<IsAlnum>},
    {"isalpha", IsAll<IsAlpha>},
    {"isascii", IsAscii},
    {"isdecimal", IsAll<IsDecimal>},
    {"isdigit", IsAll<IsDigit>},
    {"islower", IsCase<IsLower, IsUpper>},
    {"isspace", IsAll<IsSpace>},
    {"isupper", IsCase<IsUpper, IsLower>},
    {"join", Join},
    {"ljust", Justify<Align::kLeft>},
    {"lower", ToCaseMethod<Case::kLower>},
    {"lstrip", StripMethod<true, false>},
    {"partition", Partition<false>},
    {"removeprefix", RemoveAffix<false>},
    {"removesuffix", RemoveAffix<true>},
    {"replace", Replace},
    {"rfind", Find<true, false>},
    {"rindex", Find<true, true>},
    {"rjust", Justify<Align::kRight>},
    {"rpartition", Partition<true>},
    {"rsplit", SplitMethod<true>},
    {"rstrip", StripMethod<false, true>},
    {"split", SplitMethod<false>},
    {"splitlines", SplitLinesMethod},
    {"startswith", StartsWith<false>},
    {"strip", StripMethod<true, true>},
    {"swapcase", SwapCase},
    {"title", Title},
    {"upper", ToCaseMethod<Case::kUpper>},
    {"zfill", ZFill},
});

}  // namespace

Function::Body FindTextMethod(std::string_view name) {
  const auto found = std::ranges::find(kMethods, name, &Entry::name);
  return found == kMethods.end() ? nullptr : found->body;
}

}  // namespace mconnect::jinja
