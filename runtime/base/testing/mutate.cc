#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/testing/fuzzing.h"

namespace mconnect::fuzzing {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxInput = 1 << 20;

// What text code gets wrong: ends of ranges, halves of characters, marks, joiners, spaces, cases that change in length.
constexpr std::string_view kOdd[] = {std::string_view("\0", 1),
                                     "\x7F",
                                     "\u0080",
                                     "\u07FF",
                                     "\u0800",
                                     "\uD7FF",
                                     "\uE000",
                                     "\uFFFD",
                                     "\uFFFF",
                                     "\U00010000",
                                     "\U0010FFFF",
                                     "\xC3",
                                     "\xE2\x82",
                                     "\xF0\x9F\x98",
                                     "\x80",
                                     "\xED\xA0\x80",
                                     "\xF4\x90\x80\x80",
                                     "\xC0\x80",
                                     "e\u0301",
                                     "\u0301\u0323",
                                     "\u00DF",
                                     "\u0130",
                                     "\u017F",
                                     "\u03A3",
                                     "\uFB01",
                                     "\u1E9E",
                                     "\u00A0",
                                     "\u200B",
                                     "\u200D",
                                     "\uFEFF",
                                     "\u2028",
                                     "\u0085",
                                     "\u3000",
                                     "\u2581",
                                     "\u0120",
                                     "\uAC00\u11A8",
                                     "\U0001F469\u200D\U0001F467",
                                     "\U0001F1E9\U0001F1EA",
                                     "\u202E",
                                     "\\",
                                     "\"",
                                     "\r\n",
                                     "##",
                                     "<0x41>",
                                     "{}",
                                     "[[",
                                     "^(a+)+$",
                                     "(?=",
                                     "\\p{L}",
                                     "%s%n"};

constexpr std::string_view kNumbers[] = {"0",
                                         "-1",
                                         "1",
                                         "-0.0",
                                         "1e308",
                                         "1e-320",
                                         "2147483647",
                                         "2147483648",
                                         "-2147483649",
                                         "4294967295",
                                         "4294967296",
                                         "9223372036854775807",
                                         "9223372036854775808",
                                         "-9223372036854775808",
                                         "18446744073709551615",
                                         "1e999",
                                         "0.1",
                                         "65536",
                                         "1099511627776",
                                         "NaN"};

template <typename Range>
const auto& Pick(const Range& range, Random& random) {
  return range[Below(std::size(range), random)];
}

// A value of the tree, the container that it is in, and the key under which it is there.
struct Place {
  Json* value = nullptr;
  Json* parent = nullptr;
  std::string key;  // of an object
  std::size_t index = 0;
};

void Collect(Json& value, std::vector<Place>* places) {
  std::size_t index = 0;
  for (auto item = value.begin(); value.is_structured() && item != value.end(); ++item, ++index) {
    places->push_back({&*item, &value, value.is_object() ? item.key() : std::string(), index});
    Collect(*item, places);
  }
}

std::vector<Place> PlacesOf(Json& document) {
  std::vector<Place> places(1);
  places[0].value = &document;
  Collect(document, &places);
  return places;
}

Json Parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

// The values of the documents that Learn() was given.
struct Pool {
  std::deque<Json> documents;
  std::vector<const Json*> values;
  std::map<std::string, std::vector<const Json*>> by_key;

  static Pool& Get() {
    static Pool pool;
    return pool;
  }

  void Add(std::string_view text) {
    Json document = Parse(text);
    if (!document.is_structured()) return;
    for (const Place& place : PlacesOf(documents.emplace_back(std::move(document)))) {
      values.push_back(place.value);
      if (!place.key.empty()) by_key[place.key].push_back(place.value);
    }
  }
};

// `text` as a value, which a parser of JSON may refuse ("NaN") or read as another number ("1e999").
Json Number(Random& random) {
  const std::string_view text = Pick(kNumbers, random);
  Json number = Parse(text);
  return number.is_discarded() ? Json(std::numeric_limits<double>::max()) : number;
}

Json AnyValue(Random& random) {
  switch (Below(8, random)) {
    case 0:
      return nullptr;
    case 1:
      return Below(2, random) == 0;
    case 2:
      return std::string(Pick(kOdd, random));
    case 3:
      return Json::array();
    case 4:
      return Json::object();
    case 5:
      return "";
    default:
      return Number(random);
  }
}

Json Nested(Json value, Random& random) {
  constexpr std::size_t kDepths[] = {1, 2, 30, 70, 210, 700};
  const bool arrays = Below(2, random) == 0;
  for (std::size_t levels = Pick(kDepths, random); levels > 0; --levels) {
    if (arrays) {
      value = Json::array({std::move(value)});
    } else {
      Json outer = Json::object();
      outer["type"] = "Sequence";
      outer[Pick(std::array<const char*, 5>{"normalizers", "decoders", "items", "anyOf", "value"}, random)] =
          std::move(value);
      value = std::move(outer);
    }
  }
  return value;
}

std::string Huge(std::string_view unit, Random& random) {
  if (unit.empty()) unit = "a";
  const std::size_t size = std::size_t{1} << (4 + Below(14, random));
  std::string text;
  while (text.size() < size) text += unit;
  return text;
}

void ChangeString(Json* value, Random& random) {
  auto& text = value->get_ref<std::string&>();
  switch (Below(4, random)) {
    case 0:
      text = Huge(text.size() > 100 ? text.substr(0, 7) : text, random);
      break;
    case 1:
      text.insert(Below(text.size() + 1, random), Pick(kOdd, random));
      break;
    case 2:
      text = Pick(kOdd, random);
      break;
    default:
      text = MutateBytes(std::move(text), random);
  }
}

void Erase(const Place& place) {
  if (place.parent->is_array()) {
    place.parent->erase(place.index);
  } else {
    place.parent->erase(place.key);
  }
}

void Repeat(const Place& place, Random& random) {
  Json copy = *place.value;
  if (place.parent->is_object()) {
    (*place.parent)[place.key + std::string(Pick(kOdd, random))] = std::move(copy);
    return;
  }
  for (std::size_t times = Below(8, random) == 0 ? 200 : 1; times > 0; --times) place.parent->push_back(copy);
}

void Swap(const Place& place, Random& random) {
  auto other = place.parent->begin();
  std::advance(other, static_cast<std::ptrdiff_t>(Below(place.parent->size(), random)));
  if (&*other != place.value) std::swap(*other, *place.value);
}

void ChangeTree(Json* document, Random& random) {
  std::vector<Place> places = PlacesOf(*document);
  const Place& place = Pick(places, random);
  Json& value = *place.value;
  const auto& pool = Pool::Get();
  const std::size_t kind = Below(16, random);
  if (place.parent != nullptr && kind < 2) return Erase(place);
  if (place.parent != nullptr && kind < 4) return Repeat(place, random);
  if (place.parent != nullptr && kind < 6) return Swap(place, random);
  if (const auto same = pool.by_key.find(place.key); kind < 9 && same != pool.by_key.end()) {
    value = Json(*Pick(same->second, random));
  } else if (kind == 9) {
    value = Json(*Pick(places, random).value);
  } else if (kind == 10 && !pool.values.empty()) {
    value = Json(*Pick(pool.values, random));
  } else if (kind == 11) {
    value = Nested(value, random);
  } else if (value.is_string() && kind < 15) {
    ChangeString(&value, random);
  } else if (value.is_number() && kind == 12) {
    value = Number(random);
  } else if (value.is_number_integer() && kind < 15) {
    const auto number = static_cast<std::uint64_t>(value.get<std::int64_t>());  // wraps around
    value = static_cast<std::int64_t>(number + Below(5, random) - 2);
  } else {
    value = AnyValue(random);
  }
}

// A string of a document, key or value.
std::string AnyString(std::string_view document, Random& random) {
  Json json = Parse(document);
  if (!json.is_structured()) return std::string(Pick(kOdd, random));
  const std::vector<Place> places = PlacesOf(json);
  for (int tries = 0; tries < 20; ++tries) {
    const Place& place = Pick(places, random);
    if (place.value->is_string()) return place.value->get<std::string>();
    if (!place.key.empty()) return place.key;
  }
  return "";
}

std::size_t accepted_inputs = 0;

}  // namespace

void Accept() { ++accepted_inputs; }
std::size_t accepted() { return accepted_inputs; }

std::size_t Below(std::size_t limit, Random& random) { return static_cast<std::size_t>(random() % limit); }

std::vector<std::string_view> Parts(std::string_view input, std::size_t count) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const std::size_t end = std::min(input.find(kSeparator), input.size());
    parts.push_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  parts.push_back(input);
  return parts;
}

void Learn(std::string_view input) {
  const std::size_t count = 1 + static_cast<std::size_t>(std::ranges::count(input, kSeparator));
  for (const std::string_view part : Parts(input, count)) Pool::Get().Add(part);
}

std::string MutateBytes(std::string text, Random& random) {
  const std::size_t at = Below(text.size() + 1, random);
  const std::size_t size = Below(std::min<std::size_t>(text.size() - at, 64) + 1, random);
  switch (Below(9, random)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << Below(8, random)));
      break;
    case 1:
      if (at < text.size())
        text[at] = static_cast<char>(Pick(std::array<int, 8>{0, 1, 0x7F, 0x80, 0xFE, 0x20, 0x0A, 0x22}, random));
      break;
    case 2:
      text.erase(at, size);
      break;
    case 3:
      text.insert(at, text.substr(at, size));
      break;
    case 4:
      text.insert(Below(text.size() + 1, random), text.substr(at, size));
      break;
    case 5:
      text.insert(at, Pick(kNumbers, random));
      break;
    case 6:
      if (Below(20, random) == 0) text.insert(at, Huge(text.substr(at, size), random));
      break;
    case 7:
      if (Below(10, random) == 0) text.resize(at);
      break;
    default:
      text.insert(at, Pick(kOdd, random));
  }
  return text;
}

std::string MutateJson(std::string_view document, Random& random) {
  Json json = Parse(document);
  if (json.is_discarded()) return MutateBytes(std::string(document), random);
  ChangeTree(&json, random);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Mutate(std::string_view input, Random& random) {
  const std::size_t count = 1 + static_cast<std::size_t>(std::ranges::count(input, kSeparator));
  std::vector<std::string> parts;
  for (const std::string_view part : Parts(input, count)) parts.emplace_back(part);
  std::size_t changes = 1;
  while (changes < 8 && Below(2, random) == 0) ++changes;
  for (; changes > 0; --changes) {
    std::string& part = parts[Below(parts.size(), random)];
    const bool is_json = part.starts_with('{') || part.starts_with('[');
    if (is_json && Below(8, random) > 0) {
      part = MutateJson(part, random);
    } else if (!is_json && Below(3, random) == 0) {
      part.insert(Below(part.size() + 1, random), AnyString(Pick(parts, random), random));
    } else {
      part = MutateBytes(std::move(part), random);
    }
  }
  std::string result;
  for (const std::string& part : parts) result += (&part == parts.data() ? "" : std::string(1, kSeparator)) + part;
  return result.size() <= kMaxInput ? result : std::string(input);
}

std::size_t MutateInPlace(std::uint8_t* data, std::size_t size, std::size_t capacity, unsigned int seed) {
  Random random(seed);
  const std::string changed = Mutate({reinterpret_cast<const char*>(data), size}, random);
  if (changed.size() > capacity) return size;
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace mconnect::fuzzing
