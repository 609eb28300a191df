#include "runtime/text/normalization_form.h"

#include <algorithm>
#include <string>

#include "runtime/text/unicode.h"

namespace mconnect {
namespace {

// Canonical ordering: marks between two starters sorted by combining class, stably.
void Reorder(std::vector<Change>* changes) {
  const auto by_class = [](const Change& a, const Change& b) {
    return unicode::CombiningClass(a.c) < unicode::CombiningClass(b.c);
  };
  const auto is_mark = [](const Change& change) { return unicode::CombiningClass(change.c) != 0; };
  for (auto mark = std::ranges::find_if(*changes, is_mark); mark != changes->end();) {
    const auto starter = std::find_if_not(mark, changes->end(), is_mark);
    std::stable_sort(mark, starter, by_class);
    mark = std::find_if(starter, changes->end(), is_mark);
  }
}

// Canonical composition in place. A composite stands for all that its parts stood for.
void ComposeAll(std::vector<Change>* changes) {
  std::size_t size = 0;
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t starter = kNone;
  int last_class = -1;  // of what stands between the starter and the next code point; -1: nothing does
  for (std::size_t i = 0; i < changes->size(); ++i) {
    const Change next = (*changes)[i];
    const int combining_class = unicode::CombiningClass(next.c);
    if (starter != kNone && last_class < combining_class) {
      if (const auto composite = unicode::Compose((*changes)[starter].c, next.c)) {
        (*changes)[starter].c = *composite;
        (*changes)[starter].change += next.change - 1;
        continue;
      }
    }
    (*changes)[size] = next;
    if (combining_class == 0) {
      starter = size;
      last_class = -1;
    } else if (starter != kNone) {
      last_class = combining_class;
    }
    ++size;
  }
  changes->resize(size);
}

}  // namespace

AlignedText ToNormalizationForm(const AlignedText& text, NormalizationForm form, std::vector<Change>* changes,
                                TextArena* arena) {
  const std::string_view chars = text.text();
  if (unicode::IsAscii(chars)) return text;
  const bool compatible = form == NormalizationForm::kNfkc || form == NormalizationForm::kNfkd;
  const bool compose = form == NormalizationForm::kNfc || form == NormalizationForm::kNfkc;
  if (form == NormalizationForm::kNfc) {
    std::size_t at = 0;
    while (at < chars.size() && unicode::IsInertForNfc(unicode::Next(chars, &at))) continue;
    std::size_t previous = at;
    if (at == chars.size() && unicode::IsInertForNfc(unicode::Previous(chars, &previous))) return text;
  }
  changes->clear();
  std::u32string parts;
  for (std::size_t at = 0; at < chars.size();) {
    parts.clear();
    unicode::AppendDecomposition(unicode::Next(chars, &at), compatible, &parts);
    for (std::size_t i = 0; i < parts.size(); ++i) changes->push_back({parts[i], i > 0 ? 1 : 0});
  }
  Reorder(changes);
  if (compose) ComposeAll(changes);
  return text.Transform(*changes, 0, arena);
}

}  // namespace mconnect
