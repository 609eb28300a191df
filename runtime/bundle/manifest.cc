#include "runtime/bundle/manifest.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/base/sha256.h"
#include "runtime/bundle/format.h"

namespace mconnect {
namespace {

constexpr std::size_t kMaxItems = 4096;  // of any list but members
constexpr std::size_t kMaxText = 4096;   // bytes

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

std::string Name(const JsonView& view) {
  if (!IsName(view.String())) view.Fail("expected a name of at most 128 characters (A-Z a-z 0-9 . _ -)");
  return view.String();
}

// Text for people: no control characters, bounded.
std::string Text(const JsonView& view) {
  const std::string& text = view.String();
  const bool printable = std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
  if (!printable || text.empty() || text.size() > 4 * kMaxText)
    view.Fail("expected printable text of at most 4096 characters");
  return text;
}

std::string Digest(const JsonView& view) {
  if (!IsSha256Hex(view.String())) view.Fail("expected 64 lower-case hex digits");
  return view.String();
}

std::string Path(const JsonView& view) {
  if (const std::string problem = PathProblem(view.String()); !problem.empty()) view.Fail("member path " + problem);
  return view.String();
}

std::uint64_t Size(const JsonView& view) { return static_cast<std::uint64_t>(view.Int(0, kMaxMemberSize)); }

template <typename Read>
auto Optional(const JsonView& view, Read read) -> std::optional<decltype(read(view))> {
  if (view.IsNull()) return std::nullopt;
  return read(view);
}

template <typename Read>
auto List(const JsonView& view, Read read, std::size_t limit = kMaxItems) {
  std::vector<decltype(read(view))> list;
  for (const JsonView& item : view.Items(limit)) list.push_back(read(item));
  return list;
}

template <typename Read>
auto Map(const JsonView& view, Read read) {
  std::map<std::string, decltype(read(view))> map;
  for (const auto& [key, value] : view.Entries()) {
    if (!IsName(key)) view.Fail("a key is not a name of at most 128 characters (A-Z a-z 0-9 . _ -)");
    map.emplace(key, read(value));
  }
  if (map.size() > kMaxItems) view.Fail("has more than " + std::to_string(kMaxItems) + " keys");
  return map;
}

Dimension ReadDimension(const JsonView& view) {
  if (!view.json().is_string()) return view.Int(0);
  if (view.String().empty() || view.String().size() > 1024) view.Fail("expected a symbol of 1 to 256 characters");
  return view.String();
}

TensorSpec ReadTensor(const JsonView& view) {
  view.Closed({"dtype", "name", "shape"});
  TensorSpec tensor;
  tensor.name = Name(view["name"]);
  try {
    tensor.dtype = ParseDType(view["dtype"].String());
  } catch (const Error& e) {
    if (e.code() == ErrorCode::kCorrupt) throw;
    view["dtype"].Fail(e.message());
  }
  tensor.shape = List(view["shape"], ReadDimension, 64);
  return tensor;
}

Variant ReadVariant(const JsonView& view) {
  view.Closed({"engine", "path", "requires", "weights"});
  return {Name(view["engine"]), Path(view["path"]), Optional(view["weights"], Path), Map(view["requires"], Text)};
}

Module ReadModule(const JsonView& view) {
  view.Closed({"graph", "inputs", "outputs", "stateful", "variants"});
  return {Path(view["graph"]), List(view["inputs"], ReadTensor), List(view["outputs"], ReadTensor),
          view["stateful"].Bool(), List(view["variants"], ReadVariant)};
}

Checkpoint ReadCheckpoint(const JsonView& view) {
  view.Closed({"files", "repository", "revision", "source"});
  Checkpoint checkpoint;
  checkpoint.source = view["source"].String();
  if (checkpoint.source != "hub" && checkpoint.source != "folder")
    view["source"].Fail("expected \"hub\" or \"folder\"");
  checkpoint.repository = Optional(view["repository"], Text);
  checkpoint.revision = Optional(view["revision"], Text);
  if (checkpoint.source == "folder" && (checkpoint.repository || checkpoint.revision)) {
    view.Fail("a folder has no repository or revision");
  }
  checkpoint.files = List(
      view["files"],
      [](const JsonView& file) {
        file.Closed({"path", "sha256", "size"});
        return CheckpointFile{Text(file["path"]), Size(file["size"]), Digest(file["sha256"])};
      },
      kMaxMembers);
  return checkpoint;
}

Member ReadMember(const JsonView& view) {
  const bool has_key = view.Find("build_key").has_value();
  view.Closed({"path", has_key ? "build_key" : "sha256", "size"});
  Member member = {Path(view["path"]), Size(view["size"]), "", ""};
  (has_key ? member.build_key : member.sha256) = Digest(view[has_key ? "build_key" : "sha256"]);
  return member;
}

// Throws unless `members` can live in one folder and hold whatever the manifest refers to.
void CheckMembers(const Manifest& manifest, const JsonView& view) {
  std::vector<std::string_view> paths;
  for (const Member& member : manifest.members) paths.push_back(member.path);
  if (!std::ranges::is_sorted(paths)) view["members"].Fail("is not sorted by path");
  if (const std::string problem = CollisionProblem(paths); !problem.empty())
    view["members"].Fail("member path " + problem);
  const auto require = [&](const std::string& path, const std::string& place) {
    if (!std::ranges::binary_search(paths, path))
      view.Fail(place + " refers to the member '" + path + "', which is not there");
  };
  for (const auto& [name, path] : manifest.assets) require(path, "assets." + name);
  for (const auto& [name, module] : manifest.modules) {
    require(module.graph, "modules." + name + ".graph");
    for (const Variant& variant : module.variants) {
      require(variant.path, "modules." + name + ".variants");
      if (variant.weights) require(*variant.weights, "modules." + name + ".variants");
    }
  }
}

template <typename Value>
const Value& Lookup(const std::map<std::string, Value>& map, std::string_view key, const std::string& kind,
                    const std::string& bundle) {
  const auto found = map.find(std::string(key));
  if (found != map.end()) return found->second;
  std::string known;
  for (const auto& [name, unused] : map) known += (known.empty() ? "" : ", ") + name;
  throw Error(ErrorCode::kNotFound, "the bundle '" + bundle + "' has no " + kind + " '" + std::string(key) + "'",
              known.empty() ? "" : "it has " + known);
}

}  // namespace

const Module& Manifest::module(std::string_view key) const { return Lookup(modules, key, "module", name); }

const std::string& Manifest::asset(std::string_view key) const { return Lookup(assets, key, "asset", name); }

Manifest ParseManifest(std::string_view text) {
  const Json json = ParseJson(text, "manifest.json", {.bytes = kMaxManifestSize, .depth = 16});
  const JsonView view(json, "manifest.json");
  if (const std::int64_t format = view["format"].Int(); format != kBundleFormat) {
    throw Error(ErrorCode::kUnsupported,
                "manifest.json: format is " + std::to_string(format) + ", this build reads format " +
                    std::to_string(kBundleFormat),
                "build the bundle with this release, or run it with the release that built it");
  }
  view.Closed(
      {"assets", "builder", "checkpoint", "family", "format", "licence", "members", "modules", "name", "tasks"});
  Manifest manifest;
  manifest.format = kBundleFormat;
  manifest.name = Name(view["name"]);
  manifest.family = Name(view["family"]);
  manifest.tasks = List(view["tasks"], Name);
  if (auto tasks = manifest.tasks; std::ranges::sort(tasks), std::ranges::adjacent_find(tasks) != tasks.end()) {
    view["tasks"].Fail("names a task twice");
  }
  manifest.modules = Map(view["modules"], ReadModule);
  manifest.assets = Map(view["assets"], Path);
  manifest.checkpoint = ReadCheckpoint(view["checkpoint"]);
  manifest.licence = Optional(view["licence"], Text);
  manifest.builder = Text(view["builder"]);
  manifest.members = List(view["members"], ReadMember, kMaxMembers);
  CheckMembers(manifest, view);
  if (json.dump() + "\n" != text) view.Fail("is not canonical JSON (sorted keys, no spaces, one newline at the end)");
  return manifest;
}

}  // namespace mconnect
