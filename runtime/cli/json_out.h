// JSON for machines: one value and a newline on standard output.
#ifndef MCONNECT_RUNTIME_CLI_JSON_OUT_H_
#define MCONNECT_RUNTIME_CLI_JSON_OUT_H_

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace mconnect::cli {

// UTF-8 on one line, keys in the order given. Bytes that are not UTF-8 (a path may hold some) become U+FFFD.
std::string JsonLine(const nlohmann::ordered_json& value);

// "[0.25,-1e-05]": each f32 in the fewest digits that read back to it, null where it is not finite.
void AppendJson(std::span<const float> values, std::string* out);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_JSON_OUT_H_
