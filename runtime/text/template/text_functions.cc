#include "runtime/text/template/text_functions.h"

#include <algorithm>

#include "runtime/text/template/characters.h"
#include "runtime/text/template/print.h"
#include "runtime/text/unicode.h"

namespace mconnect::jinja {
namespace {

std::vector<Text> SplitAtSpace(const Text& text, std::int64_t count) {
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  std::size_t at = 0;
  const auto skip = [&](bool space) {
    while (at < bytes.size()) {
      std::size_t next = at;
      if (IsSpace(unicode::Next(bytes, &next)) != space) break;
      at = next;
    }
  };
  for (skip(true); at < bytes.size(); skip(true)) {
    if (count == 0) {
      parts.push_back(text.Slice(at, text.size()));
      break;
    }
    --count;
    const std::size_t begin = at;
    skip(false);
    parts.push_back(text.Slice(begin, at));
  }
  return parts;
}

std::vector<Text> SplitAtSpaceFromRight(const Text& text, std::int64_t count) {
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  std::size_t at = bytes.size();
  const auto skip = [&](bool space) {
    while (at > 0) {
      std::size_t next = at;
      if (IsSpace(unicode::Previous(bytes, &next)) != space) break;
      at = next;
    }
  };
  for (skip(true); at > 0; skip(true)) {
    if (count == 0) {
      parts.push_back(text.Slice(0, at));
      break;
    }
    --count;
    const std::size_t end = at;
    skip(false);
    parts.push_back(text.Slice(at, end));
  }
  std::ranges::reverse(parts);
  return parts;
}

}  // namespace

Text Strip(const Text& text, const Text* chars, bool left, bool right) {
  const std::string& bytes = text.bytes();
  std::u32string set;
  for (std::size_t at = 0; chars && at < chars->size();) set.push_back(unicode::Next(chars->bytes(), &at));
  const auto strips = [&](char32_t c) { return chars ? set.find(c) != set.npos : IsSpace(c); };
  std::size_t begin = 0;
  std::size_t end = bytes.size();
  while (left && begin < end) {
    std::size_t next = begin;
    if (!strips(unicode::Next(bytes, &next))) break;
    begin = next;
  }
  while (right && begin < end) {
    std::size_t next = end;
    if (!strips(unicode::Previous(bytes, &next))) break;
    end = next;
  }
  return text.Slice(begin, end);
}

std::vector<Text> SplitLines(const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string& bytes = text.bytes();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = at;
    const char32_t c = unicode::Next(bytes, &at);
    if (!IsLineEnd(c)) continue;
    if (c == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    lines.push_back(text.Slice(begin, keep_ends ? at : end));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(text.Slice(begin, bytes.size()));
  return lines;
}

Text Replaced(const Text& text, const Text& from, const Text& to, std::int64_t count, Budget& budget) {
  budget.Bytes(text.size());
  Text result;
  std::size_t done = 0;
  const auto put = [&](std::size_t until) {
    budget.Bytes(result.size() + to.size() + until - done);
    result.AppendSlice(text, done, until);
    done = until;
  };
  if (from.empty()) {  // between all characters, and at both ends
    for (const std::size_t border : CharBorders(text.bytes())) {
      if (count-- == 0) break;
      put(border);
      result.Append(to);
    }
  } else {
    for (std::size_t at = text.bytes().find(from.bytes()); at != std::string::npos && count-- != 0;
         at = text.bytes().find(from.bytes(), done)) {
      put(at);
      result.Append(to);
      done = at + from.size();
    }
  }
  result.AppendSlice(text, done, text.size());
  result.set_markup(text.markup());
  return result;
}

Text Joined(const Text& separator, const std::vector<Text>& parts, Budget& budget) {
  std::size_t size = parts.empty() ? 0 : separator.size() * (parts.size() - 1);
  for (const Text& part : parts) size += part.size();
  budget.Bytes(size);
  Text result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result.Append(separator);
    result.Append(parts[i]);
  }
  return result;
}

std::vector<Text> Split(const Text& text, const Text* separator, std::int64_t count, bool from_right, Budget& budget) {
  budget.Bytes(text.size());
  if (!separator) return from_right ? SplitAtSpaceFromRight(text, count) : SplitAtSpace(text, count);
  if (separator->empty()) Fail("empty separator");
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  if (from_right) {
    std::size_t end = bytes.size();
    while (count-- != 0 && end >= separator->size()) {
      const std::size_t at = bytes.rfind(separator->bytes(), end - separator->size());
      if (at == std::string::npos) break;
      budget.Step();
      parts.push_back(text.Slice(at + separator->size(), end));
      end = at;
    }
    parts.push_back(text.Slice(0, end));
    std::ranges::reverse(parts);
    return parts;
  }
  std::size_t begin = 0;
  while (count-- != 0) {
    const std::size_t at = bytes.find(separator->bytes(), begin);
    if (at == std::string::npos) break;
    budget.Step();
    parts.push_back(text.Slice(begin, at));
    begin = at + separator->size();
  }
  parts.push_back(text.Slice(begin, bytes.size()));
  return parts;
}

Text Padded(const Text& text, std::int64_t width, std::string_view fill, Align align, Budget& budget) {
  const auto length = static_cast<std::int64_t>(unicode::CountChars(text.bytes()));
  if (width <= length) return text;
  const std::int64_t missing = width - length;
  std::int64_t left = 0;
  if (align == Align::kRight) left = missing;
  if (align == Align::kCenter) left = missing / 2 + (missing & width & 1);
  if (align == Align::kFormatCenter) left = missing / 2;
  if (missing > std::int64_t{1} << 32) budget.Bytes(std::size_t{1} << 62);
  budget.Bytes(text.size() + fill.size() * static_cast<std::size_t>(missing));
  Text result;
  for (std::int64_t i = 0; i < left; ++i) result.Append(fill);
  result.Append(text);
  for (std::int64_t i = left; i < missing; ++i) result.Append(fill);
  result.set_markup(text.markup());
  return result;
}

}  // namespace mconnect::jinja
