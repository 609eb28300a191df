#include "mconnect/tensor.h"

#include <gtest/gtest.h>

#include <limits>

#include "mconnect/error.h"

namespace mconnect {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Tensor, StartsZeroedAndAligned) {
  Tensor tensor(DType::kF32, {3, 5});
  EXPECT_EQ(tensor.size(), 15);
  EXPECT_EQ(tensor.bytes(), 60u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64, 0u);
  for (const float value : tensor.values<float>()) EXPECT_EQ(value, 0.0f);
}

TEST(Tensor, DefaultIsEmpty) {
  const Tensor tensor;
  EXPECT_EQ(tensor.size(), 0);
  EXPECT_EQ(tensor.bytes(), 0u);
  EXPECT_TRUE(tensor.values<float>().empty());
}

TEST(Tensor, CopiesShareTheBytes) {
  Tensor a(DType::kI64, {2});
  Tensor b = a;
  b.values<std::int64_t>()[1] = 7;
  EXPECT_EQ(a.values<std::int64_t>()[1], 7);
}

TEST(Tensor, OfCopiesItsValues) {
  std::vector<std::int32_t> source = {1, 2, 3, 4};
  const Tensor tensor = Tensor::Of<std::int32_t>({2, 2}, source);
  source[0] = 9;
  EXPECT_EQ(tensor.dtype(), DType::kI32);
  EXPECT_EQ(tensor.values<std::int32_t>()[0], 1);
  EXPECT_EQ(tensor.values<std::int32_t>()[3], 4);
}

TEST(Tensor, OfRefusesAnotherNumberOfValues) {
  const std::vector<float> values(3);
  EXPECT_THROW(Tensor::Of<float>({2, 2}, values), Error);
}

TEST(Tensor, ScalarHasOneElement) {
  const float value = 2.5f;
  EXPECT_EQ(Tensor::Of<float>({}, {&value, 1}).values<float>()[0], 2.5f);
}

TEST(Tensor, ValuesRefusesAnotherDType) {
  Tensor tensor(DType::kF16, {1});
  EXPECT_THROW(tensor.values<std::uint16_t>(), Error);
  EXPECT_THROW(std::as_const(tensor).values<float>(), Error);
}

TEST(Tensor, BorrowKeepsTheOwnerAlive) {
  auto owner = std::make_shared<std::vector<double>>(4, 1.5);
  std::weak_ptr<std::vector<double>> watch = owner;
  auto tensor = std::make_unique<Tensor>(Tensor::Borrow(DType::kF64, {4}, owner->data(), owner));
  owner.reset();
  ASSERT_FALSE(watch.expired());
  EXPECT_EQ(tensor->values<double>()[3], 1.5);
  tensor.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, RefusesNegativeDimensionsAndOverflow) {
  EXPECT_THROW(Tensor(DType::kF32, {2, -1}), Error);
  EXPECT_THROW(NumElements(Shape{kMax, 2}), Error);
  EXPECT_THROW(Tensor(DType::kF32, {kMax}), Error);  // the elements fit in 64 bits, the bytes do not
  EXPECT_THROW(Tensor::Borrow(DType::kF64, {kMax}, nullptr), Error);
}

TEST(Tensor, AZeroDimensionWinsOverAnOverflow) {
  EXPECT_EQ(NumElements(Shape{kMax, kMax, 0}), 0);
  EXPECT_EQ(NumElements(Shape{0, kMax, kMax}), 0);
}

TEST(Tensor, ReportsWhatItCannotAllocate) {
  try {
    Tensor(DType::kU8, {std::int64_t{1} << 60});
    ADD_FAILURE() << "allocated an exbibyte";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kResourceExhausted);
    EXPECT_NE(e.message().find("1152921504606846976"), std::string::npos);
  }
}

TEST(Tensor, ShapeStringIsForMessages) {
  EXPECT_EQ(ShapeString(Shape{}), "[]");
  EXPECT_EQ(ShapeString(Shape{2, 3}), "[2,3]");
}

}  // namespace
}  // namespace mconnect
