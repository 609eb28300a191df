// What a continuation may be, byte by byte: a nondeterministic automaton whose rules can call each other.
#ifndef MCONNECT_TEXT_CONSTRAINT_GRAMMAR_H_
#define MCONNECT_TEXT_CONSTRAINT_GRAMMAR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace mconnect {

// Code points first to last.
struct CharRange {
  char32_t first;
  char32_t last;
};

// A recursive transition network. A rule is a node to begin at; it is over at a node that `returns`.
struct Grammar {
  using NodeId = std::uint32_t;

  struct Edge {
    unsigned char low, high;  // bytes
    NodeId to;
  };
  struct Call {
    NodeId rule;
    NodeId back;  // where to go on
  };
  struct Node {
    std::vector<Edge> edges;
    std::vector<NodeId> jumps;  // without a byte
    std::vector<Call> calls;
    bool returns = false;
    // Calls that must be nested to come from here to the end of the rule; kNever: there is no way. Set by Finish().
    std::uint32_t height = kNever;
  };
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::vector<Node> nodes;
  NodeId start = 0;
};

// Part of a rule, from one node to another.
struct Fragment {
  Grammar::NodeId begin;
  Grammar::NodeId end;
};

// Builds a grammar from small parts. Every part may be used once.
// Throws Error(kResourceExhausted) for more than kMaxNodes.
class GrammarBuilder {
 public:
  static constexpr std::size_t kMaxNodes = 400'000;
  using Make = std::function<Fragment()>;

  Fragment Empty();
  Fragment Nothing();  // matches no text, not even the empty one
  Fragment Literal(std::string_view bytes);
  Fragment Bytes(unsigned char low, unsigned char high);
  Fragment Chars(const std::vector<CharRange>& ranges);  // one character in UTF-8; surrogates are left out
  Fragment Then(Fragment a, Fragment b);
  Fragment Either(const std::vector<Fragment>& parts);
  Fragment Optional(Fragment part);
  Fragment Star(Fragment part);
  // `least` to `most` times what `make` makes; `most` unset: any number.
  Fragment Repeat(std::size_t least, std::size_t most, const Make& make);
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  // Rules may be called before they are defined.
  Grammar::NodeId NewRule() { return NewNode(); }
  void Define(Grammar::NodeId rule, Fragment body);
  Fragment Call(Grammar::NodeId rule);

  // The grammar of what `rule` matches. Throws Error(kInvalidArgument) where that is nothing.
  Grammar Finish(Grammar::NodeId rule);

 private:
  Grammar::NodeId NewNode();
  Grammar::Node& At(Grammar::NodeId id) { return grammar_.nodes[id]; }
  void CountHeights();

  Grammar grammar_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_GRAMMAR_H_
