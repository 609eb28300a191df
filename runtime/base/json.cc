#include "runtime/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "mconnect/error.h"

namespace mconnect {
namespace {

[[noreturn]] void FailParse(std::string_view source, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, std::string(source) + ": " + what);
}

// Text of a value for a message, cut to a length that a person reads.
std::string Excerpt(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  return text;
}

}  // namespace

Json ParseJson(std::string_view text, std::string_view source, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    FailParse(source,
              "has " + std::to_string(text.size()) + " bytes, more than the limit of " + std::to_string(limits.bytes));
  }
  std::vector<std::set<std::string>> keys;  // of each object that is open
  int open = 0;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        keys.emplace_back();
        [[fallthrough]];
      case Json::parse_event_t::array_start:
        if (++open > limits.depth)
          FailParse(source, "is nested deeper than " + std::to_string(limits.depth) + " levels");
        break;
      case Json::parse_event_t::object_end:
        keys.pop_back();
        [[fallthrough]];
      case Json::parse_event_t::array_end:
        --open;
        break;
      case Json::parse_event_t::key:
        if (!keys.back().insert(parsed.get_ref<const std::string&>()).second) {
          FailParse(source, "the key " + Excerpt(parsed) + " appears twice in one object");
        }
        break;
      case Json::parse_event_t::value:
        break;
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& e) {
    // The library quotes the input: keep the message short and printable.
    std::string what = std::string(e.what()).substr(0, 200);
    std::ranges::replace_if(
        what, [](char c) { return c < ' ' || c > '~'; }, '?');
    FailParse(source, "is not valid JSON: " + what);
  }
}

void JsonView::Fail(std::string_view what) const { FailParse(place_, std::string(what)); }

void JsonView::FailType(std::string_view expected) const {
  Fail("expected " + std::string(expected) + ", found " + Excerpt(*value_));
}

bool JsonView::IsNull() const noexcept { return value_->is_null(); }

void JsonView::Closed(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) FailType("an object");
  for (const auto& [key, unused] : value_->items()) {
    if (std::ranges::find(keys, key) == keys.end()) Fail("unknown key " + Excerpt(key));
  }
}

std::optional<JsonView> JsonView::Find(std::string_view key) const {
  if (!value_->is_object()) FailType("an object");
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) return std::nullopt;
  return JsonView(*found, place_ + std::string(separator_) + std::string(key), ".");
}

JsonView JsonView::operator[](std::string_view key) const {
  if (auto found = Find(key)) return *std::move(found);
  Fail("the key '" + std::string(key) + "' is missing");
}

std::vector<std::pair<std::string, JsonView>> JsonView::Entries() const {
  if (!value_->is_object()) FailType("an object");
  std::vector<std::pair<std::string, JsonView>> entries;
  for (const auto& [key, value] : value_->items()) entries.emplace_back(key, *Find(key));
  return entries;
}

std::vector<JsonView> JsonView::Items(std::size_t limit) const {
  if (!value_->is_array()) FailType("an array");
  if (value_->size() > limit) {
    Fail("has " + std::to_string(value_->size()) + " items, more than the limit of " + std::to_string(limit));
  }
  std::vector<JsonView> items;
  items.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    items.push_back(JsonView((*value_)[i], place_ + "[" + std::to_string(i) + "]", "."));
  }
  return items;
}

bool JsonView::Bool() const {
  if (!value_->is_boolean()) FailType("true or false");
  return value_->get<bool>();
}

std::int64_t JsonView::Int(std::int64_t min, std::int64_t max) const {
  if (!value_->is_number_integer()) FailType("an integer");
  const bool fits =
      !value_->is_number_unsigned() ||
      value_->get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::int64_t value = fits ? value_->get<std::int64_t>() : 0;
  if (!fits || value < min || value > max) {
    FailType("an integer from " + std::to_string(min) + " to " + std::to_string(max));
  }
  return value;
}

double JsonView::Double() const {
  if (!value_->is_number()) FailType("a number");
  return value_->get<double>();
}

const std::string& JsonView::String() const {
  if (!value_->is_string()) FailType("a string");
  return value_->get_ref<const std::string&>();
}

}  // namespace mconnect
