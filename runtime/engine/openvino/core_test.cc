#include "runtime/engine/openvino/core.h"

#include <gtest/gtest.h>

#include <string>

#include "mconnect/error.h"

namespace mconnect::openvino {
namespace {

TEST(Core, FindsItsPluginByItself) {
  Cpu& cpu = GetCpu();
  EXPECT_FALSE(cpu.name.empty());
  EXPECT_EQ(&GetCpu(), &cpu);
}

TEST(Core, EveryDTypeHasACounterpart) {
  for (int d = 0; d <= static_cast<int>(DType::kF64); ++d) {
    const DType dtype = static_cast<DType>(d);
    EXPECT_EQ(FromOpenVino(ToOpenVino(dtype)), dtype);
    const std::size_t bits = DTypeSize(dtype) * 8;
    EXPECT_EQ(ToOpenVino(dtype).bitwidth(), bits) << DTypeName(dtype);
  }
  EXPECT_THROW(FromOpenVino(ov::element::u4), Error);
  EXPECT_THROW(ToOpenVino(static_cast<DType>(99)), Error);
}

TEST(Core, ExplanationsLeaveOutSourceLocations) {
  EXPECT_EQ(Explanation("Exception from src/a.cpp:1:\nException from src/b.cpp:2:\nCheck failed\n\n  in node x\n"),
            "Check failed   in node x");
  EXPECT_EQ(Explanation("Exception from src/a.cpp:1:\n\n"), "no reason given");
  EXPECT_EQ(Explanation(""), "no reason given");
}

}  // namespace
}  // namespace mconnect::openvino
