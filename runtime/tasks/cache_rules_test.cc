#include "runtime/tasks/cache_rules.h"

#include <gtest/gtest.h>

#include <string>

#include "mconnect/error.h"

namespace mconnect {
namespace {

CacheRules Read(const std::string& nodes) {
  return ReadCacheRules(R"({"nodes": [)" + nodes + R"(], "weights": [{"id": "v5", "shape": [256, 6]},
                         {"id": "v7", "shape": [128, 6]}, {"id": "v9", "shape": []}]})",
                        "graph.json");
}

TEST(CacheRules, APlainDecoderHasNone) {
  const CacheRules rules = Read(R"({"op": "rope", "attrs": {}, "inputs": ["v17", "v2", "v5", "v5"]},
                                   {"op": "cached_attention", "attrs": {"scale": 0.25}, "inputs": []})");
  EXPECT_FALSE(rules.windows);
  EXPECT_FALSE(rules.short_context);
}

TEST(CacheRules, OneLayerWithAWindowIsEnough) {
  EXPECT_TRUE(Read(R"({"op": "cached_attention", "attrs": {"window": 11}, "inputs": []},
                      {"op": "cached_attention", "attrs": {}, "inputs": []})")
                  .windows);
}

TEST(CacheRules, TheTableOfShortTextsSaysHowLongTheyAre) {
  EXPECT_EQ(Read(R"({"op": "rope", "attrs": {}, "inputs": ["v17", "v2", "v5", "v5", "v7", "v7"]})").short_context, 128);
}

TEST(CacheRules, RefusesATableThatIsNone) {
  EXPECT_THROW(Read(R"({"op": "rope", "attrs": {}, "inputs": ["v17", "v2", "v5", "v5", "v8", "v8"]})"), Error);
  EXPECT_THROW(Read(R"({"op": "rope", "attrs": {}, "inputs": ["v17", "v2", "v5", "v5", "v9", "v9"]})"), Error);
}

}  // namespace
}  // namespace mconnect
