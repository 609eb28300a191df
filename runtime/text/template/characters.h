// Python's notion of characters: positions in code points, white space, lines, case.
#ifndef MCONNECT_TEXT_TEMPLATE_CHARACTERS_H_
#define MCONNECT_TEXT_TEMPLATE_CHARACTERS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/template/text.h"

namespace mconnect::jinja {

// Where the code point number `index` begins; the end of the text for those beyond it.
std::size_t ByteOffset(std::string_view text, std::size_t index);

// Where each code point begins, and the end.
std::vector<std::size_t> CharBorders(std::string_view text);

bool IsSpace(char32_t c);      // str.isspace
bool IsLineEnd(char32_t c);    // ends a line for str.splitlines
bool IsPrintable(char32_t c);  // str.isprintable
bool IsAlpha(char32_t c);      // str.isalpha
bool IsDecimal(char32_t c);    // str.isdecimal
bool IsDigit(char32_t c);      // str.isdigit
bool IsAlnum(char32_t c);      // str.isalnum
bool IsUpper(char32_t c);      // of a cased character: str.isupper
bool IsLower(char32_t c);      // str.islower
bool IsTitle(char32_t c);      // a title case letter, such as U+01C5
bool IsCased(char32_t c);

enum class Case { kUpper, kLower, kTitle };

// The full case mapping of text[begin, end). Lower case looks at the whole text for the final sigma.
void AppendCase(const Text& text, std::size_t begin, std::size_t end, Case to, Text* out);
Text ToCase(const Text& text, Case to);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_CHARACTERS_H_
