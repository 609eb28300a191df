// What the keywords of a JSON schema say, one at a time.
#ifndef MCONNECT_TEXT_CONSTRAINT_SCHEMA_KEYWORDS_H_
#define MCONNECT_TEXT_CONSTRAINT_SCHEMA_KEYWORDS_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/constraint/json_text.h"

namespace mconnect {

// Members keep the order in which they were written.
using Schema = nlohmann::ordered_json;

// Throw Error(kInvalidArgument) for a schema that is none, and Error(kUnsupported) for one that is not known. `place`
// is a JSON pointer into the whole, such as "#/properties/name".
[[noreturn]] void FailSchema(const std::string& place, const std::string& what);
[[noreturn]] void UnsupportedSchema(const std::string& place, const std::string& what);

// Refuses keywords that are not known.
void CheckKeywords(const Schema& schema, const std::string& place);

// Refuses keywords beside `keys` that would narrow what these admit.
void OnlyKeywords(const Schema& schema, const std::string& place, const std::set<std::string_view>& keys);

// The types that a schema admits: never none.
std::vector<std::string> SchemaTypes(const Schema& schema, const std::string& place);
bool HasType(const Schema& value, const std::vector<std::string>& types);

// The value of a keyword such as minLength; nothing where it is absent.
std::optional<std::size_t> SchemaCount(const Schema& schema, const char* key, const std::string& place);
NumberLimits SchemaLimits(const Schema& schema, const std::string& place);

// The regular expression for a `format` of strings; nothing where it is not known.
std::optional<std::string> FormatPattern(const std::string& format);

}  // namespace mconnect

#endif  // MCONNECT_TEXT_CONSTRAINT_SCHEMA_KEYWORDS_H_
