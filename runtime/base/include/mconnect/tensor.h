// A named tensor's value: dtype, shape and bytes.
#ifndef MCONNECT_TENSOR_H_
#define MCONNECT_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mconnect/dtype.h"

namespace mconnect {

using Shape = std::vector<std::int64_t>;

// Elements of a tensor of that shape. Throws Error(kInvalidArgument) on a negative dimension or an overflow.
std::int64_t NumElements(std::span<const std::int64_t> shape);

// "[2,3]": for messages.
std::string ShapeString(std::span<const std::int64_t> shape);

// A dense, row-major, contiguous tensor in host memory. Copies share the bytes. Not synchronised: threads that write
// need their own.
class Tensor {
 public:
  Tensor() = default;

  // Zero-filled, 64-byte aligned, owned.
  Tensor(DType dtype, Shape shape);

  // Points at bytes that `owner` keeps alive (null: the caller does, for as long as any copy lives).
  static Tensor Borrow(DType dtype, Shape shape, void* data, std::shared_ptr<const void> owner = nullptr);

  // Copies `values`. Throws Error(kInvalidArgument) when their number is not that of the shape.
  template <typename T>
  static Tensor Of(Shape shape, std::span<const T> values);

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size() const noexcept { return size_; }  // elements
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(size_) * DTypeSize(dtype_); }
  const void* data() const noexcept { return data_; }
  void* data() noexcept { return data_; }

  // Typed views. Throw Error(kInvalidArgument) when T is not the tensor's dtype.
  template <typename T>
  std::span<const T> values() const;
  template <typename T>
  std::span<T> values();

 private:
  DType dtype_ = DType::kF32;
  Shape shape_ = {0};
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

using NamedTensors = std::map<std::string, Tensor>;

}  // namespace mconnect

#endif  // MCONNECT_TENSOR_H_
