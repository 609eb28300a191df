// Whether bytes are UTF-8, with words for the person whose bytes are not.
#ifndef MCONNECT_BASE_UTF8_H_
#define MCONNECT_BASE_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace mconnect {

// Offset of the first byte that is not part of UTF-8 (RFC 3629); npos when all is well.
std::size_t InvalidUtf8Offset(std::string_view text) noexcept;

// Throws Error(kInvalidArgument) naming `name`, the offset and the byte unless `text` is UTF-8. The remedy names the
// encoding where a byte order mark gives it away.
void RequireUtf8(std::string_view text, std::string_view name);

// "line 3, column 7": where an offset lies, for messages. Columns count bytes.
std::string TextPlace(std::string_view text, std::size_t offset);

}  // namespace mconnect

#endif  // MCONNECT_BASE_UTF8_H_
