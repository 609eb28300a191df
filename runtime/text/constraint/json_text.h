// The parts of JSON texts as grammar: strings, numbers, any value.
#ifndef MCONNECT_TEXT_CONSTRAINT_JSON_TEXT_H_
#define MCONNECT_TEXT_CONSTRAINT_JSON_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/constraint/grammar.h"

namespace mconnect {

// Limits of a number.
struct NumberLimits {
  std::optional<double> least, most;
  bool above = false;  // least itself is excluded
  bool below = false;  // most itself is excluded
};

// Makes fragments of JSON text with one builder; what is used often becomes a rule that is called.
class JsonText {
 public:
  static constexpr int kDigits = 18;  // of an integer

  explicit JsonText(GrammarBuilder& builder) : builder_(builder) {}

  Fragment Value();                                          // any JSON
  Fragment String();                                         // any string
  Fragment String(std::size_t least, std::size_t most);      // of so many characters
  Fragment Key(const std::vector<std::string>& other_than);  // a string that is none of these, without escapes
  Fragment Object(Fragment members);                         // the text between the braces
  Fragment Array(Fragment items);
  Fragment Integer(const NumberLimits& limits);  // nothing where there is no integer between them
  Fragment Number(const NumberLimits& limits);
  Fragment Comma();  // with at most one space
  Fragment Colon();

  // One character of a string, of these ranges: escaped where JSON requires it.
  Fragment StringChars(const std::vector<CharRange>& ranges);

 private:
  Fragment Digits(std::size_t least, std::size_t most);
  Fragment DigitsBetween(std::string_view low, std::string_view high);
  Fragment Whole(std::int64_t low, std::int64_t high);  // 0 <= low <= high
  Fragment Fraction(std::int64_t low, std::int64_t high);
  Fragment AnyChar();
  Fragment Excluding(const std::vector<std::string>& words, std::size_t depth);

  GrammarBuilder& builder_;
  std::optional<Grammar::NodeId> value_, char_, string_;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_JSON_TEXT_H_
