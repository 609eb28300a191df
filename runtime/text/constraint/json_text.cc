#include "runtime/text/constraint/json_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace mconnect {
namespace {

constexpr std::int64_t kGreatest = 999'999'999'999'999'999;  // kDigits nines
constexpr std::int64_t kGreatestWithFraction = 999'999'999;  // so that six digits behind it do not round to the next
constexpr std::size_t kFractionDigits = 6;

}  // namespace

Fragment JsonText::Comma() { return builder_.Then(builder_.Literal(","), builder_.Optional(builder_.Literal(" "))); }
Fragment JsonText::Colon() { return builder_.Then(builder_.Literal(":"), builder_.Optional(builder_.Literal(" "))); }

Fragment JsonText::Object(Fragment members) {
  return builder_.Then(builder_.Literal("{"), builder_.Then(members, builder_.Literal("}")));
}

Fragment JsonText::Array(Fragment items) {
  return builder_.Then(builder_.Literal("["), builder_.Then(items, builder_.Literal("]")));
}

Fragment JsonText::StringChars(const std::vector<CharRange>& ranges) {
  static const std::map<char32_t, const char*> kEscapes = {{'"', "\\\""}, {'\\', "\\\\"}, {'\b', "\\b"}, {'\f', "\\f"},
                                                           {'\n', "\\n"}, {'\r', "\\r"},  {'\t', "\\t"}};
  std::vector<CharRange> plain;
  std::vector<Fragment> parts;
  const auto add_plain = [&](char32_t first, char32_t last) {
    if (first <= last) plain.push_back({first, last});
  };
  std::vector<bool> escaped(0x5D);
  for (const CharRange& range : ranges) {
    for (char32_t c = range.first; c <= std::min<char32_t>(range.last, 0x5C); ++c) {
      if (c < 0x20 || c == '"' || c == '\\') escaped[c] = true;
    }
    const auto within = [&](char32_t first, char32_t last) {
      add_plain(std::max(range.first, first), std::min(range.last, last));
    };
    within(0x20, '"' - 1);
    within('"' + 1, '\\' - 1);
    within('\\' + 1, 0x10FFFF);
  }
  if (!plain.empty()) parts.push_back(builder_.Chars(plain));
  for (char32_t c = 0; c < escaped.size(); ++c) {
    if (!escaped[c]) continue;
    const auto it = kEscapes.find(c);
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
    parts.push_back(builder_.Literal(it != kEscapes.end() ? it->second : code));
  }
  return builder_.Either(parts);
}

Fragment JsonText::AnyChar() {
  if (!char_) {
    char_ = builder_.NewRule();
    const auto hex = [&](const char* extra_low, const char* extra_high) {
      return builder_.Either(
          {builder_.Bytes('0', '9'),
           builder_.Bytes(static_cast<unsigned char>(extra_low[0]), static_cast<unsigned char>(extra_low[1])),
           builder_.Bytes(static_cast<unsigned char>(extra_high[0]), static_cast<unsigned char>(extra_high[1]))});
    };
    const auto any_hex = [&] { return hex("af", "AF"); };
    // \u and four digits, but for halves of surrogate pairs, D800 to DFFF.
    const Fragment first = builder_.Either(
        {hex("ac", "AC"), builder_.Literal("e"), builder_.Literal("E"), builder_.Literal("f"), builder_.Literal("F")});
    const Fragment ordinary = builder_.Then(builder_.Then(first, any_hex()), builder_.Then(any_hex(), any_hex()));
    const Fragment d = builder_.Either({builder_.Literal("d"), builder_.Literal("D")});
    const Fragment below =
        builder_.Then(builder_.Then(d, builder_.Bytes('0', '7')), builder_.Then(any_hex(), any_hex()));
    const Fragment unicode = builder_.Then(builder_.Literal("u"), builder_.Either({ordinary, below}));
    std::vector<Fragment> escapes = {unicode};
    for (const char* letter : {"\"", "\\", "/", "b", "f", "n", "r", "t"}) escapes.push_back(builder_.Literal(letter));
    const Fragment escape = builder_.Then(builder_.Literal("\\"), builder_.Either(escapes));
    const Fragment plain = builder_.Chars({{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0x10FFFF}});
    builder_.Define(*char_, builder_.Either({plain, escape}));
  }
  return builder_.Call(*char_);
}

Fragment JsonText::String() {
  if (!string_) {
    string_ = builder_.NewRule();
    builder_.Define(*string_, String(0, GrammarBuilder::kUnlimited));
  }
  return builder_.Call(*string_);
}

Fragment JsonText::String(std::size_t least, std::size_t most) {
  const Fragment chars = builder_.Repeat(least, most, [&] { return AnyChar(); });
  return builder_.Then(builder_.Literal("\""), builder_.Then(chars, builder_.Literal("\"")));
}

Fragment JsonText::Key(const std::vector<std::string>& other_than) {
  return builder_.Then(builder_.Literal("\""), Excluding(other_than, 0));
}

// What follows `depth` bytes that all `words` have in common, up to the closing quote.
Fragment JsonText::Excluding(const std::vector<std::string>& words, std::size_t depth) {
  std::map<unsigned char, std::vector<std::string>> children;
  bool is_word = false;
  for (const std::string& word : words) {
    if (word.size() == depth) {
      is_word = true;
    } else {
      children[static_cast<unsigned char>(word[depth])].push_back(word);
    }
  }
  // Bytes of UTF-8 that are not ASCII are left to words alone: a character that one of them begins cannot be cut apart.
  std::vector<CharRange> other;
  char32_t next = 0x20;
  const auto skip = [&](char32_t c) {
    if (c > next) other.push_back({next, c - 1});
    next = std::max<char32_t>(next, c + 1);
  };
  std::vector<char32_t> taken = {'"', '\\'};
  for (const auto& [byte, rest] : children) {
    if (byte < 0x80) taken.push_back(byte);
  }
  std::ranges::sort(taken);
  for (const char32_t c : taken) {
    if (c >= 0x20) skip(c);
  }
  skip(0x7F);
  const bool ascii = std::ranges::all_of(children, [](const auto& child) { return child.first < 0x80; });
  if (ascii) other.push_back({0x80, 0x10FFFF});
  const auto free = [&] {
    return builder_.Star(builder_.Chars({{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, 0x10FFFF}}));
  };
  std::vector<Fragment> parts;
  if (!is_word) parts.push_back(builder_.Literal("\""));
  if (!other.empty()) {
    parts.push_back(builder_.Then(builder_.Chars(other), builder_.Then(free(), builder_.Literal("\""))));
  }
  for (const auto& [byte, rest] : children) {
    if (byte >= 0x80 || byte < 0x20 || byte == '"' || byte == '\\') continue;  // written with escapes, or not ASCII
    parts.push_back(builder_.Then(builder_.Bytes(byte, byte), Excluding(rest, depth + 1)));
  }
  return builder_.Either(parts);
}

Fragment JsonText::Digits(std::size_t least, std::size_t most) {
  return builder_.Repeat(least, most, [&] { return builder_.Bytes('0', '9'); });
}

// Decimal numbers of one length, low to high.
Fragment JsonText::DigitsBetween(std::string_view low, std::string_view high) {
  if (low.empty()) return builder_.Empty();
  const auto digit = [](char c) { return static_cast<unsigned char>(c); };
  const std::string_view low_rest = low.substr(1), high_rest = high.substr(1);
  const std::string zeros(low_rest.size(), '0'), nines(low_rest.size(), '9');
  if (low_rest == zeros && high_rest == nines) {
    return builder_.Then(builder_.Bytes(digit(low[0]), digit(high[0])), Digits(low_rest.size(), low_rest.size()));
  }
  if (low[0] == high[0]) {
    return builder_.Then(builder_.Bytes(digit(low[0]), digit(low[0])), DigitsBetween(low_rest, high_rest));
  }
  std::vector<Fragment> parts = {
      builder_.Then(builder_.Bytes(digit(low[0]), digit(low[0])), DigitsBetween(low_rest, nines)),
      builder_.Then(builder_.Bytes(digit(high[0]), digit(high[0])), DigitsBetween(zeros, high_rest))};
  if (high[0] - low[0] > 1) {
    const Fragment middle = builder_.Bytes(digit(static_cast<char>(low[0] + 1)), digit(static_cast<char>(high[0] - 1)));
    parts.push_back(builder_.Then(middle, Digits(low_rest.size(), low_rest.size())));
  }
  return builder_.Either(parts);
}

Fragment JsonText::Whole(std::int64_t low, std::int64_t high) {
  std::vector<Fragment> parts;
  while (low <= high) {
    const std::string first = std::to_string(low);
    std::int64_t last = 9;  // the greatest number with as many digits
    while (static_cast<std::size_t>(std::to_string(last).size()) < first.size()) last = last * 10 + 9;
    last = std::min(last, high);
    parts.push_back(DigitsBetween(first, std::to_string(last)));
    low = last + 1;
  }
  return parts.empty() ? builder_.Nothing() : builder_.Either(parts);
}

Fragment JsonText::Integer(const NumberLimits& limits) {
  const auto clamp = [](double value) {
    return static_cast<std::int64_t>(
        std::clamp(value, -static_cast<double>(kGreatest), static_cast<double>(kGreatest)));
  };
  std::int64_t low = -kGreatest, high = kGreatest;
  if (limits.least) low = std::max(low, clamp(std::ceil(*limits.least)));
  if (limits.least && limits.above && static_cast<double>(low) == *limits.least) ++low;
  if (limits.most) high = std::min(high, clamp(std::floor(*limits.most)));
  if (limits.most && limits.below && static_cast<double>(high) == *limits.most) --high;
  std::vector<Fragment> parts;
  if (high >= 0) parts.push_back(Whole(std::max<std::int64_t>(low, 0), high));
  if (low < 0) {
    const std::int64_t nearest = high >= 0 ? 1 : -high;
    if (nearest <= -low) parts.push_back(builder_.Then(builder_.Literal("-"), Whole(nearest, -low)));
  }
  return parts.empty() ? builder_.Nothing() : builder_.Either(parts);
}

// Numbers strictly between an integer of low to high and the next one. 0 <= low
Fragment JsonText::Fraction(std::int64_t low, std::int64_t high) {
  if (low > high) return builder_.Nothing();
  const Fragment digits = builder_.Then(Digits(0, kFractionDigits - 1), builder_.Bytes('1', '9'));
  return builder_.Then(Whole(low, high), builder_.Then(builder_.Literal("."), digits));
}

Fragment JsonText::Number(const NumberLimits& limits) {
  if (!limits.least && !limits.most) {
    const Fragment fraction = builder_.Then(builder_.Literal("."), Digits(1, kDigits));
    const Fragment sign = builder_.Optional(builder_.Either({builder_.Literal("+"), builder_.Literal("-")}));
    const Fragment e = builder_.Either({builder_.Literal("e"), builder_.Literal("E")});
    const Fragment exponent = builder_.Then(builder_.Then(e, sign), Digits(1, 2));
    return builder_.Then(builder_.Then(builder_.Optional(builder_.Literal("-")), Whole(0, kGreatest)),
                         builder_.Then(builder_.Optional(fraction), builder_.Optional(exponent)));
  }
  const auto greatest = static_cast<double>(kGreatestWithFraction);
  const double least = std::clamp(limits.least.value_or(-greatest), -greatest, greatest);
  const double most = std::clamp(limits.most.value_or(greatest), -greatest, greatest);
  const auto low = static_cast<std::int64_t>(std::ceil(least)), high = static_cast<std::int64_t>(std::floor(most));
  // i + 0.f with low <= i and i + 1 <= high; its mirror image below 0.
  const Fragment positive = Fraction(std::max<std::int64_t>(low, 0), high - 1);
  const Fragment negative = builder_.Then(builder_.Literal("-"), Fraction(std::max<std::int64_t>(-high, 0), -low - 1));
  return builder_.Either({Integer(limits), positive, negative});
}

Fragment JsonText::Value() {
  if (!value_) {
    value_ = builder_.NewRule();
    const auto list = [&](const GrammarBuilder::Make& item) {
      return builder_.Optional(builder_.Then(item(), builder_.Star(builder_.Then(Comma(), item()))));
    };
    const Fragment object =
        Object(list([&] { return builder_.Then(String(), builder_.Then(Colon(), builder_.Call(*value_))); }));
    const Fragment array = Array(list([&] { return builder_.Call(*value_); }));
    builder_.Define(*value_, builder_.Either({object, array, String(), Number({}), builder_.Literal("true"),
                                              builder_.Literal("false"), builder_.Literal("null")}));
  }
  return builder_.Call(*value_);
}

}  // namespace mconnect
