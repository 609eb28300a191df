#include "mconnect/error.h"

#include <gtest/gtest.h>

#include <set>

namespace mconnect {
namespace {

TEST(Error, WhatJoinsCodeMessageAndRemedy) {
  EXPECT_STREQ(Error(ErrorCode::kNotFound, "no module 'x'", "choose 'encoder'").what(),
               "not-found: no module 'x' (choose 'encoder')");
}

TEST(Error, WhatLeavesOutAnEmptyRemedy) {
  const Error error(ErrorCode::kIo, "a.bundle: permission denied");
  EXPECT_STREQ(error.what(), "io: a.bundle: permission denied");
  EXPECT_EQ(error.message(), "a.bundle: permission denied");
  EXPECT_EQ(error.remedy(), "");
}

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 1; code <= 9; ++code) names.insert(ErrorCodeName(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), 9u);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(ErrorCodeName(static_cast<ErrorCode>(10)), "unknown");
}

TEST(Error, IsAStandardException) {
  try {
    throw Error(ErrorCode::kCorrupt, "m");
  } catch (const std::exception& e) {
    EXPECT_STREQ(e.what(), "corrupt: m");
  }
}

}  // namespace
}  // namespace mconnect
