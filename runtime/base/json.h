// Strict reading of JSON: no duplicate keys, bounded size and depth, and errors that name the place.
#ifndef MCONNECT_BASE_JSON_H_
#define MCONNECT_BASE_JSON_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mconnect {

using Json = nlohmann::json;

struct JsonLimits {
  std::size_t bytes = std::size_t{64} << 20;
  int depth = 64;
};

// `source` names the text in messages: "manifest.json". Throws Error(kCorrupt).
Json ParseJson(std::string_view text, std::string_view source, const JsonLimits& limits = {});

// A value inside a JSON document and the way to it, for messages: "manifest.json: modules.encoder.inputs[0].dtype".
// It refers to the document, which must outlive it. Every getter throws Error(kCorrupt) that names the place, what was
// expected and what is there.
class JsonView {
 public:
  // The document itself; `source` names it.
  JsonView(const Json& document, std::string source) : JsonView(document, std::move(source), ": ") {}

  const Json& json() const noexcept { return *value_; }
  const std::string& place() const noexcept { return place_; }

  // Objects. Closed() refuses every key that is not listed.
  void Closed(std::initializer_list<std::string_view> keys) const;
  JsonView operator[](std::string_view key) const;                // must be there
  std::optional<JsonView> Find(std::string_view key) const;       // absent: nullopt (a null value is there)
  std::vector<std::pair<std::string, JsonView>> Entries() const;  // sorted by key

  // Arrays.
  std::vector<JsonView> Items(std::size_t limit = std::numeric_limits<std::size_t>::max()) const;

  // Scalars.
  bool IsNull() const noexcept;
  bool Bool() const;
  std::int64_t Int(std::int64_t min = std::numeric_limits<std::int64_t>::min(),
                   std::int64_t max = std::numeric_limits<std::int64_t>::max()) const;
  double Double() const;  // an integer will do
  const std::string& String() const;

  // Throws Error(kCorrupt): "<place>: <what>".
  [[noreturn]] void Fail(std::string_view what) const;

 private:
  JsonView(const Json& value, std::string place, std::string_view separator)
      : value_(&value), place_(std::move(place)), separator_(separator) {}

  [[noreturn]] void FailType(std::string_view expected) const;

  const Json* value_;
  std::string place_;
  std::string_view separator_;  // between place_ and a key
};

}  // namespace mconnect

#endif  // MCONNECT_BASE_JSON_H_
