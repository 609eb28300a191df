#include "runtime/tasks/pooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mconnect/error.h"

namespace mconnect {
namespace {

// Three tokens of two values; the last column of each mask below decides what counts.
const std::vector<float> kHidden = {1, 10, 3, 20, 500, 600};

std::vector<float> Pooled(Pooling pooling, std::vector<std::int64_t> mask) {
  std::vector<float> out(2, -1.0f);
  Pool(pooling, kHidden, mask, out);
  return out;
}

TEST(Pool, MeanLooksAtTokensOnly) { EXPECT_EQ(Pooled(Pooling::kMean, {1, 1, 0}), (std::vector<float>{2, 15})); }

TEST(Pool, ClsIsTheFirstTokenOnEitherSideOfPadding) {
  EXPECT_EQ(Pooled(Pooling::kCls, {1, 1, 0}), (std::vector<float>{1, 10}));
  EXPECT_EQ(Pooled(Pooling::kCls, {0, 1, 1}), (std::vector<float>{3, 20}));
}

TEST(Pool, LastIsTheLastToken) {
  EXPECT_EQ(Pooled(Pooling::kLast, {1, 1, 0}), (std::vector<float>{3, 20}));
  EXPECT_EQ(Pooled(Pooling::kLast, {1, 1, 1}), (std::vector<float>{500, 600}));
}

TEST(Pool, NoTokenGivesZeros) {
  for (const Pooling p : {Pooling::kMean, Pooling::kCls, Pooling::kLast}) {
    EXPECT_EQ(Pooled(p, {0, 0, 0}), (std::vector<float>{0, 0}));
  }
}

TEST(Normalize, GivesLengthOneAndLeavesZeros) {
  std::vector<float> v = {3, 4}, zero = {0, 0}, tiny = {1e-20f, 0};
  Normalize(v);
  EXPECT_FLOAT_EQ(v[0], 0.6f);
  EXPECT_FLOAT_EQ(v[1], 0.8f);
  Normalize(zero);
  EXPECT_EQ(zero, (std::vector<float>{0, 0}));
  Normalize(tiny);
  EXPECT_FLOAT_EQ(tiny[0], 1e-8f);
}

TEST(ParsePooling, KnowsItsNames) {
  EXPECT_EQ(ParsePooling("mean"), Pooling::kMean);
  EXPECT_EQ(ParsePooling("cls"), Pooling::kCls);
  EXPECT_EQ(ParsePooling("last"), Pooling::kLast);
  EXPECT_THROW(ParsePooling("max"), Error);
}

}  // namespace
}  // namespace mconnect
