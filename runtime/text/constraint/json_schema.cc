#include "runtime/text/constraint/json_schema.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mconnect/error.h"
#include "runtime/text/constraint/json_text.h"
#include "runtime/text/constraint/regex_grammar.h"

namespace mconnect {
namespace {

using Schema = nlohmann::ordered_json;

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 100;
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

class Compiler {
 public:
  explicit Compiler(const Schema& root) : root_(root), json_(builder_) {}

  Grammar Compile() {
    const Grammar::NodeId rule = builder_.NewRule();
    builder_.Define(rule, Write(root_, "#"));
    return builder_.Finish(rule);
  }

 private:
  [[noreturn]] static void Fail(const std::string& place, const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument, "json_schema, " + place + ": " + what);
  }
  [[noreturn]] static void Unsupported(const std::string& place, const std::string& what) {
    throw Error(ErrorCode::kUnsupported, "json_schema, " + place + ": " + what + " is not supported",
                "leave it out, and check the result where it matters");
  }

  Fragment Write(const Schema& schema, const std::string& place) {
    if (place.size() > 64 * kMaxDepth || std::ranges::count(place, '/') > static_cast<std::ptrdiff_t>(2 * kMaxDepth)) {
      Fail(place.substr(0, 80) + "...", "it nests deeper than " + std::to_string(kMaxDepth));
    }
    if (schema.is_boolean()) return schema.get<bool>() ? json_.Value() : builder_.Nothing();
    if (!schema.is_object()) Fail(place, "a schema is an object or a bool, this is " + std::string(schema.type_name()));
    const auto has = [&](const char* key) { return schema.contains(key); };
    if (has("$ref")) {
      Only(schema, place, {"$ref"});
      return Reference(schema["$ref"], place);
    }
    if (has("const") || has("enum")) return Constants(schema, place);
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      if (has(key)) return Combination(schema, key, place);
    }
    const std::vector<std::string> types = Types(schema, place);
    CheckKeywords(schema, place);
    std::vector<Fragment> parts;
    for (const std::string& type : types) parts.push_back(OfType(type, schema, place));
    return parts.size() == 1 ? parts[0] : builder_.Either(parts);
  }

  // Refuses keywords beside `keys` that would narrow what these admit.
  static void Only(const Schema& schema, const std::string& place, std::set<std::string_view> keys) {
    for (const auto& [key, value] : schema.items()) {
      if (keys.contains(key) || kDescriptive.contains(key)) continue;
      Unsupported(place, "'" + key + "' beside '" + std::string(*keys.begin()) + "'");
    }
  }

  static void CheckKeywords(const Schema& schema, const std::string& place) {
    for (const auto& [key, value] : schema.items()) {
      if (kDescriptive.contains(key) || kAnyType.contains(key)) continue;
      // A keyword of another type is without effect, as the specification has it.
      const auto has = [&key](const auto& type) { return type.second.contains(key); };
      if (std::ranges::none_of(kOfType, has)) Unsupported(place, "the keyword '" + key + "'");
    }
  }

  static std::vector<std::string> Types(const Schema& schema, const std::string& place) {
    std::vector<std::string> types;
    if (schema.contains("type")) {
      const Schema& type = schema["type"];
      for (const Schema& t : type.is_array() ? type : Schema::array({type})) {
        if (!t.is_string() || !kOfType.contains(t.get<std::string>())) Fail(place, "'type' is " + type.dump());
        types.push_back(t.get<std::string>());
      }
      if (types.empty()) Fail(place, "'type' is an empty list");
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

  Fragment Reference(const Schema& reference, const std::string& place) {
    if (!reference.is_string()) Fail(place, "'$ref' is " + reference.dump());
    const std::string target = reference.get<std::string>();
    if (const auto it = rules_.find(target); it != rules_.end()) return builder_.Call(it->second);
    if (!target.starts_with("#")) Unsupported(place, "'$ref' to another document ('" + target + "')");
    const Schema* found = nullptr;
    try {
      found = &root_.at(Schema::json_pointer(target.substr(1)));
    } catch (const nlohmann::json::exception&) {
      Fail(place, "'$ref' is '" + target + "', which is not there");
    }
    const Grammar::NodeId rule = rules_[target] = builder_.NewRule();
    builder_.Define(rule, Write(*found, target));
    return builder_.Call(rule);
  }

  Fragment Constants(const Schema& schema, const std::string& place) {
    Only(schema, place, {"const", "enum", "type"});
    const bool one = schema.contains("const");
    const Schema values = one ? Schema::array({schema["const"]}) : schema["enum"];
    if (!values.is_array() || values.empty()) Fail(place, "'enum' is " + values.dump() + ", not a list of values");
    std::vector<Fragment> parts;
    for (const Schema& value : values) {
      if (schema.contains("type") && !HasType(value, Types(schema, place))) continue;
      parts.push_back(builder_.Literal(value.dump()));
    }
    return parts.empty() ? builder_.Nothing() : builder_.Either(parts);
  }

  static bool HasType(const Schema& value, const std::vector<std::string>& types) {
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

  Fragment Combination(const Schema& schema, const std::string& key, const std::string& place) {
    Only(schema, place, {key, "type"});
    const Schema& list = schema[key];
    if (!list.is_array() || list.empty()) Fail(place, "'" + key + "' is not a list of schemas");
    if (list.size() > 1 && key == "allOf") Unsupported(place, "'allOf' of several schemas");
    if (key == "oneOf") RequireDisjoint(list, place);
    std::vector<Fragment> parts;
    for (std::size_t i = 0; i < list.size(); ++i) {
      parts.push_back(Write(list[i], place + "/" + key + "/" + std::to_string(i)));
    }
    return builder_.Either(parts);
  }

  const Schema& Resolve(const Schema& schema) const {
    const Schema* at = &schema;
    for (std::size_t i = 0; i < kMaxDepth && at->is_object() && at->contains("$ref") && (*at)["$ref"].is_string();
         ++i) {
      const std::string target = (*at)["$ref"].get<std::string>();
      if (!target.starts_with("#")) break;
      const Schema::json_pointer pointer(target.substr(1));
      if (!root_.contains(pointer)) break;
      at = &root_.at(pointer);
    }
    return *at;
  }

  // Exactly one must hold: that is so where no value can be valid under two.
  void RequireDisjoint(const Schema& list, const std::string& place) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (Disjoint(Resolve(list[i]), Resolve(list[j]), place)) continue;
        Unsupported(place,
                    "'oneOf' whose alternatives " + std::to_string(j) + " and " + std::to_string(i) +
                        " may both hold (other types, or other constants of a required property, tell them apart)");
      }
    }
  }

  static bool Disjoint(const Schema& a, const Schema& b, const std::string& place) {
    if (!a.is_object() || !b.is_object()) return false;
    const auto constants = [](const Schema& s) -> std::optional<Schema> {
      if (!s.is_object()) return std::nullopt;
      if (s.contains("const")) return Schema::array({s["const"]});
      if (s.contains("enum") && s["enum"].is_array()) return s["enum"];
      return std::nullopt;
    };
    const auto apart = [](const Schema& x, const Schema& y) {
      return std::ranges::none_of(x, [&](const Schema& v) { return std::ranges::find(y, v) != y.end(); });
    };
    const auto ca = constants(a), cb = constants(b);
    if (ca && cb) return apart(*ca, *cb);
    if (ca || cb) {
      const Schema& typed = ca ? b : a;
      if (!typed.contains("type")) return false;
      const std::vector<std::string> types = Types(typed, place);
      return std::ranges::none_of(ca ? *ca : *cb, [&](const Schema& v) { return HasType(v, types); });
    }
    if (!a.contains("type") || !b.contains("type")) return false;
    const std::vector<std::string> ta = Types(a, place), tb = Types(b, place);
    const bool share = std::ranges::any_of(ta, [&](const std::string& x) {
      return std::ranges::any_of(tb, [&](const std::string& y) {
        return x == y || (x == "number" && y == "integer") || (x == "integer" && y == "number");
      });
    });
    if (!share) return true;
    if (ta != std::vector<std::string>{"object"} || tb != ta) return false;
    const auto required = [](const Schema& s, const std::string& key) {
      return s.contains("required") && std::ranges::find(s["required"], Schema(key)) != s["required"].end();
    };
    if (!a.contains("properties") || !b.contains("properties")) return false;
    for (const auto& [key, value] : a["properties"].items()) {
      if (!b["properties"].contains(key) || !required(a, key) || !required(b, key)) continue;
      const auto va = constants(value), vb = constants(b["properties"][key]);
      if (va && vb && apart(*va, *vb)) return true;
    }
    return false;
  }

  static std::optional<std::size_t> Count(const Schema& schema, const char* key, const std::string& place) {
    if (!schema.contains(key)) return std::nullopt;
    const Schema& value = schema[key];
    if (!value.is_number_unsigned()) Fail(place, std::string("'") + key + "' is " + value.dump());
    const auto count = value.get<std::uint64_t>();
    if (count > kMaxCount) {
      Unsupported(place,
                  std::string("'") + key + "' above " + std::to_string(kMaxCount) + " (it is " + value.dump() + ")");
    }
    return static_cast<std::size_t>(count);
  }

  Fragment OfType(const std::string& type, const Schema& schema, const std::string& place) {
    if (type == "null") return builder_.Literal("null");
    if (type == "boolean") return builder_.Either({builder_.Literal("true"), builder_.Literal("false")});
    if (type == "string") return String(schema, place);
    if (type == "array") return Array(schema, place);
    if (type == "object") return Object(schema, place);
    const NumberLimits limits = Limits(schema, place);
    return type == "integer" ? json_.Integer(limits) : json_.Number(limits);
  }

  static NumberLimits Limits(const Schema& schema, const std::string& place) {
    NumberLimits limits;
    const auto number = [&](const char* key) -> std::optional<double> {
      if (!schema.contains(key)) return std::nullopt;
      if (!schema[key].is_number()) Fail(place, std::string("'") + key + "' is " + schema[key].dump());
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

  Fragment String(const Schema& schema, const std::string& place) {
    const auto least = Count(schema, "minLength", place), most = Count(schema, "maxLength", place);
    std::optional<std::string> pattern;
    RegexUse use;
    if (schema.contains("pattern")) {
      if (!schema["pattern"].is_string()) Fail(place, "'pattern' is " + schema["pattern"].dump());
      pattern = schema["pattern"].get<std::string>();
      use.search = true;
    }
    if (schema.contains("format")) {
      if (pattern) Unsupported(place, "'format' beside 'pattern'");
      const Schema& format = schema["format"];
      if (format.is_string()) pattern = FormatPattern(format.get<std::string>());
      if (!pattern) Unsupported(place, "the format " + format.dump());
    }
    if (!pattern)
      return least || most ? json_.String(least.value_or(0), most.value_or(GrammarBuilder::kUnlimited))
                           : json_.String();
    if (least || most) Unsupported(place, "'minLength' or 'maxLength' beside 'pattern' or 'format'");
    use.write = [this](const std::vector<CharRange>& ranges) { return json_.StringChars(ranges); };
    const Fragment text = RegexFragment(*pattern, builder_, use);
    return builder_.Then(builder_.Literal("\""), builder_.Then(text, builder_.Literal("\"")));
  }

  Fragment Array(const Schema& schema, const std::string& place) {
    const std::size_t least = Count(schema, "minItems", place).value_or(0);
    const std::size_t most = Count(schema, "maxItems", place).value_or(GrammarBuilder::kUnlimited);
    std::vector<Fragment> first;
    if (schema.contains("prefixItems")) {
      const Schema& list = schema["prefixItems"];
      if (!list.is_array()) Fail(place, "'prefixItems' is not a list of schemas");
      for (std::size_t i = 0; i < list.size() && i < most; ++i) {
        first.push_back(Write(list[i], place + "/prefixItems/" + std::to_string(i)));
      }
    }
    const bool more = most > first.size() && (!schema.contains("items") || schema["items"] != Schema(false));
    Grammar::NodeId item = 0;
    if (more) {
      item = builder_.NewRule();
      builder_.Define(item, schema.contains("items") ? Write(schema["items"], place + "/items") : json_.Value());
    }
    if (least > 0 && most < least) return builder_.Nothing();
    // From behind: what may follow the i-th item.
    Fragment rest = builder_.Empty();
    if (more) {
      const std::size_t given = first.size();
      const auto next = [&] { return builder_.Then(Comma(), builder_.Call(item)); };
      const std::size_t need = least > given ? least - given : 0;
      const std::size_t room = most == GrammarBuilder::kUnlimited ? most : most - given;
      if (given > 0) {
        rest = builder_.Repeat(need, room, next);
      } else {
        const Fragment items = builder_.Then(
            builder_.Call(item),
            builder_.Repeat(need > 0 ? need - 1 : 0, room == GrammarBuilder::kUnlimited ? room : room - 1, next));
        rest = least == 0 ? builder_.Optional(items) : items;
      }
    } else if (least > first.size()) {
      return builder_.Nothing();
    }
    for (std::size_t i = first.size(); i-- > 0;) {
      rest = builder_.Then(i > 0 ? builder_.Then(Comma(), first[i]) : first[i], rest);
      if (i >= least) rest = builder_.Optional(rest);
    }
    return json_.Array(rest);
  }

  Fragment Comma() { return json_.Comma(); }

  struct Member {
    std::string key;
    Grammar::NodeId value;
    bool required;
  };

  Fragment Object(const Schema& schema, const std::string& place) {
    std::vector<std::string> names;
    std::set<std::string> required;
    if (schema.contains("required")) {
      if (!schema["required"].is_array()) Fail(place, "'required' is not a list of names");
      for (const Schema& name : schema["required"]) {
        if (!name.is_string()) Fail(place, "'required' has " + name.dump() + ", not a name");
        required.insert(name.get<std::string>());
      }
    }
    const Schema properties = schema.contains("properties") ? schema["properties"] : Schema::object();
    if (!properties.is_object()) Fail(place, "'properties' is not an object of schemas");
    const Schema* additional = schema.contains("additionalProperties") ? &schema["additionalProperties"] : nullptr;
    // Members that are not mentioned: where nothing else is, or where they are asked for.
    const bool open = additional != nullptr ? *additional != Schema(false) : properties.empty();
    std::vector<Member> members;
    const auto add = [&](const std::string& name, const Schema& value, const std::string& where) {
      const Grammar::NodeId rule = builder_.NewRule();
      builder_.Define(rule, Write(value, where));
      members.push_back({name, rule, required.contains(name)});
      names.push_back(Quoted(name));
    };
    for (const auto& [name, value] : properties.items()) add(name, value, place + "/properties/" + name);
    for (const std::string& name : required) {
      if (properties.contains(name)) continue;
      if (additional != nullptr && *additional == Schema(false))
        Fail(place, "'" + name + "' is required, but no property");
      add(name, additional != nullptr ? *additional : Schema(true), place + "/additionalProperties");
    }

    // Two ways through the members: before the first that is written, and behind it, where a comma comes before each.
    const Grammar::NodeId end = builder_.Empty().begin;
    Fragment fresh = builder_.Empty(), begun = builder_.Nothing();
    for (const Member& member : members) {
      const auto write = [&] {
        return builder_.Then(builder_.Literal("\"" + Quoted(member.key) + "\""),
                             builder_.Then(json_.Colon(), builder_.Call(member.value)));
      };
      const Fragment first = builder_.Then(fresh, write());
      const Fragment later = builder_.Then(begun, builder_.Then(Comma(), write()));
      // The parts before stay reachable from their beginnings: only their ends matter from here.
      const Fragment joined = builder_.Empty();
      builder_.Then(first, joined);
      builder_.Then(later, joined);
      if (member.required) {
        fresh = {fresh.begin, builder_.Nothing().end};
      } else {
        builder_.Then(begun, joined);
      }
      begun = joined;
    }
    if (open) {
      const Grammar::NodeId rule = builder_.NewRule();
      const Fragment value =
          additional != nullptr ? Write(*additional, place + "/additionalProperties") : json_.Value();
      builder_.Define(rule, builder_.Then(json_.Key(names), builder_.Then(json_.Colon(), value)));
      const auto more = [&] { return builder_.Star(builder_.Then(Comma(), builder_.Call(rule))); };
      const Fragment first = builder_.Then(builder_.Then(fresh, builder_.Call(rule)), more());
      builder_.Then(first, {end, end});
      const Fragment later = builder_.Then(begun, more());
      builder_.Then(later, {end, end});
    }
    builder_.Then(fresh, {end, end});
    builder_.Then(begun, {end, end});
    return json_.Object({fresh.begin, end});
  }

  // A string as JSON writes it, without the quotes.
  static std::string Quoted(const std::string& text) {
    const std::string quoted = Schema(text).dump();
    return quoted.substr(1, quoted.size() - 2);
  }

  const Schema& root_;
  GrammarBuilder builder_;
  JsonText json_;
  std::map<std::string, Grammar::NodeId> rules_;  // by reference
};

}  // namespace

Grammar JsonSchemaGrammar(std::string_view text) {
  if (text.size() > kMaxBytes) {
    throw Error(ErrorCode::kInvalidArgument,
                "json_schema has " + std::to_string(text.size()) + " bytes, the limit is " + std::to_string(kMaxBytes));
  }
  Schema schema;
  try {
    schema = Schema::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument, std::string("json_schema is not JSON: ") + error.what());
  }
  return Compiler(schema).Compile();
}

}  // namespace mconnect
