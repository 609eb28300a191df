// A module for the test of the conversions: what goes in comes out, through the runtime's own types.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "mconnect/error.h"
#include "runtime/python/arrays.h"
#include "runtime/python/text.h"

namespace mconnect::python {

PYBIND11_MODULE(conversions_echo, m) {
  m.def("array", [](const pybind11::object& array) { return ToArray(ToTensor(array, "input x")); });
  m.def("dtype",
        [](const pybind11::object& array) { return std::string(DTypeName(ToTensor(array, "input x").dtype())); });
  m.def("text", [](const pybind11::object& text) { return pybind11::bytes(Utf8(text, "text")); });
  m.def("texts", [](const pybind11::object& texts) { return Utf8List(texts, "texts"); });
  m.def("path", [](const pybind11::object& path) { return pybind11::bytes(Path(path, "bundle").string()); });
  m.def("ids", [](const pybind11::object& ids) { return TokenIds(ids, "ids", 9); });
}

}  // namespace mconnect::python
