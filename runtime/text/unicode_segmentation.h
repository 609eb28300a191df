// Grapheme clusters and scripts, as the reference library has them.
#ifndef MCONNECT_TEXT_UNICODE_SEGMENTATION_H_
#define MCONNECT_TEXT_UNICODE_SEGMENTATION_H_

#include <cstddef>
#include <string_view>

namespace mconnect::unicode {

// The end of the extended grapheme cluster (Unicode Standard Annex 29) that begins at text[begin]. The text must be
// well-formed UTF-8, and `begin` less than its size.
std::size_t ClusterEnd(std::string_view text, std::size_t begin);

// A number for the code point's script, where kana are Han. 0: it goes with every script.
int Script(char32_t c);

}  // namespace mconnect::unicode

#endif  // MCONNECT_TEXT_UNICODE_SEGMENTATION_H_
