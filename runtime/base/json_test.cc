#include "runtime/base/json.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "mconnect/error.h"

namespace mconnect {
namespace {

// The message of the Error(kCorrupt) that `call` throws.
std::string Message(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kCorrupt);
    return e.message();
  }
  return "no error";
}

std::string ParseMessage(std::string_view text, JsonLimits limits = {}) {
  return Message([&] { ParseJson(text, "a.json", limits); });
}

TEST(ParseJson, ReadsEveryKindOfValue) {
  const Json json = ParseJson(R"({"a": [1, -2, 2.5, "é", true, null], "b": {"a": 1}})", "a.json");
  EXPECT_EQ(json["a"].size(), 6u);
  EXPECT_EQ(json["a"][3], "é");
  EXPECT_EQ(json["b"]["a"], 1);
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const auto* text :
       {"", "{", "[1,]", "{\"a\":1}x", "nan", "1e999", "\"\xff\"", "{'a':1}", "// c\n1", "\"\\ud800\""}) {
    EXPECT_EQ(ParseMessage(text).find("a.json: is not valid JSON: "), 0u) << text;
  }
}

TEST(ParseJson, RefusesDuplicateKeys) {
  EXPECT_EQ(ParseMessage(R"({"x": {"a": 1, "b": {"a": 2}, "a": 3}})"),
            "a.json: the key \"a\" appears twice in one object");
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_NO_THROW(ParseJson("[[[1]]]", "a.json", {.depth = 3}));
  EXPECT_EQ(ParseMessage("[[[[1]]]]", {.depth = 3}), "a.json: is nested deeper than 3 levels");
  EXPECT_EQ(ParseMessage(std::string(1 << 20, '[')), "a.json: is nested deeper than 64 levels");
}

TEST(ParseJson, RefusesTextOverTheLimit) {
  EXPECT_EQ(ParseMessage("[1,2,3]", {.bytes = 6}), "a.json: has 7 bytes, more than the limit of 6");
}

TEST(ParseJson, KeepsMessagesShortAndPrintable) {
  const std::string message = ParseMessage("\"" + std::string(100000, '\xc3'));
  EXPECT_LT(message.size(), 300u);
  for (const char c : message) EXPECT_TRUE(c >= ' ' && c <= '~');
}

class JsonViewTest : public testing::Test {
 protected:
  const Json json_ = ParseJson(R"({"n": 3, "f": 0.5, "s": "x", "b": true, "z": null, "o": {"k": [1, {"q": -1}]},
                                   "big": 18446744073709551615})",
                               "a.json");
  const JsonView view_{json_, "a.json"};
};

TEST_F(JsonViewTest, ReadsTypedValues) {
  EXPECT_EQ(view_["n"].Int(), 3);
  EXPECT_EQ(view_["n"].Double(), 3.0);
  EXPECT_EQ(view_["f"].Double(), 0.5);
  EXPECT_EQ(view_["s"].String(), "x");
  EXPECT_TRUE(view_["b"].Bool());
  EXPECT_TRUE(view_["z"].IsNull());
  EXPECT_EQ(view_["o"]["k"].Items()[1]["q"].Int(), -1);
  EXPECT_EQ(view_["o"].Entries()[0].first, "k");
  EXPECT_FALSE(view_.Find("none").has_value());
}

TEST_F(JsonViewTest, NamesThePlaceOfAWrongType) {
  EXPECT_EQ(Message([&] { view_["o"]["k"].Items()[1]["q"].String(); }),
            "a.json: o.k[1].q: expected a string, found -1");
  EXPECT_EQ(Message([&] { view_["s"].Int(); }), "a.json: s: expected an integer, found \"x\"");
  EXPECT_EQ(Message([&] { view_["f"].Int(); }), "a.json: f: expected an integer, found 0.5");
  EXPECT_EQ(Message([&] { view_["o"].Bool(); }), "a.json: o: expected true or false, found an object");
  EXPECT_EQ(Message([&] { view_["s"].Double(); }), "a.json: s: expected a number, found \"x\"");
  EXPECT_EQ(Message([&] { view_.Items(); }), "a.json: expected an array, found an object");
  EXPECT_EQ(Message([&] { view_["n"]["k"]; }), "a.json: n: expected an object, found 3");
  EXPECT_EQ(Message([&] { view_["n"].Entries(); }), "a.json: n: expected an object, found 3");
}

TEST_F(JsonViewTest, NamesAMissingOrUnknownKey) {
  EXPECT_EQ(Message([&] { view_["o"]["none"]; }), "a.json: o: the key 'none' is missing");
  EXPECT_EQ(Message([&] { view_["o"].Closed({"a", "b"}); }), "a.json: o: unknown key \"k\"");
  EXPECT_NO_THROW(view_["o"].Closed({"a", "k"}));
}

TEST_F(JsonViewTest, BoundsIntegersAndArrays) {
  EXPECT_EQ(Message([&] { view_["n"].Int(4, 9); }), "a.json: n: expected an integer from 4 to 9, found 3");
  EXPECT_NE(Message([&] { view_["big"].Int(); }), "no error");
  EXPECT_EQ(Message([&] { view_["o"]["k"].Items(1); }), "a.json: o.k: has 2 items, more than the limit of 1");
}

}  // namespace
}  // namespace mconnect
