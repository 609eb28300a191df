#include "runtime/text/constraint/schema_keywords.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "mconnect/error.h"

namespace mconnect {
namespace {

constexpr std::size_t kMaxCount = 10'000;  // of minLength and the like

const std::set<std::string_view> kDescriptive = {
    "title", "description", "default", "examples",    "deprecated", "readOnly",         "writeOnly",    "$schema",
    "$id",   "$comment",    "$defs",   "definitions", "$anchor",    "contentMediaType", "discriminator"};

// Which keywords belong to which type; a keyword says nothing about values of other types.
const std::map<std::string_view, std::set<std::string_view>> kOfType = {
    {"string", {"minLength", "maxLength", "pattern", "format"}},
    {"integer", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}},
    {"number", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}},
    {"object", {"properties", "required", "additionalProperties"}},
    {"array", {"items", "prefixItems", "minItems", "maxItems"}},
    {"boolean", {}},
    {"null", {}},
};
const std::set<std::string_view> kAnyType = {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"};

constexpr const char* kDate = R"(\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8]))";  // a day that every month has
constexpr const char* kTime = R"(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d))";

}  // namespace

[[noreturn]] void FailSchema(const std::string& place, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, "json_schema, " + place + ": " + what);
}
[[noreturn]] void UnsupportedSchema(const std::string& place, const std::string& what) {
  throw Error(ErrorCode::kUnsupported, "json_schema, " + place + ": " + what + " is not supported",
              "leave it out, and check the result where it matters");
}

void OnlyKeywords(const Schema& schema, const std::string& place, const std::set<std::string_view>& keys) {
  for (const auto& [key, value] : schema.items()) {
    if (keys.contains(key) || kDescriptive.contains(key)) continue;
    UnsupportedSchema(place, "'" + key + "' beside '" + std::string(*keys.begin()) + "'");
  }
}

void CheckKeywords(const Schema& schema, const std::string& place) {
  for (const auto& [key, value] : schema.items()) {
    if (kDescriptive.contains(key) || kAnyType.contains(key)) continue;
    // A keyword of another type is without effect, as the specification has it.
    const auto has = [&key](const auto& type) { return type.second.contains(key); };
    if (std::ranges::none_of(kOfType, has)) UnsupportedSchema(place, "the keyword '" + key + "'");
  }
}

std::vector<std::string> SchemaTypes(const Schema& schema, const std::string& place) {
  std::vector<std::string> types;
  if (schema.contains("type")) {
    const Schema& type = schema["type"];
    for (const Schema& t : type.is_array() ? type : Schema::array({type})) {
      if (!t.is_string() || !kOfType.contains(t.get<std::string>())) FailSchema(place, "'type' is " + type.dump());
      types.push_back(t.get<std::string>());
    }
    if (types.empty()) FailSchema(place, "'type' is an empty list");
    return types;
  }
  // Without a type a schema admits all of them; where its keywords are about one, that one is meant.
  for (const char* type : {"object", "array", "string", "number"}) {
    for (const std::string_view key : kOfType.at(type)) {
      if (schema.contains(key)) return {type};
    }
  }
  return {"object", "array", "string", "number", "boolean", "null"};
}

bool HasType(const Schema& value, const std::vector<std::string>& types) {
  const auto is = [&](const char* type) { return std::ranges::find(types, type) != types.end(); };
  switch (value.type()) {
    case Schema::value_t::null:
      return is("null");
    case Schema::value_t::boolean:
      return is("boolean");
    case Schema::value_t::string:
      return is("string");
    case Schema::value_t::array:
      return is("array");
    case Schema::value_t::object:
      return is("object");
    case Schema::value_t::number_float:
      return is("number");
    default:
      return is("number") || is("integer");
  }
}

std::optional<std::size_t> SchemaCount(const Schema& schema, const char* key, const std::string& place) {
  if (!schema.contains(key)) return std::nullopt;
  const Schema& value = schema[key];
  if (!value.is_number_unsigned()) FailSchema(place, std::string("'") + key + "' is " + value.dump());
  const auto count = value.get<std::uint64_t>();
  if (count > kMaxCount) {
    UnsupportedSchema(
        place, std::string("'") + key + "' above " + std::to_string(kMaxCount) + " (it is " + value.dump() + ")");
  }
  return static_cast<std::size_t>(count);
}

NumberLimits SchemaLimits(const Schema& schema, const std::string& place) {
  NumberLimits limits;
  const auto number = [&](const char* key) -> std::optional<double> {
    if (!schema.contains(key)) return std::nullopt;
    if (!schema[key].is_number()) FailSchema(place, std::string("'") + key + "' is " + schema[key].dump());
    return schema[key].get<double>();
  };
  limits.least = number("minimum");
  if (const auto above = number("exclusiveMinimum"); above && (!limits.least || *above >= *limits.least)) {
    limits.least = above;
    limits.above = true;
  }
  limits.most = number("maximum");
  if (const auto below = number("exclusiveMaximum"); below && (!limits.most || *below <= *limits.most)) {
    limits.most = below;
    limits.below = true;
  }
  return limits;
}

std::optional<std::string> FormatPattern(const std::string& format) {
  if (format == "date") return kDate;
  if (format == "time") return kTime;
  if (format == "date-time") return std::string(kDate) + "T" + kTime;
  if (format == "uuid") return R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})";
  if (format == "email")
    return R"([a-z0-9]+([._-][a-z0-9]+)*@[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*\.[a-z]{2,12})";
  if (format == "ipv4") return R"(((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d))";
  return std::nullopt;
}

}  // namespace mconnect
