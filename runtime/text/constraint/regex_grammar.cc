#include "runtime/text/constraint/regex_grammar.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {
namespace {

constexpr char32_t kLastChar = 0x10FFFF;
constexpr std::size_t kMaxDepth = 200;     // of groups
constexpr std::size_t kMaxCount = 10'000;  // of {n,m}

using Ranges = std::vector<CharRange>;

Ranges Complement(Ranges ranges) {
  std::ranges::sort(ranges, {}, &CharRange::first);
  Ranges result;
  char32_t next = 0;
  for (const CharRange& range : ranges) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = std::max<char32_t>(next, range.last + 1);
  }
  if (next <= kLastChar) result.push_back({next, kLastChar});
  return result;
}

struct Node {
  enum class Kind { kClass, kConcat, kAlternate, kRepeat, kBegin, kEnd };
  Kind kind = Kind::kConcat;
  Ranges ranges;
  std::vector<Node> parts;
  std::size_t least = 0, most = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  Node Parse() {
    Node node = Alternatives(0);
    if (!AtEnd()) Fail("')' without '('");
    return node;
  }

 private:
  bool AtEnd() const { return at_ == pattern_.size(); }
  bool Sees(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool Take(std::string_view text) {
    if (!Sees(text)) return false;
    at_ += text.size();
    return true;
  }

  [[noreturn]] void Fail(const std::string& what, ErrorCode code = ErrorCode::kInvalidArgument) const {
    throw Error(code,
                "the regular expression '" + std::string(pattern_) + "', offset " + std::to_string(at_) + ": " + what);
  }

  char32_t Char() {
    if (AtEnd()) Fail("it ends too early");
    const auto lead = static_cast<unsigned char>(pattern_[at_]);
    const std::size_t size = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 0;
    if (size == 0 || at_ + size > pattern_.size()) Fail("it is not UTF-8");
    char32_t c = size == 1 ? lead : lead & (0x7Fu >> size);
    for (std::size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(pattern_[at_ + i]);
      if ((byte & 0xC0) != 0x80) Fail("it is not UTF-8");
      c = c << 6 | (byte & 0x3Fu);
    }
    at_ += size;
    return c;
  }

  Node Alternatives(std::size_t depth) {
    if (depth > kMaxDepth) Fail("groups nest deeper than " + std::to_string(kMaxDepth));
    Node node{Node::Kind::kAlternate, {}, {}, 0, 0};
    do node.parts.push_back(Sequence(depth));
    while (Take("|"));
    return node;
  }

  Node Sequence(std::size_t depth) {
    Node node{Node::Kind::kConcat, {}, {}, 0, 0};
    while (!AtEnd() && !Sees("|") && !Sees(")")) node.parts.push_back(Repeated(Atom(depth)));
    return node;
  }

  Node Atom(std::size_t depth) {
    if (Take("^")) return {Node::Kind::kBegin, {}, {}, 0, 0};
    if (Take("$")) return {Node::Kind::kEnd, {}, {}, 0, 0};
    if (Sees("*") || Sees("+") || Sees("?")) Fail("nothing to repeat");
    if (Take("(")) return Group(depth);
    if (Take("[")) return Class(Set());
    if (Take(".")) return Class(Complement({{'\n', '\n'}}));
    if (Sees("\\")) return Class(Escape(/*in_set=*/false));
    const char32_t c = Char();
    return Class({{c, c}});
  }

  static Node Class(Ranges ranges) { return {Node::Kind::kClass, std::move(ranges), {}, 0, 0}; }

  Node Group(std::size_t depth) {
    if (Take("?")) {
      if (Sees("=") || Sees("!") || Sees("<=") || Sees("<!"))
        Fail("look-around is not supported", ErrorCode::kUnsupported);
      if (Take("P<") || Take("<")) {
        while (!AtEnd() && !Sees(">")) ++at_;
        if (!Take(">")) Fail("the name of a group has no end");
      } else if (!Take(":")) {
        Fail("this kind of group is not supported", ErrorCode::kUnsupported);
      }
    }
    Node node = Alternatives(depth + 1);
    if (!Take(")")) Fail("'(' without ')'");
    return node;
  }

  Node Repeated(Node atom) {
    for (;;) {
      std::size_t least = 0, most = GrammarBuilder::kUnlimited;
      if (Take("*")) {
      } else if (Take("+")) {
        least = 1;
      } else if (Take("?")) {
        most = 1;
      } else if (Sees("{") && Counts(&least, &most)) {
      } else {
        return atom;
      }
      if (atom.kind == Node::Kind::kBegin || atom.kind == Node::Kind::kEnd) Fail("an anchor cannot be repeated");
      if (!Take("?") && Sees("+")) Fail("possessive repetition is not supported", ErrorCode::kUnsupported);
      Node outer{Node::Kind::kRepeat, {}, {}, least, most};
      outer.parts.push_back(std::move(atom));
      atom = std::move(outer);
    }
  }

  // "{n}", "{n,}", "{n,m}", "{,m}"; anything else is text.
  bool Counts(std::size_t* least, std::size_t* most) {
    const std::size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos) return false;
    const std::string_view body = pattern_.substr(at_ + 1, close - at_ - 1);
    if (body.empty() || body == "," || body.find_first_not_of("0123456789,") != std::string_view::npos) return false;
    const std::size_t comma = body.find(',');
    if (comma != std::string_view::npos && body.find(',', comma + 1) != std::string_view::npos) return false;
    const auto number = [&](std::string_view digits, std::size_t otherwise) {
      if (digits.empty()) return otherwise;
      std::size_t value = 0;
      for (const char d : digits) {
        value = value * 10 + static_cast<std::size_t>(d - '0');
        if (value > kMaxCount) Fail("a count is above " + std::to_string(kMaxCount), ErrorCode::kUnsupported);
      }
      return value;
    };
    *least = number(body.substr(0, comma), 0);
    *most = comma == std::string_view::npos ? *least : number(body.substr(comma + 1), GrammarBuilder::kUnlimited);
    if (*least > *most) Fail("the counts are in the wrong order");
    at_ = close + 1;
    return true;
  }

  Ranges Set() {
    const bool negated = Take("^");
    Ranges ranges;
    for (bool first = true; first || !Sees("]"); first = false) {
      if (AtEnd()) Fail("'[' without ']'");
      const Ranges low = SetItem();
      if (Sees("-") && !Sees("-]")) {
        const std::size_t dash = at_;
        ++at_;
        if (AtEnd()) Fail("'[' without ']'");
        const Ranges high = SetItem();
        const auto single = [](const Ranges& r) { return r.size() == 1 && r[0].first == r[0].last; };
        if (!single(low) || !single(high) || low[0].first > high[0].first) {
          at_ = dash;
          Fail("this is not a range of characters");
        }
        ranges.push_back({low[0].first, high[0].first});
      } else {
        ranges.insert(ranges.end(), low.begin(), low.end());
      }
    }
    Take("]");
    return negated ? Complement(std::move(ranges)) : ranges;
  }

  Ranges SetItem() {
    if (Sees("\\")) return Escape(/*in_set=*/true);
    const char32_t c = Char();
    return {{c, c}};
  }

  Ranges Escape(bool in_set) {
    const std::size_t begin = at_;
    Take("\\");
    const char32_t c = Char();
    const Ranges digits = {{'0', '9'}}, words = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
                 spaces = {{'\t', '\r'}, {' ', ' '}};
    const auto one = [](char32_t code) { return Ranges{{code, code}}; };
    switch (c) {
      case 'd':
        return digits;
      case 'D':
        return Complement(digits);
      case 'w':
        return words;
      case 'W':
        return Complement(words);
      case 's':
        return spaces;
      case 'S':
        return Complement(spaces);
      case 'n':
        return one('\n');
      case 'r':
        return one('\r');
      case 't':
        return one('\t');
      case 'f':
        return one('\f');
      case 'v':
        return one('\v');
      case '0':
        return one(0);
      case 'x':
        return one(Hex(2));
      case 'u':
        if (Take("{")) {
          const std::size_t close = pattern_.find('}', at_);
          if (close == std::string_view::npos) Fail("'\\u{' without '}'");
          const char32_t code = Hex(close - at_);
          Take("}");
          return one(code);
        }
        return one(Hex(4));
      default:
        break;
    }
    if (in_set && c == 'b') return one('\b');
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '1' && c <= '9');
    if (letter) {
      const std::string text(pattern_.substr(begin, at_ - begin));
      at_ = begin;
      Fail("'" + text + "' is not supported", ErrorCode::kUnsupported);
    }
    return one(c);
  }

  char32_t Hex(std::size_t digits) {
    char32_t code = 0;
    if (digits == 0 || digits > 6 || at_ + digits > pattern_.size()) Fail("this is not a hexadecimal number");
    for (std::size_t i = 0; i < digits; ++i) {
      const char d = pattern_[at_];
      const int value = d >= '0' && d <= '9'   ? d - '0'
                        : d >= 'a' && d <= 'f' ? d - 'a' + 10
                        : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                               : -1;
      if (value < 0) Fail("this is not a hexadecimal number");
      code = code * 16 + static_cast<char32_t>(value);
      ++at_;
    }
    if (code > kLastChar) Fail("there is no such character");
    return code;
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
};

class Writer {
 public:
  Writer(std::string_view pattern, GrammarBuilder& builder, const RegexUse& use)
      : pattern_(pattern), builder_(builder), use_(use) {}

  // A node at both ends of the pattern: anchors stand here and nowhere else.
  Fragment Outer(const Node& node) {
    std::vector<Fragment> fragments;
    for (const Node& branch : node.parts) {
      std::vector<Node> parts = branch.parts;
      const bool begins = !parts.empty() && parts.front().kind == Node::Kind::kBegin;
      if (begins) parts.erase(parts.begin());
      const bool ends = !parts.empty() && parts.back().kind == Node::Kind::kEnd;
      if (ends) parts.pop_back();
      Fragment fragment = begins || !use_.search ? builder_.Empty() : Anything();
      for (const Node& part : parts) fragment = builder_.Then(fragment, Write(part));
      if (!ends && use_.search) fragment = builder_.Then(fragment, Anything());
      fragments.push_back(fragment);
    }
    return builder_.Either(fragments);
  }

 private:
  Fragment Chars(const Ranges& ranges) {
    if (ranges.empty()) return builder_.Nothing();
    return use_.write ? use_.write(ranges) : builder_.Chars(ranges);
  }

  Fragment Anything() { return builder_.Star(Chars({{0, kLastChar}})); }

  Fragment Write(const Node& node) {
    switch (node.kind) {
      case Node::Kind::kClass:
        return Chars(node.ranges);
      case Node::Kind::kConcat: {
        Fragment fragment = builder_.Empty();
        for (const Node& part : node.parts) fragment = builder_.Then(fragment, Write(part));
        return fragment;
      }
      case Node::Kind::kAlternate: {
        std::vector<Fragment> fragments;
        for (const Node& part : node.parts) fragments.push_back(Write(part));
        return builder_.Either(fragments);
      }
      case Node::Kind::kRepeat:
        return builder_.Repeat(node.least, node.most, [&] { return Write(node.parts[0]); });
      case Node::Kind::kBegin:
      case Node::Kind::kEnd:
        break;
    }
    throw Error(ErrorCode::kUnsupported, "the regular expression '" + std::string(pattern_) +
                                             "' has ^ or $ inside; only the ends of an alternative can have them");
  }

  std::string_view pattern_;
  GrammarBuilder& builder_;
  const RegexUse& use_;
};

}  // namespace

Fragment RegexFragment(std::string_view pattern, GrammarBuilder& builder, const RegexUse& use) {
  return Writer(pattern, builder, use).Outer(Parser(pattern).Parse());
}

}  // namespace mconnect
