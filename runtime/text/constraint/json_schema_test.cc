#include "runtime/text/constraint/json_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/constraint/constraint_testing.h"

namespace mconnect {
namespace {

using Value = nlohmann::json;

struct Case {
  std::string schema;
  std::vector<std::string> yes, no;
};

TEST(JsonSchemaTest, AdmitsWhatIsValidAndNothingElse) {
  const std::vector<Case> cases = {
      {R"({"type":"string"})", {R"("")", R"("a\n\u00e9é😀")"}, {R"("a)", R"("\ud800")", R"("\x")", "\"\n\"", "1"}},
      {R"({"type":"string","minLength":2,"maxLength":3})", {R"("ab")", R"("é\n漢")"}, {R"("a")", R"("abcd")"}},
      {R"({"type":"integer"})", {"0", "-12", "999999999999999999"}, {"01", "1.0", "-", "1000000000000000000"}},
      {R"({"type":"integer","minimum":-12,"maximum":105})",
       {"-12", "-1", "0", "9", "99", "100", "105"},
       {"-13", "106", "110", "-0"}},
      {R"({"type":"integer","exclusiveMinimum":8,"exclusiveMaximum":21})", {"9", "20"}, {"8", "21", "7"}},
      {R"({"type":"integer","maximum":-5})", {"-5", "-999"}, {"-4", "0"}},
      {R"({"type":"number"})", {"0", "-1.50", "2e-9", "1.5E+3"}, {"1.", ".5", "1e999"}},
      {R"({"type":"number","minimum":0,"maximum":1})", {"0", "1", "0.25"}, {"1.1", "-0.1", "2"}},
      {R"({"type":"number","exclusiveMinimum":0})", {"1", "0.001"}, {"0", "0.0", "-1"}},
      {R"({"type":"number","minimum":-2.5,"maximum":-1})", {"-2", "-1.5", "-1"}, {"-0.5", "-2.7", "0"}},
      {R"({"type":["boolean","null"]})", {"true", "false", "null"}, {"0", "\"true\""}},
      {R"({"enum":["a",1,null,{"x":[1]}]})", {R"("a")", "1", "null", R"({"x":[1]})"}, {"2", "a"}},
      {R"({"const":"é\"\\"})", {R"("é\"\\")"}, {R"("e")"}},
      {R"({"type":"array","items":{"type":"integer"}})", {"[]", "[1]", "[1,2, 3]"}, {"[,]", "[1,]", "[\"a\"]"}},
      {R"({"type":"array","items":{"const":1},"minItems":2,"maxItems":3})",
       {"[1,1]", "[1,1,1]"},
       {"[]", "[1]", "[1,1,1,1]"}},
      {R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"items":false})",
       {"[]", "[1]", "[1,2]"},
       {"[2]", "[1,2,3]"}},
      {R"({"type":"array","prefixItems":[{"const":1},{"const":2}],"items":{"const":3},"minItems":1,"maxItems":3})",
       {"[1]", "[1,2]", "[1,2,3]"},
       {"[]", "[1,3]", "[1,2,3,3]"}},
      {R"({"type":"array","items":{"const":1},"maxItems":0})", {"[]"}, {"[1]"}},
      {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2},"c":{"const":3}},"required":["b"]})",
       {R"({"b":2})", R"({"a":1,"b":2})", R"({"b": 2, "c": 3})", R"({"a":1,"b":2,"c":3})"},
       {"{}", R"({"a":1})", R"({"b":2,"a":1})", R"({,"b":2})", R"({"b":2,})", R"({"b":2,"d":4})"}},
      {R"({"type":"object","properties":{"a":{"const":1},"b":{"const":2}}})",
       {"{}", R"({"a":1})", R"({"b":2})", R"({"a":1,"b":2})"},
       {R"({"b":2,"a":1})"}},
      {R"({"type":"object","properties":{"ab":{"const":1}},"additionalProperties":{"const":0}})",
       {"{}", R"({"ab":1})", R"({"ab":1,"a":0,"abc":0,"x":0,"é":0})", R"({"":0})"},
       {R"({"ab":0})", R"({"ab":1,"ab":0})", R"({"x":1})"}},
      {R"({"type":"object","additionalProperties":{"const":0}})", {"{}", R"({"x":0,"y":0})"}, {R"({"x":1})"}},
      {R"({"type":"object","required":["x"]})", {R"({"x":[]})"}, {"{}"}},
      {"{}", {"1", R"({"a":[{"b":null},true]})"}, {"", "{a:1}"}},
      {"true", {"[[]]"}, {"x"}},
      {R"({"anyOf":[{"type":"integer"},{"type":"null"}],"title":"t"})", {"5", "null"}, {"true"}},
      {R"({"oneOf":[{"type":"object","properties":{"k":{"const":"a"}},"required":["k"]},
                    {"type":"object","properties":{"k":{"enum":["b","c"]}},"required":["k"]}]})",
       {R"({"k":"a"})", R"({"k":"c"})"},
       {R"({"k":"d"})"}},
      {R"({"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},
           "next":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},"required":["v","next"]}}})",
       {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
       {R"({"v":1})"}},
      {R"({"type":"string","pattern":"^a[\"\\n]b$"})", {R"("a\"b")", R"("a\nb")"}, {R"("a"b")", R"("ab")"}},
      {R"({"type":"string","pattern":"x"})", {R"("x")", R"("éx\"")"}, {R"("y")"}},
      {R"({"type":"string","format":"date"})", {R"("2024-02-28")"}, {R"("2024-2-28")", R"("2024-13-01")"}},
      {R"({"type":"string","format":"uuid"})", {R"("123e4567-e89b-12d3-a456-426614174000")"}, {R"("123e4567")"}},
      {R"({"allOf":[{"type":"integer"}]})", {"1"}, {"null"}},
      {R"({"type":"integer","minLength":5,"description":"of another type"})", {"1"}, {"\"abcde\""}},
  };
  for (const Case& c : cases) {
    Automaton automaton(JsonSchemaGrammar(c.schema));
    for (const std::string& text : c.yes) EXPECT_TRUE(Matches(automaton, text)) << c.schema << " on " << text;
    for (const std::string& text : c.no) EXPECT_FALSE(Matches(automaton, text)) << c.schema << " on " << text;
  }
}

TEST(JsonSchemaTest, RandomTextsAreJsonThatIsValid) {
  const auto length = [](const Value& v) {  // code points
    const std::string text = v.get<std::string>();
    return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  };
  const std::vector<std::pair<std::string, std::function<bool(const Value&)>>> cases = {
      {"{}", [](const Value&) { return true; }},
      {R"({"type":"string","minLength":3,"maxLength":9})",
       [&](const Value& v) { return v.is_string() && length(v) >= 3 && length(v) <= 9; }},
      {R"({"type":"integer","minimum":-37,"maximum":1234})",
       [](const Value& v) { return v.is_number_integer() && v >= -37 && v <= 1234; }},
      {R"({"type":"number","exclusiveMinimum":-3,"maximum":17.5})",
       [](const Value& v) { return v.is_number() && v.get<double>() > -3 && v.get<double>() <= 17.5; }},
      {R"({"type":"array","items":{"type":["integer","boolean"]},"minItems":2,"maxItems":5})",
       [](const Value& v) { return v.is_array() && v.size() >= 2 && v.size() <= 5; }},
      {R"({"type":"object","properties":{"id":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}},
           "required":["id"],"additionalProperties":{"type":"boolean"}})",
       [](const Value& v) {
         for (const auto& [key, value] : v.items()) {
           if (key == "id" ? !value.is_number_integer() : key == "tags" ? !value.is_array() : !value.is_boolean())
             return false;
         }
         return v.is_object() && v.contains("id");
       }},
  };
  std::mt19937 random(7);
  for (const auto& [schema, valid] : cases) {
    Automaton automaton(JsonSchemaGrammar(schema));
    for (int i = 0; i < 40; ++i) {
      const std::string text = RandomText(automaton, random);
      const Value value = Value::parse(text, nullptr, /*allow_exceptions=*/false);
      ASSERT_FALSE(value.is_discarded()) << schema << " gave " << text;
      EXPECT_TRUE(valid(value)) << schema << " gave " << text;
    }
  }
}

TEST(JsonSchemaTest, NestingEndsWithinItsLimit) {
  Automaton automaton(JsonSchemaGrammar("{}"));
  Automaton::State state = automaton.start();
  std::size_t depth = 0;
  for (; depth < 1000; ++depth) {
    const Automaton::State next = automaton.Next(state, '[');
    if (next == Automaton::kDead) break;
    state = next;
  }
  EXPECT_GT(depth, 50u);
  EXPECT_LE(depth, Automaton::kMaxDepth);
  for (std::size_t i = 0; i < depth; ++i) state = automaton.Next(state, ']');
  EXPECT_TRUE(automaton.Accepts(state));
}

TEST(JsonSchemaTest, NamesTheKeywordAndThePlace) {
  const auto message = [](const std::string& schema) -> std::string {
    try {
      JsonSchemaGrammar(schema);
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code())) + ": " + error.message();
    }
    return "";
  };
  EXPECT_EQ(message(R"({"type":"object","properties":{"a":{"multipleOf":3}}})"),
            "unsupported: json_schema, #/properties/a: the keyword 'multipleOf' is not supported");
  EXPECT_EQ(message(R"({"type":"array","uniqueItems":true})"),
            "unsupported: json_schema, #: the keyword 'uniqueItems' is not supported");
  EXPECT_EQ(message(R"({"not":{}})"), "unsupported: json_schema, #: the keyword 'not' is not supported");
  EXPECT_EQ(message(R"({"type":"string","format":"color"})"),
            "unsupported: json_schema, #: the format \"color\" is not supported");
  EXPECT_EQ(message(R"({"anyOf":[{}],"properties":{}})"),
            "unsupported: json_schema, #: 'properties' beside 'anyOf' is not supported");
  EXPECT_EQ(message(R"({"allOf":[{},{}]})"),
            "unsupported: json_schema, #: 'allOf' of several schemas is not supported");
  EXPECT_NE(message(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})").find("alternatives 0 and 1 may both hold"),
            std::string::npos);
  EXPECT_EQ(message(R"({"$ref":"other.json"})"),
            "unsupported: json_schema, #: '$ref' to another document ('other.json') is not supported");
  EXPECT_EQ(message(R"({"$ref":"#/$defs/x"})"),
            "invalid-argument: json_schema, #: '$ref' is '#/$defs/x', which is not there");
  EXPECT_EQ(message(R"({"type":"text"})"), "invalid-argument: json_schema, #: 'type' is \"text\"");
  EXPECT_EQ(message(R"({"type":"string","maxLength":-1})"), "invalid-argument: json_schema, #: 'maxLength' is -1");
  EXPECT_EQ(message("[]"), "invalid-argument: json_schema, #: a schema is an object or a bool, this is array");
  EXPECT_EQ(message("false"), "invalid-argument: the output format admits no text");
  EXPECT_EQ(message(R"({"type":"string","minLength":5,"maxLength":3})"),
            "invalid-argument: the output format admits no text");
  EXPECT_EQ(message(R"({"$ref":"#"})"), "invalid-argument: the output format admits no text");
  EXPECT_EQ(message(R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})"),
            "invalid-argument: the output format admits no text");
  EXPECT_EQ(message(R"({"type":"integer","minimum":3,"maximum":2})"),
            "invalid-argument: the output format admits no text");
  EXPECT_NE(message("{").find("json_schema is not JSON"), std::string::npos);
}

}  // namespace
}  // namespace mconnect
