// Text that was changed on the way, and where in the original each part of it comes from.
#ifndef MCONNECT_TEXT_ALIGNED_TEXT_H_
#define MCONNECT_TEXT_ALIGNED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/regex.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

// Keeps what views point at until Clear(), and its memory for what comes then.
class TextArena {
 public:
  std::string* NewText() { return texts_.New(); }
  std::vector<Span>* NewAlignments() { return alignments_.New(); }
  void Clear() {
    texts_.Clear();
    alignments_.Clear();
  }

 private:
  template <typename T>
  class Pool {
   public:
    T* New() {
      if (used_ == items_.size()) items_.emplace_back();
      return &items_[used_++];
    }
    void Clear() {
      constexpr std::size_t kKept = 1 << 14;  // larger ones go back
      for (std::size_t i = 0; i < used_; ++i) {
        items_[i].clear();
        if (items_[i].capacity() > kKept) items_[i].shrink_to_fit();
      }
      if (used_ > 64) items_.resize(64);
      used_ = 0;
    }

   private:
    std::deque<T> items_;
    std::size_t used_ = 0;
  };

  Pool<std::string> texts_;
  Pool<std::vector<Span>> alignments_;
};

// One code point of a changed text: 0: it stands for the next code point of the old text; n > 0: it is new, and comes
// from where the one before it does; -n: it stands for the next code point, after which n code points are gone.
struct Change {
  char32_t c;
  int change;
};

// A view of a part of a (changed) text. Each of its bytes comes from a range of the original: that of the whole code
// point which it belonged to. The rules for ranges are those of the reference's NormalizedString.
class AlignedText {
 public:
  AlignedText() = default;

  // Unchanged text that begins at byte `begin` of the original.
  explicit AlignedText(std::string_view text, std::uint32_t begin = 0) : text_(text), begin_(begin) {}

  std::string_view text() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }
  bool unchanged() const noexcept { return alignments_ == nullptr; }

  // Where in the original the view begins.
  std::uint32_t begin() const noexcept { return begin_; }

  AlignedText Slice(std::size_t begin, std::size_t end) const;

  // The range of the original that bytes [begin, end) come from. Requires begin < end.
  Span Original(std::size_t begin, std::size_t end) const { return {At(begin).begin, At(end - 1).end}; }

  // The whole text changed; the first `removed` code points of the old text are gone.
  AlignedText Transform(std::span<const Change> changes, std::size_t removed, TextArena* arena) const;

  // Code points replaced one by one by others of the same length in UTF-8: the ranges stay.
  AlignedText WithText(std::string_view text) const;

  // The matched parts replaced by `content`.
  AlignedText Replace(std::span<const Match> parts, std::string_view content, TextArena* arena) const;

  // `content` put in front, as part of the first code point. Requires a text that is not empty.
  AlignedText Prepend(std::string_view content, TextArena* arena) const;

 private:
  Span At(std::size_t byte) const;

  // Appends the changed text to `text` and `alignments`; `offset` is the byte of the old text that stands next.
  void Apply(std::span<const Change> changes, std::size_t offset, std::string* text,
             std::vector<Span>* alignments) const;

  AlignedText Made(const std::string* text, const std::vector<Span>* alignments) const;

  std::string_view text_;
  const Span* alignments_ = nullptr;  // null: byte i is byte begin_ + i of the original
  std::uint32_t begin_ = 0;
};

// A part of the text: one added token, or text for the model.
struct Piece {
  static constexpr TokenId kText = -1;

  AlignedText text;
  TokenId added_token = kText;
};

}  // namespace mconnect

#endif  // MCONNECT_TEXT_ALIGNED_TEXT_H_
