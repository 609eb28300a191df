// Any JSON schema and any regular expression as an output format, and walks through what they admit.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/testing/fuzzing.h"
#include "runtime/text/constraint/automaton.h"
#include "runtime/text/constraint/grammar.h"
#include "runtime/text/constraint/json_schema.h"
#include "runtime/text/constraint/regex_grammar.h"
#include "runtime/text/constraint/token_constraint.h"
#include "runtime/text/constraint/vocabulary_trie.h"

namespace mconnect {
namespace {

constexpr std::size_t kSteps = 200;  // of a walk

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

Grammar Read(std::string_view source, bool is_regex) {
  if (!is_regex) return JsonSchemaGrammar(source);
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  builder.Define(rule, RegexFragment(source, builder));
  return builder.Finish(rule);
}

// Byte by byte, each chosen by one of `choices` among those that are admitted.
void Walk(Automaton automaton, std::string_view choices) {
  Automaton::State state = automaton.start();
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::vector<Automaton::State> next;
    for (int byte = 0; byte < 256; ++byte) {
      const auto to = automaton.Next(state, static_cast<unsigned char>(byte));
      if (to != Automaton::kDead) next.push_back(to);
    }
    Require(automaton.Ends(state) == next.empty(), "a text is at its end where nothing can follow, and only there");
    Require(!next.empty() || automaton.Accepts(state), "a walk never comes to a dead end");
    if (next.empty()) return;
    state = next[(choices.empty() ? step : static_cast<unsigned char>(choices[step % choices.size()])) % next.size()];
  }
}

// All bytes, some strings that several places of a text may share, and an end of the text.
constexpr TokenId kEnd = 300;
std::shared_ptr<const VocabularyTrie> Vocabulary() {
  TokenBytes tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.bytes.emplace_back(1, static_cast<char>(byte));
  for (const char* text : {"{\"", "\":", "\", \"", "true", "null", "12", "}}", "é", " a", "ab", "[[", "\\u00"}) {
    tokens.bytes.emplace_back(text);
  }
  tokens.bytes.resize(kEnd + 1);
  tokens.skips_space = false;
  return std::make_shared<const VocabularyTrie>(std::move(tokens));
}

void WalkTokens(Grammar grammar, std::string_view choices) {
  static const auto vocabulary = Vocabulary();
  ConstraintMatcher matcher(std::make_shared<const TokenConstraint>(std::move(grammar), vocabulary));
  for (std::size_t step = 0; step < kSteps && !matcher.MustEnd(); ++step) {
    std::vector<float> logits(kEnd + 1, 0.0f);
    const TokenId end[] = {kEnd};
    matcher.Mask(end, logits);
    std::vector<TokenId> admitted;
    for (TokenId id = 0; id < kEnd; ++id) {
      if (!std::isinf(logits[static_cast<std::size_t>(id)])) admitted.push_back(id);
    }
    if (admitted.empty()) return Require(!std::isinf(logits[kEnd]), "some token can follow, or the text can end");
    matcher.Accept(admitted[(choices.empty() ? step : static_cast<unsigned char>(choices[step % choices.size()])) %
                            admitted.size()]);
  }
}

std::vector<std::string> MakeSeeds() {
  const std::vector<const char*> schemas = {
      R"({"type": "object", "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 20}, "age": {"type": "integer",
        "minimum": 0, "maximum": 150}}, "required": ["name"], "additionalProperties": false})",
      R"({"type": "array", "items": {"type": "number", "exclusiveMinimum": -1.5, "exclusiveMaximum": 10}, "minItems": 1, "maxItems": 5})",
      R"({"enum": ["a", 1, null, true, {"b": [1.5]}]})",
      R"({"const": "é\n"})",
      R"(true)",
      R"({})",
      R"({"anyOf": [{"type": "string", "pattern": "^[a-z]+$"}, {"type": "null"}, {"type": ["boolean", "integer"]}]})",
      R"({"oneOf": [{"const": 1}, {"const": 2}]})",
      R"({"allOf": [{"type": "object"}]})",
      R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"},
        {"type": "null"}]}, "value": {"type": "integer"}}, "required": ["next", "value"]}}})",
      R"({"type": "string", "format": "date-time"})",
      R"({"type": "string", "format": "uuid"})",
      R"({"type": "object", "additionalProperties": {"type": "integer"}})",
      R"({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false})",
      R"({"title": "t", "description": "d", "default": 1, "type": "number", "definitions": {}})"};
  const std::vector<const char*> patterns = {"abc|d?e*f+",
                                             "[a-z]{2,5}\\d+",
                                             "(?:foo|bar(baz)?)*",
                                             "^\\w+@\\w+\\.(com|org)$",
                                             "[^\"\\\\]{0,30}",
                                             ".*?x",
                                             "\\s\\S\\D\\W",
                                             "[\\u00e0-\\u00ff\\x41é]+",
                                             "(a|b|c){3}(d{1,}){0,4}",
                                             "\\.\\*\\n\\t[]a-]",
                                             "",
                                             "(a*)*b",
                                             "x{100,1000}"};
  std::vector<std::string> seeds;
  const std::string rest = std::string(1, fuzzing::kSeparator) + std::string("\x01\x05\x2A\x07\x63\x11\x00\x20", 8);
  for (const char* schema : schemas) seeds.push_back("s" + (fuzzing::kSeparator + std::string(schema)) + rest);
  for (const char* pattern : patterns) seeds.push_back("r" + (fuzzing::kSeparator + std::string(pattern)) + rest);
  return seeds;
}

}  // namespace

const std::vector<std::string>& fuzzing::Seeds() {
  static const std::vector<std::string> seeds = MakeSeeds();
  return seeds;
}

}  // namespace mconnect

// Parts: "r" for a regular expression, it or a schema, and the choices of the walks.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mconnect;
  const auto parts = fuzzing::Parts({reinterpret_cast<const char*>(data), size}, 3);
  try {
    const Grammar grammar = Read(parts[1], parts[0].starts_with('r'));
    fuzzing::Accept();
    Walk(Automaton(grammar), parts[2]);
    WalkTokens(grammar, parts[2]);
  } catch (const Error&) {  // a fair answer
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned int seed) {
  return mconnect::fuzzing::MutateInPlace(data, size, capacity, seed);
}
