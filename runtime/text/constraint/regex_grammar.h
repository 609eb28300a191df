// Regular expressions as grammars.
#ifndef MCONNECT_TEXT_CONSTRAINT_REGEX_GRAMMAR_H_
#define MCONNECT_TEXT_CONSTRAINT_REGEX_GRAMMAR_H_

#include <functional>
#include <string_view>
#include <vector>

#include "runtime/text/constraint/grammar.h"

namespace mconnect {

// How a character of a class is written in the text that the grammar describes.
using WriteChars = std::function<Fragment(const std::vector<CharRange>&)>;

struct RegexUse {
  bool search = false;  // the pattern may match anywhere in the text; else from end to end
  WriteChars write;     // unset: in UTF-8
};

// The common part of Python's and ECMAScript's syntax: literals, `.` (all but a newline), classes, \d \w \s (of ASCII)
// and their complements, groups, |, * + ? {n,m} and their lazy forms, ^ and $ at the ends of an alternative.
// Throws Error(kInvalidArgument) for a pattern that is wrong and Error(kUnsupported) for what is more than regular
// (look-around, back references, \b), with the offset.
Fragment RegexFragment(std::string_view pattern, GrammarBuilder& builder, const RegexUse& use = {});

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_REGEX_GRAMMAR_H_
