#include "runtime/tasks/generation_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>
#include <vector>

namespace mconnect {
namespace {

TEST(MakeLogprob, ReportsTheTokenAndTheMostProbableOnes) {
  const std::vector<float> logits = {1, 3, 3, -INFINITY, 2};
  const TokenLogprob logprob = MakeLogprob(logits, 4, 3);
  const double sum = std::exp(1.0) + 2 * std::exp(3.0) + std::exp(2.0);
  EXPECT_EQ(logprob.id, 4);
  EXPECT_NEAR(logprob.logprob, 2 - std::log(sum), 1e-6);
  ASSERT_EQ(logprob.top.size(), 3u);
  EXPECT_EQ(logprob.top[0].first, 1);  // equals by id
  EXPECT_EQ(logprob.top[1].first, 2);
  EXPECT_EQ(logprob.top[2].first, 4);
  EXPECT_NEAR(logprob.top[0].second, 3 - std::log(sum), 1e-6);
  EXPECT_EQ(logprob.top[2].second, logprob.logprob);
}

TEST(MakeLogprob, NeverReportsMoreThanThereIs) {
  EXPECT_EQ(MakeLogprob(std::vector<float>{1, 2}, 0, 20).top.size(), 2u);
  EXPECT_TRUE(MakeLogprob(std::vector<float>{1, 2}, 0, 0).top.empty());
}

TEST(GenerationRequest, KnowsWhyItMustEnd) {
  GenerationRequest request;
  EXPECT_FALSE(request.Interruption());
  request.options.timeout_seconds = 1000.0;
  EXPECT_FALSE(request.Interruption());
  request.start -= std::chrono::seconds(1001);
  EXPECT_EQ(request.Interruption(), FinishReason::kTimeout);
  std::stop_source stop;
  request.options.cancel = stop.get_token();
  stop.request_stop();
  EXPECT_EQ(request.Interruption(), FinishReason::kCancelled);
}

}  // namespace
}  // namespace mconnect
