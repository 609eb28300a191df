// The manifest of a bundle: manifest.json as typed values. docs/architecture.md describes each key.
#ifndef MCONNECT_BUNDLE_MANIFEST_H_
#define MCONNECT_BUNDLE_MANIFEST_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mconnect/dtype.h"

namespace mconnect {

// A dimension of a module's input or output: a number, or a symbol such as "batch" or "past+tokens".
using Dimension = std::variant<std::int64_t, std::string>;

struct TensorSpec {
  std::string name;
  DType dtype;
  std::vector<Dimension> shape;
};

// One engine's artifact for a module.
struct Variant {
  std::string engine;                  // "openvino", "tensorrt"
  std::string path;                    // member: an IR, a plan
  std::optional<std::string> weights;  // member: the safetensors file that the artifact points into
  std::map<std::string, std::string>
      requirements;  // "requires": an engine refuses the variant when it does not know a key
};

struct Module {
  std::string graph;  // member
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  bool stateful;
  std::vector<Variant> variants;
};

struct CheckpointFile {
  std::string path;
  std::uint64_t size;
  std::string sha256;
};

// Where the weights came from.
struct Checkpoint {
  std::string source;  // "hub" or "folder"
  std::optional<std::string> repository;
  std::optional<std::string> revision;
  std::vector<CheckpointFile> files;
};

struct Member {
  std::string path;
  std::uint64_t size;     // bytes
  std::string sha256;     // 64 hex digits; empty when the manifest gives a build key instead
  std::string build_key;  // 64 hex digits, or empty
};

struct Manifest {
  int format;
  std::string name;
  std::string family;
  std::vector<std::string> tasks;
  std::map<std::string, Module> modules;
  std::map<std::string, std::string> assets;  // name → member
  Checkpoint checkpoint;
  std::optional<std::string> licence;
  std::string builder;
  std::vector<Member> members;  // sorted by path

  // Throw Error(kNotFound) that lists what there is.
  const Module& module(std::string_view name) const;
  const std::string& asset(std::string_view name) const;
};

// The newest format that this build reads and the only one that it writes.
inline constexpr int kBundleFormat = 1;

// Throws Error(kCorrupt) that names the offending key, or Error(kUnsupported) for another format.
// Checks that every member that the manifest refers to is in `members`, and that the text is canonical JSON.
Manifest ParseManifest(std::string_view text);

}  // namespace mconnect

#endif  // MCONNECT_BUNDLE_MANIFEST_H_
