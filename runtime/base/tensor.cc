#include "mconnect/tensor.h"

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "mconnect/error.h"

namespace mconnect {
namespace {

constexpr std::align_val_t kAlignment{64};  // a cache line, and the widest vector register

template <typename T>
constexpr DType kDTypeOf = DType::kBool;
template <>
constexpr DType kDTypeOf<std::int8_t> = DType::kI8;
template <>
constexpr DType kDTypeOf<std::uint8_t> = DType::kU8;
template <>
constexpr DType kDTypeOf<std::int16_t> = DType::kI16;
template <>
constexpr DType kDTypeOf<std::uint16_t> = DType::kU16;
template <>
constexpr DType kDTypeOf<std::int32_t> = DType::kI32;
template <>
constexpr DType kDTypeOf<std::uint32_t> = DType::kU32;
template <>
constexpr DType kDTypeOf<std::int64_t> = DType::kI64;
template <>
constexpr DType kDTypeOf<std::uint64_t> = DType::kU64;
template <>
constexpr DType kDTypeOf<float> = DType::kF32;
template <>
constexpr DType kDTypeOf<double> = DType::kF64;

void RequireDType(DType actual, DType wanted) {
  if (actual == wanted) return;
  throw Error(ErrorCode::kInvalidArgument,
              "the tensor holds " + std::string(DTypeName(actual)) + ", not " + std::string(DTypeName(wanted)));
}

// Elements of `shape`, whose bytes fit in the address space too.
std::int64_t CheckedSize(DType dtype, const Shape& shape) {
  const std::int64_t size = NumElements(shape);
  if (size > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(DTypeSize(dtype))) {
    throw Error(ErrorCode::kInvalidArgument, "shape " + ShapeString(shape) + " of " + std::string(DTypeName(dtype)) +
                                                 " has more bytes than 64 bits can count");
  }
  return size;
}

}  // namespace

std::int64_t NumElements(std::span<const std::int64_t> shape) {
  std::int64_t size = 1;
  bool overflow = false;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  "shape " + ShapeString(shape) + " has the negative dimension " + std::to_string(dim));
    }
    empty |= dim == 0;
    overflow |= __builtin_mul_overflow(size, dim, &size);
  }
  if (empty) return 0;
  if (overflow) {
    throw Error(ErrorCode::kInvalidArgument,
                "shape " + ShapeString(shape) + " has more elements than 64 bits can count");
  }
  return size;
}

std::string ShapeString(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t dim : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  return text + "]";
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)), size_(CheckedSize(dtype, shape_)) {
  if (bytes() == 0) return;
  data_ = ::operator new(bytes(), kAlignment, std::nothrow);
  if (data_ == nullptr) {
    throw Error(ErrorCode::kResourceExhausted,
                "cannot allocate " + std::to_string(bytes()) + " bytes for a tensor of shape " + ShapeString(shape_));
  }
  owner_ = std::shared_ptr<const void>(
      data_, [](const void* data) { ::operator delete(const_cast<void*>(data), kAlignment); });
  std::memset(data_, 0, bytes());
}

Tensor Tensor::Borrow(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.size_ = CheckedSize(dtype, shape);
  tensor.shape_ = std::move(shape);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

template <typename T>
Tensor Tensor::Of(Shape shape, std::span<const T> values) {
  const std::int64_t size = NumElements(shape);
  if (static_cast<std::uint64_t>(size) != values.size()) {
    throw Error(ErrorCode::kInvalidArgument, "shape " + ShapeString(shape) + " has " + std::to_string(size) +
                                                 " elements, but " + std::to_string(values.size()) +
                                                 " values were given");
  }
  Tensor tensor(kDTypeOf<T>, std::move(shape));
  if (!values.empty()) std::memcpy(tensor.data_, values.data(), values.size_bytes());
  return tensor;
}

template <typename T>
std::span<const T> Tensor::values() const {
  RequireDType(dtype_, kDTypeOf<T>);
  return {static_cast<const T*>(data_), static_cast<std::size_t>(size_)};
}

template <typename T>
std::span<T> Tensor::values() {
  RequireDType(dtype_, kDTypeOf<T>);
  return {static_cast<T*>(data_), static_cast<std::size_t>(size_)};
}

#define MCONNECT_INSTANTIATE(T)                             \
  template Tensor Tensor::Of<T>(Shape, std::span<const T>); \
  template std::span<const T> Tensor::values<T>() const;    \
  template std::span<T> Tensor::values<T>();
MCONNECT_INSTANTIATE(bool)
MCONNECT_INSTANTIATE(std::int8_t)
MCONNECT_INSTANTIATE(std::uint8_t)
MCONNECT_INSTANTIATE(std::int16_t)
MCONNECT_INSTANTIATE(std::uint16_t)
MCONNECT_INSTANTIATE(std::int32_t)
MCONNECT_INSTANTIATE(std::uint32_t)
MCONNECT_INSTANTIATE(std::int64_t)
MCONNECT_INSTANTIATE(std::uint64_t)
MCONNECT_INSTANTIATE(float)
MCONNECT_INSTANTIATE(double)
#undef MCONNECT_INSTANTIATE

}  // namespace mconnect
