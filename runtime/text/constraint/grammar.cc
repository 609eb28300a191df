#include "runtime/text/constraint/grammar.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {
namespace {

// The bytes of a code point of `size` bytes in UTF-8.
std::array<unsigned char, 4> Encode(char32_t c, int size) {
  std::array<unsigned char, 4> bytes{};
  static constexpr unsigned char kLead[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
  for (int i = size - 1; i > 0; --i, c >>= 6)
    bytes[static_cast<std::size_t>(i)] = static_cast<unsigned char>(0x80 | (c & 0x3F));
  bytes[0] = static_cast<unsigned char>(kLead[size] | c);
  return bytes;
}

}  // namespace

Grammar::NodeId GrammarBuilder::NewNode() {
  if (grammar_.nodes.size() >= kMaxNodes) {
    throw Error(ErrorCode::kResourceExhausted,
                "the output format needs more than " + std::to_string(kMaxNodes) + " states",
                "lower its counts of repetition (maxLength, maxItems, {n,m})");
  }
  grammar_.nodes.emplace_back();
  return static_cast<Grammar::NodeId>(grammar_.nodes.size() - 1);
}

Fragment GrammarBuilder::Empty() {
  const Grammar::NodeId node = NewNode();
  return {node, node};
}

Fragment GrammarBuilder::Nothing() {
  const Grammar::NodeId begin = NewNode();
  return {begin, NewNode()};
}

Fragment GrammarBuilder::Literal(std::string_view bytes) {
  Fragment result = Empty();
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    result = Then(result, Bytes(byte, byte));
  }
  return result;
}

Fragment GrammarBuilder::Bytes(unsigned char low, unsigned char high) {
  const Grammar::NodeId begin = NewNode(), end = NewNode();
  At(begin).edges.push_back({low, high, end});
  return {begin, end};
}

Fragment GrammarBuilder::Chars(const std::vector<CharRange>& ranges) {
  const Grammar::NodeId begin = NewNode(), end = NewNode();
  // Cuts [first, last] where the number of bytes changes and then where a byte but the last would not take all its
  // values, so that each piece is a product of byte ranges.
  const std::function<void(char32_t, char32_t)> add = [&](char32_t first, char32_t last) {
    if (first > last) return;
    for (const char32_t limit :
         {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xD7FF}, char32_t{0xDFFF}, char32_t{0xFFFF}}) {
      if (first <= limit && last > limit) return add(first, limit), add(limit + 1, last);
    }
    if (first >= 0xD800 && last <= 0xDFFF) return;
    const int size = last <= 0x7F ? 1 : last <= 0x7FF ? 2 : last <= 0xFFFF ? 3 : 4;
    for (int i = 1; i < size; ++i) {
      const char32_t mask = (char32_t{1} << (6 * i)) - 1;
      if ((first & ~mask) == (last & ~mask)) continue;
      if ((first & mask) != 0) return add(first, first | mask), add((first | mask) + 1, last);
      if ((last & mask) != mask) return add(first, (last & ~mask) - 1), add(last & ~mask, last);
    }
    const auto low = Encode(first, size), high = Encode(last, size);
    Grammar::NodeId at = begin;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      const Grammar::NodeId to = i + 1 == static_cast<std::size_t>(size) ? end : NewNode();
      At(at).edges.push_back({low[i], high[i], to});
      at = to;
    }
  };
  for (const CharRange& range : ranges) add(range.first, std::min<char32_t>(range.last, 0x10FFFF));
  return {begin, end};
}

Fragment GrammarBuilder::Then(Fragment a, Fragment b) {
  At(a.end).jumps.push_back(b.begin);
  return {a.begin, b.end};
}

Fragment GrammarBuilder::Either(const std::vector<Fragment>& parts) {
  const Grammar::NodeId begin = NewNode(), end = NewNode();
  for (const Fragment& part : parts) {
    At(begin).jumps.push_back(part.begin);
    At(part.end).jumps.push_back(end);
  }
  return {begin, end};
}

Fragment GrammarBuilder::Optional(Fragment part) { return Either({part, Empty()}); }

Fragment GrammarBuilder::Star(Fragment part) {
  const Grammar::NodeId hub = NewNode();
  At(hub).jumps.push_back(part.begin);
  At(part.end).jumps.push_back(hub);
  return {hub, hub};
}

Fragment GrammarBuilder::Repeat(std::size_t least, std::size_t most, const Make& make) {
  Fragment result = Empty();
  for (std::size_t i = 0; i < least; ++i) result = Then(result, make());
  if (most == kUnlimited) return Then(result, Star(make()));
  const Grammar::NodeId end = NewNode();
  for (std::size_t i = least; i < most; ++i) {
    At(result.end).jumps.push_back(end);
    result = Then(result, make());
  }
  At(result.end).jumps.push_back(end);
  return {result.begin, end};
}

void GrammarBuilder::Define(Grammar::NodeId rule, Fragment body) {
  At(rule).jumps.push_back(body.begin);
  At(body.end).returns = true;
}

Fragment GrammarBuilder::Call(Grammar::NodeId rule) {
  const Grammar::NodeId begin = NewNode(), end = NewNode();
  At(begin).calls.push_back({rule, end});
  return {begin, end};
}

void GrammarBuilder::CountHeights() {
  std::vector<Grammar::Node>& nodes = grammar_.nodes;
  // Nodes to look at again when the height of one falls.
  std::vector<std::vector<Grammar::NodeId>> before(nodes.size());
  std::vector<Grammar::NodeId> changed;
  for (Grammar::NodeId id = 0; id < nodes.size(); ++id) {
    for (const Grammar::Edge& edge : nodes[id].edges) before[edge.to].push_back(id);
    for (const Grammar::NodeId to : nodes[id].jumps) before[to].push_back(id);
    for (const Grammar::Call& call : nodes[id].calls) {
      before[call.rule].push_back(id);
      before[call.back].push_back(id);
    }
    if (nodes[id].returns) {
      nodes[id].height = 0;
      changed.push_back(id);
    }
  }
  while (!changed.empty()) {
    const Grammar::NodeId id = changed.back();
    changed.pop_back();
    for (const Grammar::NodeId from : before[id]) {
      Grammar::Node& node = nodes[from];
      std::uint32_t height = node.returns ? 0 : Grammar::kNever;
      for (const Grammar::Edge& edge : node.edges) height = std::min(height, nodes[edge.to].height);
      for (const Grammar::NodeId to : node.jumps) height = std::min(height, nodes[to].height);
      for (const Grammar::Call& call : node.calls) {
        const std::uint32_t inner = nodes[call.rule].height, rest = nodes[call.back].height;
        if (inner != Grammar::kNever && rest != Grammar::kNever) height = std::min(height, std::max(inner + 1, rest));
      }
      if (height < node.height) {
        node.height = height;
        changed.push_back(from);
      }
    }
  }
}

Grammar GrammarBuilder::Finish(Grammar::NodeId rule) {
  grammar_.start = rule;
  CountHeights();
  if (grammar_.nodes[rule].height == Grammar::kNever) {
    throw Error(ErrorCode::kInvalidArgument, "the output format admits no text");
  }
  return std::move(grammar_);
}

}  // namespace mconnect
