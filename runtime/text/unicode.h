// UTF-8 and the Unicode properties of tokenizers, as the reference library has them.
#ifndef MCONNECT_TEXT_UNICODE_H_
#define MCONNECT_TEXT_UNICODE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mconnect::unicode {

// The code point that begins at text[*position], which moves behind it. The text must be well-formed UTF-8.
char32_t Next(std::string_view text, std::size_t* position);

// The code point that ends before text[*position], which moves to its beginning.
char32_t Previous(std::string_view text, std::size_t* position);

// Bytes of the code point's UTF-8 form.
constexpr std::size_t Utf8Size(char32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

constexpr bool IsContinuationByte(char byte) { return (byte & 0xC0) == 0x80; }

void AppendUtf8(char32_t c, std::string* out);

// Number of code points.
std::size_t CountChars(std::string_view text);

bool IsAscii(std::string_view text);

// Bytes at the end of `text` that begin a code point but do not complete it (0 to 3).
std::size_t IncompleteSuffix(std::string_view text);

// Nothing if the text is well-formed UTF-8; else the text with each maximal ill-formed part as U+FFFD (Unicode 15,
// section 3.9, "U+FFFD Substitution of Maximal Subparts").
std::optional<std::string> Repair(std::string_view text);

// Properties. The tokenizers library has them from tables of several Unicode versions; see unicode_tables_gen.py.
bool IsWhitespace(char32_t c);      // White_Space
bool IsPunctuation(char32_t c);     // ASCII punctuation and symbols, or category P
bool IsNumeric(char32_t c);         // category N
bool IsWord(char32_t c);            // \w
bool IsControl(char32_t c);         // U+0000, U+FFFD and category C without unassigned, tab, LF and CR
bool IsNonspacingMark(char32_t c);  // category Mn
bool IsCombiningMark(char32_t c);   // category M
bool IsCjk(char32_t c);             // the blocks that BERT takes for Chinese

// Appends the full lower case mapping without context: one code point, or two for U+0130.
void AppendLowercase(char32_t c, std::u32string* out);

// The code point's canonical combining class.
int CombiningClass(char32_t c);

// Appends the full decomposition, which may be the code point itself. Not reordered.
void AppendDecomposition(char32_t c, bool compatible, std::u32string* out);

// The primary composite of two code points, if there is one.
std::optional<char32_t> Compose(char32_t first, char32_t second);

// Can `c` not be changed by NFC, whatever stands beside it (a quick test: false says nothing)?
bool IsInertForNfc(char32_t c);

// A code point of the same length in UTF-8 that PCRE2 (Unicode 14) treats as the reference's regular expressions
// (Unicode 16) treat `c`. Most often `c` itself.
char32_t RegexStandIn(char32_t c);

}  // namespace mconnect::unicode

#endif  // MCONNECT_TEXT_UNICODE_H_
