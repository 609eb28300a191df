#include "mconnect/dtype.h"

#include <gtest/gtest.h>

#include "mconnect/error.h"

namespace mconnect {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= 12; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype) << DTypeName(dtype);
  }
}

TEST(DType, SizesFollowTheNames) {
  EXPECT_EQ(DTypeSize(DType::kBool), 1u);
  for (const auto* name : {"i8", "u8"}) EXPECT_EQ(DTypeSize(ParseDType(name)), 1u) << name;
  for (const auto* name : {"i16", "u16", "f16", "bf16"}) EXPECT_EQ(DTypeSize(ParseDType(name)), 2u) << name;
  for (const auto* name : {"i32", "u32", "f32"}) EXPECT_EQ(DTypeSize(ParseDType(name)), 4u) << name;
  for (const auto* name : {"i64", "u64", "f64"}) EXPECT_EQ(DTypeSize(ParseDType(name)), 8u) << name;
}

TEST(DType, RefusesUnknownNamesAndListsTheKnownOnes) {
  for (const auto* name : {"", "F32", "float", "f8", "i64 "}) {
    try {
      ParseDType(name);
      ADD_FAILURE() << "accepted '" << name << "'";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(e.message().find("'" + std::string(name) + "'"), std::string::npos);
      EXPECT_NE(e.remedy().find("bf16, f32, f64"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace mconnect
