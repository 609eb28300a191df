#include "runtime/engine/input_limits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

std::string Graph(const std::string& nodes) {
  return R"({"inputs":[{"id":"v0","name":"ids","shape":["batch","tokens"]},{"id":"v1","name":"positions","shape":["batch","tokens"]},
                       {"id":"v2","name":"rows","shape":["batch"]},{"id":"v3","name":"keep","shape":[1]}],
             "weights":[{"id":"w0","name":"words","shape":[512,8]},{"id":"w1","name":"table","shape":[100,8]}],"nodes":[)" +
         nodes + "]}";
}

using Limits = std::map<std::string, std::int64_t>;

TEST(InputLimits, AnIndexEndsWithItsTable) {
  const InputLimits limits = ReadInputLimits(Graph(R"({"op":"embedding","inputs":["v0","w0"],"outputs":[{"id":"v5"}]},
                                                      {"op":"rope","inputs":["v5","v1","w1","w1"],"outputs":[{"id":"v6"}]})"),
                                             "graph.json");
  EXPECT_EQ(limits.values, (Limits{{"ids", 511}, {"positions", 99}}));
  EXPECT_TRUE(limits.symbols.empty());
}

TEST(InputLimits, OfTwoTablesTheShorterCounts) {
  EXPECT_EQ(ReadInputLimits(Graph(R"({"op":"embedding","inputs":["v0","w0"],"outputs":[{"id":"v5"}]},
                                     {"op":"embedding","inputs":["v0","w1"],"outputs":[{"id":"v6"}]})"),
                            "graph.json")
                .values,
            (Limits{{"ids", 99}}));
}

TEST(InputLimits, CountedPositionsLimitTheirDimension) {
  const InputLimits limits = ReadInputLimits(Graph(R"({"op":"positions","inputs":["v0"],"outputs":[{"id":"v5"}]},
                                                      {"op":"embedding","inputs":["v5","w1"],"outputs":[{"id":"v6"}]})"),
                                             "graph.json");
  EXPECT_EQ(limits.symbols, (Limits{{"tokens", 100}}));
  EXPECT_TRUE(limits.values.empty());
}

TEST(InputLimits, KnowsRowsOfACacheAndCounts) {
  const InputLimits limits =
      ReadInputLimits(Graph(R"({"op":"cached_attention","inputs":["q","k","v","v1","v2"],"outputs":[{"id":"v5"}]},
                               {"op":"trailing","inputs":["v5","v3"],"outputs":[{"id":"v6"}]})"),
                      "graph.json");
  EXPECT_EQ(limits.cache_rows, (std::set<std::string>{"rows"}));
  EXPECT_EQ(limits.values, (Limits{{"keep", std::numeric_limits<std::int64_t>::max() - 1}}));
}

TEST(InputLimits, WhatAnotherNodeComputesHasNone) {
  EXPECT_TRUE(ReadInputLimits(Graph(R"({"op":"embedding","inputs":["v9","w0"],"outputs":[{"id":"v5"}]},
                                       {"op":"embedding","inputs":["v0","v5"],"outputs":[{"id":"v6"}]})"),
                              "graph.json")
                  .values.empty());
}

TEST(InputLimits, RefusesWhatIsNoGraph) {
  for (const std::string& text :
       {std::string("{}"), std::string("["), Graph(R"({"op":"embedding","inputs":[],"outputs":[]})"),
        Graph(R"({"op":"positions","inputs":["v0"],"outputs":[]})")}) {
    try {
      ReadInputLimits(text, "modules/encoder/graph.json");
      ADD_FAILURE() << "no error for " << text;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kCorrupt);
      EXPECT_NE(e.message().find("modules/encoder/graph.json"), std::string::npos) << e.message();
    }
  }
}

}  // namespace
}  // namespace mconnect
