#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/testing/fuzzing.h"

namespace mconnect::fuzzing {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kDocument = R"({"type": "Sequence", "items": [{"type": "Strip", "left": true}, {"n": 5}]})";

TEST(MutateTest, PartsAreSplitAtTheSeparatorAndTheLastHasTheRest) {
  using Views = std::vector<std::string_view>;
  EXPECT_EQ(Parts("a\xFF\xFF"
                  "c\xFF"
                  "d",
                  3),
            Views({"a", "",
                   "c\xFF"
                   "d"}));
  EXPECT_EQ(Parts("a", 3), Views({"a", "", ""}));
}

TEST(MutateTest, ADocumentStaysJson) {
  Random random(1);
  for (int i = 0; i < 2000; ++i)
    EXPECT_FALSE(Json::parse(MutateJson(kDocument, random), nullptr, false).is_discarded());
}

TEST(MutateTest, TreesGetDeepHugeAndExtreme) {
  Random random(1);
  std::size_t deepest = 0, longest = 0;
  bool extreme = false, deleted = false, learned = false;
  Learn(R"({"left": "learned"})");
  for (int i = 0; i < 5000; ++i) {
    const std::string text = MutateJson(kDocument, random);
    deepest = std::max(
        deepest, static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return c == '[' || c == '{'; })));
    longest = std::max(longest, text.size());
    extreme = extreme || text.find("9223372036854775807") != std::string::npos;
    const Json changed = Json::parse(text);
    deleted = deleted || (changed.is_object() && changed.size() == 1);
    learned = learned || text.find(R"("left":"learned")") != std::string::npos;
  }
  EXPECT_GT(deepest, 500u);
  EXPECT_GT(longest, 100'000u);
  EXPECT_TRUE(extreme && deleted && learned);
}

TEST(MutateTest, SameSeedSameInput) {
  std::set<std::string> all;
  for (unsigned int seed = 0; seed < 200; ++seed) {
    Random first(seed), second(seed);
    const std::string input = std::string(kDocument) + kSeparator + "some text";
    const std::string changed = Mutate(input, first);
    EXPECT_EQ(changed, Mutate(input, second));
    all.insert(changed);
  }
  EXPECT_GT(all.size(), 150u);
}

TEST(MutateTest, KeepsToTheRoomThatThereIs) {
  std::string buffer = "[1,2,3]";
  const std::size_t size = buffer.size();
  for (unsigned int seed = 0; seed < 200; ++seed) {
    buffer.resize(size + 4);
    const std::size_t now = MutateInPlace(reinterpret_cast<std::uint8_t*>(buffer.data()), size, size + 4, seed);
    EXPECT_LE(now, size + 4);
  }
}

}  // namespace
}  // namespace mconnect::fuzzing
