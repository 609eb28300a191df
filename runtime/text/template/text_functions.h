// Python's string methods, where filters need them too.
#ifndef MCONNECT_TEXT_TEMPLATE_TEXT_FUNCTIONS_H_
#define MCONNECT_TEXT_TEMPLATE_TEXT_FUNCTIONS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/text/template/budget.h"
#include "runtime/text/template/text.h"
#include "runtime/text/template/value.h"

namespace mconnect::jinja {

// Without the characters of `chars` at its ends; null: white space.
Text Strip(const Text& text, const Text* chars, bool left, bool right);

// Lines without their ends; keep_ends: with them.
std::vector<Text> SplitLines(const Text& text, bool keep_ends = false);

// The first `count` occurrences replaced; negative: all.
Text Replaced(const Text& text, const Text& from, const Text& to, std::int64_t count, Budget& budget);

// str(item) of each, with the separator between.
Text Joined(const Text& separator, const std::vector<Text>& parts, Budget& budget);

// At most `count` splits from the left or right; negative: all. Null separator: runs of white space.
std::vector<Text> Split(const Text& text, const Text* separator, std::int64_t count, bool from_right, Budget& budget);

// Filled with `fill` (one character) up to `width` characters. str.center and format(..., "^") differ in the side that
// gets the odd one.
enum class Align { kLeft, kRight, kCenter, kFormatCenter };
Text Padded(const Text& text, std::int64_t width, std::string_view fill, Align align, Budget& budget);

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_TEXT_FUNCTIONS_H_
