#include "runtime/text/aligned_text.h"

#include "runtime/text/unicode.h"

namespace mconnect {

Span AlignedText::At(std::size_t byte) const {
  if (alignments_ != nullptr) return alignments_[byte];
  std::size_t first = byte;
  while (unicode::IsContinuationByte(text_[first])) --first;
  std::size_t last = byte + 1;
  while (last < text_.size() && unicode::IsContinuationByte(text_[last])) ++last;
  return {begin_ + static_cast<std::uint32_t>(first), begin_ + static_cast<std::uint32_t>(last)};
}

AlignedText AlignedText::Slice(std::size_t begin, std::size_t end) const {
  AlignedText slice = *this;
  slice.text_ = text_.substr(begin, end - begin);
  if (alignments_ != nullptr) {
    slice.alignments_ = alignments_ + begin;
    if (begin < end) slice.begin_ = alignments_[begin].begin;
  } else {
    slice.begin_ = begin_ + static_cast<std::uint32_t>(begin);
  }
  return slice;
}

AlignedText AlignedText::WithText(std::string_view text) const {
  AlignedText result = *this;
  result.text_ = text;
  return result;
}

AlignedText AlignedText::Made(const std::string* text, const std::vector<Span>* alignments) const {
  AlignedText result;
  result.text_ = *text;
  result.alignments_ = alignments->data();
  result.begin_ = begin_;
  return result;
}

void AlignedText::Apply(std::span<const Change> changes, std::size_t offset, std::string* text,
                        std::vector<Span>* alignments) const {
  for (const Change& change : changes) {
    Span from;
    if (change.change > 0) {
      from = offset == 0 ? Span{begin_, begin_} : At(offset - 1);
    } else {
      if (offset >= text_.size()) break;
      from = At(offset);
      for (int i = change.change; i <= 0 && offset < text_.size(); ++i) unicode::Next(text_, &offset);
    }
    unicode::AppendUtf8(change.c, text);
    alignments->insert(alignments->end(), unicode::Utf8Size(change.c), from);
  }
}

AlignedText AlignedText::Transform(std::span<const Change> changes, std::size_t removed, TextArena* arena) const {
  std::string* text = arena->NewText();
  std::vector<Span>* alignments = arena->NewAlignments();
  text->reserve(text_.size());
  alignments->reserve(text_.size());
  std::size_t offset = 0;
  for (; removed > 0 && offset < text_.size(); --removed) unicode::Next(text_, &offset);
  Apply(changes, offset, text, alignments);
  return Made(text, alignments);
}

AlignedText AlignedText::Replace(std::span<const Match> parts, std::string_view content, TextArena* arena) const {
  std::string* text = arena->NewText();
  std::vector<Span>* alignments = arena->NewAlignments();
  for (const Match& part : parts) {
    if (part.matched) {
      const Span from = part.end == 0 ? Span{begin_, begin_} : At(part.end - 1);
      text->append(content);
      alignments->insert(alignments->end(), content.size(), from);
    } else {
      text->append(text_.substr(part.begin, part.end - part.begin));
      for (std::size_t i = part.begin; i < part.end; ++i) alignments->push_back(At(i));
    }
  }
  return Made(text, alignments);
}

AlignedText AlignedText::Prepend(std::string_view content, TextArena* arena) const {
  if (content.empty()) return *this;
  std::string* text = arena->NewText();
  std::vector<Span>* alignments = arena->NewAlignments();
  text->append(content).append(text_);
  alignments->reserve(text->size());
  alignments->insert(alignments->end(), content.size(), At(0));
  for (std::size_t i = 0; i < text_.size(); ++i) alignments->push_back(At(i));
  return Made(text, alignments);
}

}  // namespace mconnect
