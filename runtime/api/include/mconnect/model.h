// A model: a bundle loaded for one device.
#ifndef MCONNECT_MODEL_H_
#define MCONNECT_MODEL_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/module.h"

namespace mconnect {

class ModelParts;

struct LoadOptions {
  // "auto": the best device for which the bundle has a variant; info() tells which. "cpu", "gpu", "gpu:1": that one or
  // an error.
  std::string device = "auto";
  // The arithmetic: "f32", or "bf16" (faster on CPUs with AMX or AVX512-BF16; cosine of embeddings about 0.9999).
  std::string precision = "f32";
  // Threads that one run uses on the CPU. 0: the engine's choice, one for each core that this process may use.
  int threads = 0;
  // Where a bundle is unpacked to. Empty: $MCONNECT_STORE, else the user's cache folder.
  std::filesystem::path store = {};
};

struct ModelInfo {
  std::string id;                   // sha256 of the manifest, 64 hex digits
  std::string name;                 // "all-minilm-l6-v2"
  std::string family;               // "bert"
  std::vector<std::string> tasks;   // {"text-embedding"}
  std::vector<ModuleInfo> modules;  // with the variant chosen for each
  std::string device;               // "cpu"
  std::string precision;            // "f32"
  int threads = 0;                  // as asked for; 0: the engine's choice
};

// Copies refer to the same model; the last one to go frees it. Safe to use from many threads.
//
//   auto model = mconnect::Model::load("minilm.bundle");
//   auto vectors = model.task<mconnect::TextEmbedding>().embed({"a cat", "a dog"});
//   auto outputs = model.module("encoder").run({{"input_ids", ids}, {"attention_mask", mask}, {"token_type_ids",
//   types}});
class Model {
 public:
  // Loads a .bundle file, or a folder made by `mconnect unpack`.
  //
  // Throws Error: kNotFound (no such file), kCorrupt (not a bundle, or damaged), kUnsupported (no variant runs here:
  // the message has one line for each that says why), kUnavailable (the device asked for is not usable),
  // kInvalidArgument (options).
  static Model load(const std::filesystem::path& bundle, const LoadOptions& options = {});

  const ModelInfo& info() const noexcept;

  // Throws Error(kNotFound) with the names that there are.
  LoadedModule module(std::string_view name) const;

  // The bytes of an asset ("tokenizer", "text-embedding"). Throws Error(kNotFound) with the names that there are.
  std::string asset(std::string_view name) const;

  // A typed task: TextEmbedding, TextGeneration. Throws Error(kNotFound) with the tasks that the bundle has.
  template <typename Task>
  Task task() const {
    return Task(parts(Task::kName));
  }

 private:
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl);
  const ModelParts& parts(std::string_view task) const;

  std::shared_ptr<const Impl> impl_;
};

}  // namespace mconnect

#endif  // MCONNECT_MODEL_H_
