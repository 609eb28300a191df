#include "runtime/cli/json_out.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace mconnect::cli {
namespace {

TEST(JsonOut, WritesFloatsThatReadBackExactly) {
  const std::array<float, 5> values = {0.1f, -1e-20f, 3.0f, std::numeric_limits<float>::max(),
                                       std::numeric_limits<float>::denorm_min()};
  std::string text;
  AppendJson(values, &text);
  const auto parsed = nlohmann::json::parse(text);
  ASSERT_EQ(parsed.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(static_cast<float>(parsed[i].get<double>()), values[i]) << text;
  EXPECT_EQ(text.substr(0, 5), "[0.1,");
}

TEST(JsonOut, WritesNullForWhatJsonCannotHold) {
  const std::array<float, 2> values = {std::numeric_limits<float>::quiet_NaN(),
                                       -std::numeric_limits<float>::infinity()};
  std::string text;
  AppendJson(values, &text);
  EXPECT_EQ(text, "[null,null]");
}

TEST(JsonOut, KeepsTheOrderOfKeysAndRepairsUtf8) {
  EXPECT_EQ(JsonLine({{"b", "\xFF"}, {"a", 1}}), "{\"b\":\"\xEF\xBF\xBD\",\"a\":1}\n");
}

}  // namespace
}  // namespace mconnect::cli
