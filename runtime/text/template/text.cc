#include "runtime/text/template/text.h"

#include <algorithm>

namespace mconnect::jinja {

bool Text::IsUser(std::size_t position) const {
  const auto after = std::ranges::upper_bound(user_, position, {}, [](const Span& s) { return s.begin; });
  return after != user_.begin() && position < std::prev(after)->end;
}

void Text::AddUser(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!user_.empty() && user_.back().end == begin) {
    user_.back().end = static_cast<std::uint32_t>(end);
  } else {
    user_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)});
  }
}

void Text::Append(std::string_view bytes, bool user) {
  if (user) AddUser(bytes_.size(), bytes_.size() + bytes.size());
  bytes_ += bytes;
}

void Text::AppendSlice(const Text& text, std::size_t begin, std::size_t end) {
  const std::size_t base = bytes_.size();
  bytes_.append(text.bytes_, begin, end - begin);
  auto span = std::ranges::upper_bound(text.user_, begin, {}, [](const Span& s) { return std::size_t{s.end}; });
  for (; span != text.user_.end() && span->begin < end; ++span) {
    AddUser(base + std::max<std::size_t>(span->begin, begin) - begin,
            base + std::min<std::size_t>(span->end, end) - begin);
  }
}

Text Text::Slice(std::size_t begin, std::size_t end) const {
  Text slice;
  slice.AppendSlice(*this, begin, end);
  slice.markup_ = markup_;
  return slice;
}

}  // namespace mconnect::jinja
