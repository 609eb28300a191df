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
#include "runtime/text/constraint/schema_disjoint.h"
#include "runtime/text/constraint/schema_keywords.h"

namespace mconnect {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxDepth = 100;

class Compiler {
 public:
  explicit Compiler(const Schema& root) : root_(root), json_(builder_) {}

  Grammar Compile() {
    const Grammar::NodeId rule = builder_.NewRule();
    builder_.Define(rule, Write(root_, "#"));
    return builder_.Finish(rule);
  }

 private:
  Fragment Write(const Schema& schema, const std::string& place) {
    if (place.size() > 64 * kMaxDepth || std::ranges::count(place, '/') > static_cast<std::ptrdiff_t>(2 * kMaxDepth)) {
      FailSchema(place.substr(0, 80) + "...", "it nests deeper than " + std::to_string(kMaxDepth));
    }
    if (schema.is_boolean()) return schema.get<bool>() ? json_.Value() : builder_.Nothing();
    if (!schema.is_object())
      FailSchema(place, "a schema is an object or a bool, this is " + std::string(schema.type_name()));
    const auto has = [&](const char* key) { return schema.contains(key); };
    if (has("$ref")) {
      OnlyKeywords(schema, place, {"$ref"});
      return Reference(schema["$ref"], place);
    }
    if (has("const") || has("enum")) return Constants(schema, place);
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      if (has(key)) return Combination(schema, key, place);
    }
    const std::vector<std::string> types = SchemaTypes(schema, place);
    CheckKeywords(schema, place);
    std::vector<Fragment> parts;
    for (const std::string& type : types) parts.push_back(OfType(type, schema, place));
    return parts.size() == 1 ? parts[0] : builder_.Either(parts);
  }

  Fragment Reference(const Schema& reference, const std::string& place) {
    if (!reference.is_string()) FailSchema(place, "'$ref' is " + reference.dump());
    const std::string target = reference.get<std::string>();
    if (const auto it = rules_.find(target); it != rules_.end()) return builder_.Call(it->second);
    if (!target.starts_with("#")) UnsupportedSchema(place, "'$ref' to another document ('" + target + "')");
    const Schema* found = nullptr;
    try {
      found = &root_.at(Schema::json_pointer(target.substr(1)));
    } catch (const nlohmann::json::exception&) {
      FailSchema(place, "'$ref' is '" + target + "', which is not there");
    }
    const Grammar::NodeId rule = rules_[target] = builder_.NewRule();
    builder_.Define(rule, Write(*found, target));
    return builder_.Call(rule);
  }

  Fragment Constants(const Schema& schema, const std::string& place) {
    OnlyKeywords(schema, place, {"const", "enum", "type"});
    const bool one = schema.contains("const");
    const Schema values = one ? Schema::array({schema["const"]}) : schema["enum"];
    if (!values.is_array() || values.empty())
      FailSchema(place, "'enum' is " + values.dump() + ", not a list of values");
    std::vector<Fragment> parts;
    for (const Schema& value : values) {
      if (schema.contains("type") && !HasType(value, SchemaTypes(schema, place))) continue;
      parts.push_back(builder_.Literal(value.dump()));
    }
    return parts.empty() ? builder_.Nothing() : builder_.Either(parts);
  }

  Fragment Combination(const Schema& schema, const std::string& key, const std::string& place) {
    OnlyKeywords(schema, place, {key, "type"});
    const Schema& list = schema[key];
    if (!list.is_array() || list.empty()) FailSchema(place, "'" + key + "' is not a list of schemas");
    if (list.size() > 1 && key == "allOf") UnsupportedSchema(place, "'allOf' of several schemas");
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
        UnsupportedSchema(
            place, "'oneOf' whose alternatives " + std::to_string(j) + " and " + std::to_string(i) +
                       " may both hold (other types, or other constants of a required property, tell them apart)");
      }
    }
  }

  Fragment OfType(const std::string& type, const Schema& schema, const std::string& place) {
    if (type == "null") return builder_.Literal("null");
    if (type == "boolean") return builder_.Either({builder_.Literal("true"), builder_.Literal("false")});
    if (type == "string") return String(schema, place);
    if (type == "array") return Array(schema, place);
    if (type == "object") return Object(schema, place);
    const NumberLimits limits = SchemaLimits(schema, place);
    return type == "integer" ? json_.Integer(limits) : json_.Number(limits);
  }

  Fragment String(const Schema& schema, const std::string& place) {
    const auto least = SchemaCount(schema, "minLength", place), most = SchemaCount(schema, "maxLength", place);
    if (most && least.value_or(0) > *most) return builder_.Nothing();
    std::optional<std::string> pattern;
    RegexUse use;
    if (schema.contains("pattern")) {
      if (!schema["pattern"].is_string()) FailSchema(place, "'pattern' is " + schema["pattern"].dump());
      pattern = schema["pattern"].get<std::string>();
      use.search = true;
    }
    if (schema.contains("format")) {
      if (pattern) UnsupportedSchema(place, "'format' beside 'pattern'");
      const Schema& format = schema["format"];
      if (format.is_string()) pattern = FormatPattern(format.get<std::string>());
      if (!pattern) UnsupportedSchema(place, "the format " + format.dump());
    }
    if (!pattern)
      return least || most ? json_.String(least.value_or(0), most.value_or(GrammarBuilder::kUnlimited))
                           : json_.String();
    if (least || most) UnsupportedSchema(place, "'minLength' or 'maxLength' beside 'pattern' or 'format'");
    use.write = [this](const std::vector<CharRange>& ranges) { return json_.StringChars(ranges); };
    const Fragment text = RegexFragment(*pattern, builder_, use);
    return builder_.Then(builder_.Literal("\""), builder_.Then(text, builder_.Literal("\"")));
  }

  Fragment Array(const Schema& schema, const std::string& place) {
    const std::size_t least = SchemaCount(schema, "minItems", place).value_or(0);
    const std::size_t most = SchemaCount(schema, "maxItems", place).value_or(GrammarBuilder::kUnlimited);
    std::vector<Fragment> first;
    if (schema.contains("prefixItems")) {
      const Schema& list = schema["prefixItems"];
      if (!list.is_array()) FailSchema(place, "'prefixItems' is not a list of schemas");
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
      const auto next = [&] { return builder_.Then(json_.Comma(), builder_.Call(item)); };
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
      rest = builder_.Then(i > 0 ? builder_.Then(json_.Comma(), first[i]) : first[i], rest);
      if (i >= least) rest = builder_.Optional(rest);
    }
    return json_.Array(rest);
  }

  struct Member {
    std::string key;
    Grammar::NodeId value;
    bool required;
  };

  Fragment Object(const Schema& schema, const std::string& place) {
    std::vector<std::string> names;
    std::set<std::string> required;
    if (schema.contains("required")) {
      if (!schema["required"].is_array()) FailSchema(place, "'required' is not a list of names");
      for (const Schema& name : schema["required"]) {
        if (!name.is_string()) FailSchema(place, "'required' has " + name.dump() + ", not a name");
        required.insert(name.get<std::string>());
      }
    }
    const Schema properties = schema.contains("properties") ? schema["properties"] : Schema::object();
    if (!properties.is_object()) FailSchema(place, "'properties' is not an object of schemas");
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
        FailSchema(place, "'" + name + "' is required, but no property");
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
      const Fragment later = builder_.Then(begun, builder_.Then(json_.Comma(), write()));
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
      const auto more = [&] { return builder_.Star(builder_.Then(json_.Comma(), builder_.Call(rule))); };
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
