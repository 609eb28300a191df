// Python's text as UTF-8.
#ifndef MCONNECT_RUNTIME_PYTHON_TEXT_H_
#define MCONNECT_RUNTIME_PYTHON_TEXT_H_

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>
#include <vector>

namespace mconnect::python {

// A str as UTF-8. Python's strings can hold half of a surrogate pair, which UTF-8 cannot: each becomes U+FFFD.
// Throws Error(kInvalidArgument) that says what `name` is when it is not a str.
std::string Utf8(pybind11::handle text, std::string_view name);

// Each str of a list or another iterable. A lone str is refused: it would be taken for a list of its characters.
std::vector<std::string> Utf8List(pybind11::handle texts, std::string_view name);

}  // namespace mconnect::python

#endif  // MCONNECT_RUNTIME_PYTHON_TEXT_H_
