#include "runtime/cli/json_out.h"

#include <charconv>
#include <cmath>

namespace mconnect::cli {

std::string JsonLine(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void AppendJson(std::span<const float> values, std::string* out) {
  *out += '[';
  for (const float& value : values) {
    if (&value != values.data()) *out += ',';
    char digits[32];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
    if (std::isfinite(value)) {
      out->append(digits, end.ptr);
    } else {
      *out += "null";
    }
  }
  *out += ']';
}

}  // namespace mconnect::cli
