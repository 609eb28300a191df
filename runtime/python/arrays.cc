#include "runtime/python/arrays.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/python/text.h"

namespace mconnect::python {
namespace py = pybind11;

namespace {

std::optional<DType> DTypeOf(const py::dtype& dtype) {
  if (py::str(dtype.attr("name")).cast<std::string>() == "bfloat16") return DType::kBF16;
  if (!dtype.attr("isnative").cast<bool>()) return std::nullopt;
  const auto size = dtype.itemsize();
  switch (dtype.kind()) {
    case 'b':
      return DType::kBool;
    case 'i':
      return size == 1 ? DType::kI8 : size == 2 ? DType::kI16 : size == 4 ? DType::kI32 : DType::kI64;
    case 'u':
      return size == 1 ? DType::kU8 : size == 2 ? DType::kU16 : size == 4 ? DType::kU32 : DType::kU64;
    case 'f':
      if (size == 2) return DType::kF16;
      if (size == 4) return DType::kF32;
      if (size == 8) return DType::kF64;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

py::dtype NumpyDType(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
    case DType::kBool:
      return py::dtype("bool");
    default: {
      // "f16" here is "float16" there; "i64" is "int64", "u8" is "uint8".
      const std::string name(DTypeName(dtype));
      const char* kind = name[0] == 'f' ? "float" : name[0] == 'u' ? "uint" : "int";
      return py::dtype(kind + name.substr(1));
    }
  }
}

// Keeps a Python object alive from code that does not hold the GIL.
std::shared_ptr<const void> Own(py::object object) {
  PyObject* raw = object.release().ptr();
  return {raw, [](PyObject* p) {
            const py::gil_scoped_acquire gil;
            Py_DECREF(p);
          }};
}

}  // namespace

Tensor ToTensor(py::handle object, std::string_view name) {
  if (!py::isinstance<py::array>(object)) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " is " + std::string(py::str(py::type::handle_of(object).attr("__name__"))) +
                    ", not a numpy array",
                "pass numpy.asarray(value, dtype=...)");
  }
  py::array array = py::reinterpret_borrow<py::array>(object);
  const std::optional<DType> dtype = DTypeOf(array.dtype());
  if (!dtype) {
    throw Error(
        ErrorCode::kInvalidArgument,
        std::string(name) + " has dtype " + std::string(py::str(array.dtype())) + ", which no tensor can have",
        "convert it with astype() to bool, (u)int8 to (u)int64, float16, float32, float64 or ml_dtypes.bfloat16");
  }
  if (!(array.flags() & py::array::c_style)) array = py::module_::import("numpy").attr("ascontiguousarray")(array);
  Shape shape(array.shape(), array.shape() + array.ndim());
  // Inputs are only read: a read-only array will do.
  void* data = const_cast<void*>(array.data());
  return Tensor::Borrow(*dtype, std::move(shape), data, Own(std::move(array)));
}

NamedTensors ToTensors(const py::dict& arrays) {
  NamedTensors tensors;
  for (const auto& [key, value] : arrays) {
    const std::string name = Utf8(key, "the name of an input");
    tensors.emplace(name, ToTensor(value, "input " + name));
  }
  return tensors;
}

py::array ToArray(const Tensor& tensor) {
  auto* owner = new Tensor(tensor);
  const py::capsule base(owner, [](void* p) { delete static_cast<Tensor*>(p); });
  return py::array(NumpyDType(tensor.dtype()), std::vector<py::ssize_t>(tensor.shape().begin(), tensor.shape().end()),
                   owner->data(), base);
}

py::dict ToArrays(const NamedTensors& tensors) {
  py::dict arrays;
  for (const auto& [name, tensor] : tensors) arrays[py::str(name)] = ToArray(tensor);
  return arrays;
}

}  // namespace mconnect::python
