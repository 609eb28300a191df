// The normalization forms of Unicode Standard Annex 15.
#ifndef MCONNECT_TEXT_NORMALIZATION_FORM_H_
#define MCONNECT_TEXT_NORMALIZATION_FORM_H_

#include <vector>

#include "runtime/text/aligned_text.h"

namespace mconnect {

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };

// The text in that form, by the Unicode 9 tables of the reference; `changes` is scratch space.
AlignedText ToNormalizationForm(const AlignedText& text, NormalizationForm form, std::vector<Change>* changes,
                                TextArena* arena);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_NORMALIZATION_FORM_H_
