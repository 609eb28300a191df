// NumPy arrays as tensors and back, without copies where the memory allows it.
#ifndef MCONNECT_RUNTIME_PYTHON_ARRAYS_H_
#define MCONNECT_RUNTIME_PYTHON_ARRAYS_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <string_view>

#include "mconnect/tensor.h"

namespace mconnect::python {

// A tensor over the array's memory, which it keeps alive. An array that is not C-contiguous is copied.
// Throws Error(kInvalidArgument) naming the input and its dtype when it is no array, or of a dtype that tensors do not
// have.
Tensor ToTensor(pybind11::handle array, std::string_view name);

// {name: array} as inputs of a run.
NamedTensors ToTensors(const pybind11::dict& arrays);

// An array over the tensor's memory, which it keeps alive. bf16 arrives as ml_dtypes.bfloat16.
pybind11::array ToArray(const Tensor& tensor);

pybind11::dict ToArrays(const NamedTensors& tensors);

}  // namespace mconnect::python

#endif  // MCONNECT_RUNTIME_PYTHON_ARRAYS_H_
