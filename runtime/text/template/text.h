// A string that knows which of its bytes the user supplied.
#ifndef MCONNECT_TEXT_TEMPLATE_TEXT_H_
#define MCONNECT_TEXT_TEMPLATE_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/tokenizer.h"

namespace mconnect::jinja {

// Well-formed UTF-8. Positions are in bytes, on the borders of code points.
class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool user = false) : bytes_(std::move(bytes)) {
    if (user && !bytes_.empty()) user_.push_back({0, static_cast<std::uint32_t>(bytes_.size())});
  }

  const std::string& bytes() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }

  // What the user supplied: in order, disjoint, adjacent ranges merged.
  const std::vector<Span>& user() const noexcept { return user_; }
  // Is the byte at `position` the user's?
  bool IsUser(std::size_t position) const;

  // Python's Markup: what is added to such a string is escaped for HTML.
  bool markup() const noexcept { return markup_; }
  void set_markup(bool markup) noexcept { markup_ = markup; }

  void Append(std::string_view bytes, bool user = false);
  void Append(const Text& text) { AppendSlice(text, 0, text.size()); }
  void AppendSlice(const Text& text, std::size_t begin, std::size_t end);

  // The part with the same provenance; a slice of Markup is Markup.
  Text Slice(std::size_t begin, std::size_t end) const;

  friend bool operator==(const Text& a, const Text& b) { return a.bytes_ == b.bytes_; }

 private:
  void AddUser(std::size_t begin, std::size_t end);

  std::string bytes_;
  std::vector<Span> user_;
  bool markup_ = false;
};

// Calls f(begin, end, user) for the maximal parts of one provenance, in order.
template <typename F>
void ForEachPart(const Text& text, F f) {
  std::size_t at = 0;
  for (const Span& span : text.user()) {
    if (at < span.begin) f(at, std::size_t{span.begin}, false);
    f(std::size_t{span.begin}, std::size_t{span.end}, true);
    at = span.end;
  }
  if (at < text.size()) f(at, text.size(), false);
}

}  // namespace mconnect::jinja

#endif  // MCONNECT_TEXT_TEMPLATE_TEXT_H_
