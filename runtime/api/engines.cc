#include "runtime/api/engines.h"

#include <cstdlib>
#include <string_view>

#include "runtime/engine/openvino/openvino_engine.h"
#include "runtime/engine/plugin.h"

namespace mconnect {

std::vector<const mc_engine_api*> Engines() {
  std::vector<const mc_engine_api*> engines = {OpenVinoEngine()};
  const char* variable = std::getenv("MCONNECT_ENGINES");
  std::string_view paths = variable != nullptr ? variable : "";
  while (!paths.empty()) {
    const std::size_t end = paths.find(':');
    const std::string_view path = paths.substr(0, end);
    if (!path.empty()) engines.push_back(LoadEnginePlugin(path));
    paths.remove_prefix(end == std::string_view::npos ? paths.size() : end + 1);
  }
  return engines;
}

}  // namespace mconnect
