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

std::filesystem::path Path(py::handle path, std::string_view name) {
  const py::module_ os = py::module_::import("os");
  std::string native;
  try {
    native = py::bytes(os.attr("fsencode")(path));
  } catch (const py::error_already_set& error) {
    if (error.matches(PyExc_TypeError)) {
      throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + TypeName(path) + ", not a path");
    }
    if (!error.matches(PyExc_UnicodeEncodeError)) throw;
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " is " + std::string(py::repr(path)) + ", which holds half of a surrogate pair",
                "give the name as os.listdir() or bytes have it");
  }
  if (native.find('\0') != std::string::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " is " + std::string(py::repr(path)) + ", and no path holds the character NUL");
  }
  return native;
}

std::vector<std::int32_t> TokenIds(py::handle ids, std::string_view name, std::size_t vocabulary) {
  if (!py::isinstance<py::iterable>(ids) || py::isinstance<py::str>(ids) || py::isinstance<py::bytes>(ids)) {
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + TypeName(ids) + ", not a list of token ids");
  }
  std::vector<std::int32_t> list;
  for (const py::handle id : ids) {
    std::int32_t value = -1;
    try {
      value = id.cast<std::int32_t>();
    } catch (const py::cast_error&) {  // no integer, or none of 32 bits
    }
    if (value < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string(name) + "[" + std::to_string(list.size()) + "] is " + std::string(py::repr(id)) +
                      ", not a token id, which is an integer from 0" +
                      (vocabulary == 0 ? "" : "; the vocabulary has " + std::to_string(vocabulary) + " tokens"));
    }
    list.push_back(value);
  }
  return list;
}

}  // namespace mconnect::python
