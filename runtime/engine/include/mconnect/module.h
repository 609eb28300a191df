// Running one module of a model with named tensors.
#ifndef MCONNECT_MODULE_H_
#define MCONNECT_MODULE_H_

#include <memory>
#include <string>
#include <vector>

#include "mconnect/dtype.h"
#include "mconnect/tensor.h"

namespace mconnect {

// What a module says about one of its inputs or outputs.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  // One entry a dimension: a number ("384") or a symbol ("batch", "past+tokens"). A symbol has one value throughout a
  // run.
  std::vector<std::string> shape;
};

// A module and how this process executes it.
struct ModuleInfo {
  std::string name;  // "encoder"
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  bool stateful = false;  // keeps state (a key/value cache) between the runs of a session
  std::string engine;     // "openvino"
  std::string variant;    // the artifact inside of the bundle, "modules/encoder/openvino.xml"
  std::string device;     // "cpu", "gpu:0"
  std::string precision;  // the arithmetic: "f32" also where "bf16" was asked for and the device has none
};

// One line of execution through a module: runs follow each other and share its state.
// Not synchronised: a session belongs to one thread at a time. Any number of sessions may run at once.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();  // the execution context goes back to the module's pool

  // Runs the module once. `inputs` are read in place and must be every input of the module, no more.
  // The outputs are owned by the caller: a later run does not change them.
  //
  // Throws Error(kInvalidArgument) for a missing or unknown input, a wrong dtype, rank or dimension, and for values
  // that the module's tables do not have (a token id beyond the vocabulary, a position beyond the table, a row that the
  // cache lacks); the message names the module, the input, what is expected and what came. In the dimensions of a
  // stateful module `past` is the number of tokens that its state holds. Such a mistake leaves the session as it was.
  NamedTensors run(const NamedTensors& inputs);

  // Like run(), but outputs point into the engine's memory: valid until the next call on this session.
  NamedTensors run_borrowed(const NamedTensors& inputs);

  // Empties the state. A new session starts empty.
  void reset();

 private:
  friend class LoadedModule;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A loaded module. Copies refer to the same one. Safe to use from many threads.
class LoadedModule {
 public:
  const ModuleInfo& info() const noexcept;

  // Runs the module once with an empty state. Same contract as Session::run().
  NamedTensors run(const NamedTensors& inputs) const;

  // A session with an empty state.
  Session session() const;

  struct Impl;  // internal
  explicit LoadedModule(std::shared_ptr<Impl> impl);

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_MODULE_H_
