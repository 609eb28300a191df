#include "mconnect/dtype.h"

#include <array>
#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

struct Row {
  std::string_view name;
  std::size_t size;
};

// Indexed by the enumerators' values.
constexpr std::array<Row, 13> kRows = {{{"bool", 1},
                                        {"i8", 1},
                                        {"u8", 1},
                                        {"i16", 2},
                                        {"u16", 2},
                                        {"i32", 4},
                                        {"u32", 4},
                                        {"i64", 8},
                                        {"u64", 8},
                                        {"f16", 2},
                                        {"bf16", 2},
                                        {"f32", 4},
                                        {"f64", 8}}};

}  // namespace

std::size_t DTypeSize(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].size; }

std::string_view DTypeName(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)].name; }

DType ParseDType(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
    known += (i == 0 ? "" : ", ") + std::string(kRows[i].name);
  }
  throw Error(ErrorCode::kInvalidArgument, "unknown dtype '" + std::string(name) + "'", "use one of " + known);
}

}  // namespace mconnect
