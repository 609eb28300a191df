// Python's text as UTF-8.
#ifndef MCONNECT_RUNTIME_PYTHON_TEXT_H_
#define MCONNECT_RUNTIME_PYTHON_TEXT_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace mconnect::python {

// A str as UTF-8. Python's strings can hold half of a surrogate pair, which UTF-8 cannot: each becomes U+FFFD.
// Throws Error(kInvalidArgument) that says what `name` is when it is not a str.
std::string Utf8(pybind11::handle text, std::string_view name);

// Each str of a list or another iterable. A lone str is refused: it would be taken for a list of its characters.
std::vector<std::string> Utf8List(pybind11::handle texts, std::string_view name);

// A str, bytes or os.PathLike as a path. Throws Error(kInvalidArgument) where it is none, and for one with a NUL or
// half of a surrogate pair, which no file can have.
std::filesystem::path Path(pybind11::handle path, std::string_view name);

// Token ids of an iterable. Throws Error(kInvalidArgument) naming the first that is no integer from 0 to 2^31-1, and
// `vocabulary`, the number of tokens, where it is not 0.
std::vector<std::int32_t> TokenIds(pybind11::handle ids, std::string_view name, std::size_t vocabulary = 0);

}  // namespace mconnect::python

#endif  // MCONNECT_RUNTIME_PYTHON_TEXT_H_
