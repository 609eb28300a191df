// What a task is made from.
#ifndef MCONNECT_TASKS_MODEL_PARTS_H_
#define MCONNECT_TASKS_MODEL_PARTS_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mconnect/module.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {

using AssetReader = std::function<std::string()>;

// The parts of a loaded model. Any number of threads may use one; a task keeps what it takes.
class ModelParts {
 public:
  virtual ~ModelParts() = default;

  // Throw Error(kNotFound) that lists what there is.
  virtual LoadedModule module(std::string_view name) const = 0;
  virtual std::string graph(std::string_view module) const = 0;  // its graph.json
  virtual std::string asset(std::string_view name) const = 0;

  virtual bool has_asset(std::string_view name) const = 0;

  // Reads an asset when it is called, also when these parts are no more. Throws then as asset() does.
  virtual AssetReader asset_reader(std::string name) const = 0;

  // Throws Error(kNotFound) when the bundle has no tokenizer, and its Error when it is not a good one.
  virtual std::shared_ptr<const Tokenizer> tokenizer() const = 0;
};

}  // namespace mconnect

#endif  // MCONNECT_TASKS_MODEL_PARTS_H_
