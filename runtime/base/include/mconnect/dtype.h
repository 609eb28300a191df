// Element types of tensors.
#ifndef MCONNECT_DTYPE_H_
#define MCONNECT_DTYPE_H_

#include <cstddef>
#include <string_view>

namespace mconnect {

// The values are part of the C ABI and never change.
enum class DType : int {
  kBool = 0,
  kI8 = 1,
  kU8 = 2,
  kI16 = 3,
  kU16 = 4,
  kI32 = 5,
  kU32 = 6,
  kI64 = 7,
  kU64 = 8,
  kF16 = 9,
  kBF16 = 10,
  kF32 = 11,
  kF64 = 12,
};

// Bytes of one element.
std::size_t DTypeSize(DType dtype) noexcept;

// "bool", "i8", ..., "f64": the names used in manifests and messages.
std::string_view DTypeName(DType dtype) noexcept;

// The inverse of DTypeName. Throws Error(kInvalidArgument) for any other text.
DType ParseDType(std::string_view name);

}  // namespace mconnect

#endif  // MCONNECT_DTYPE_H_
