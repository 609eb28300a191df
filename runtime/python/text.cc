#include "runtime/python/text.h"

#include "mconnect/error.h"

namespace mconnect::python {
namespace py = pybind11;

namespace {

std::string TypeName(py::handle object) { return py::str(py::type::handle_of(object).attr("__name__")); }

}  // namespace

std::string Utf8(py::handle text, std::string_view name) {
  if (!py::isinstance<py::str>(text)) {
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + TypeName(text) + ", not str");
  }
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return {bytes, static_cast<std::size_t>(size)};
  PyErr_Clear();
  const py::object units = text.attr("encode")("utf-16-le", "surrogatepass");
  return py::str(units.attr("decode")("utf-16-le", "replace"));
}

std::vector<std::string> Utf8List(py::handle texts, std::string_view name) {
  if (py::isinstance<py::str>(texts) || !py::isinstance<py::iterable>(texts)) {
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + TypeName(texts) + ", not a list of str",
                "put it into a list: [text]");
  }
  std::vector<std::string> list;
  for (const py::handle text : texts)
    list.push_back(Utf8(text, std::string(name) + "[" + std::to_string(list.size()) + "]"));
  return list;
}

}  // namespace mconnect::python
