#include "runtime/cli/model_flags.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "mconnect/error.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/store.h"
#include "runtime/cli/console.h"
#include "runtime/cli/watched_bundle.h"

namespace mconnect::cli {
namespace {

// The command that carries out each task.
const std::map<std::string_view, std::string_view> kCommands = {{"text-embedding", "embed"},
                                                                {"text-generation", "run"}};

void RequireTask(const Bundle& bundle, const std::string& path, std::string_view task) {
  const std::vector<std::string>& tasks = bundle.manifest().tasks;
  if (std::find(tasks.begin(), tasks.end(), task) != tasks.end()) return;
  std::string names, commands;
  for (const std::string& name : tasks) {
    names += (names.empty() ? "" : ", ") + name;
    const auto command = kCommands.find(name);
    if (command == kCommands.end()) continue;
    commands += (commands.empty() ? "`mconnect " : ", `mconnect ") + std::string(command->second) + " " + path + "`";
  }
  throw Error(ErrorCode::kNotFound,
              path + " has no task " + std::string(task) + "; it has: " + (names.empty() ? "none" : names),
              commands.empty() ? "use a bundle with that task" : "use " + commands);
}

// What Model::load() would extract silently is extracted here, with a bar. Bundles in the form of a folder need
// nothing.
void UnpackOnFirstUse(const std::shared_ptr<const Bundle>& bundle, const std::filesystem::path& store_folder) {
  if (!bundle->FileOf("manifest.json").empty()) return;
  Progress progress("unpacking " + bundle->manifest().name, Progress::Unit::kBytes);
  std::uint64_t total = 0;
  for (const MemberInfo& member : bundle->members()) total += member.size;
  const WatchedBundle watched(bundle, [&](std::uint64_t done) { progress.Update(done, total); });
  const Store store = store_folder.empty() ? Store() : Store(store_folder);
  for (const auto& [name, module] : bundle->manifest().modules) {
    for (const Variant& variant : module.variants) {
      if (variant.engine == "openvino") store.Materialize(watched, variant);
    }
  }
}

}  // namespace

void AddModelFlags(CLI::App* app, ModelFlags* flags) {
  app->add_option("bundle", flags->bundle, "A .bundle file, or a folder made by `mconnect unpack`")
      ->required()
      ->type_name("")
      ->option_text("BUNDLE");
  app->add_option("--device", flags->load.device, "auto, cpu, gpu or gpu:N")->capture_default_str();
  app->add_option("--precision", flags->load.precision, "f32, or bf16: faster where the CPU has it")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app->add_option("--threads", flags->load.threads, "CPU threads; 0: one for each core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--store", flags->load.store,
                  "Where bundles are unpacked to; default: $MCONNECT_STORE, else the user's cache")
      ->type_name("FOLDER");
}

Model LoadForTask(const ModelFlags& flags, std::string_view task) {
  const std::shared_ptr<const Bundle> bundle = Bundle::Open(flags.bundle);
  RequireTask(*bundle, flags.bundle, task);
  UnpackOnFirstUse(bundle, flags.load.store);
  return Model::load(flags.bundle, flags.load);
}

Embeddings EmbedAll(const TextEmbedding& task, const std::vector<std::string>& texts, const EmbedOptions& options) {
  // Large enough that sorting by length inside the task pays, small enough that the bar moves.
  constexpr std::size_t kStep = 256;
  const auto batch = static_cast<std::size_t>(std::max(1, options.batch_size));
  const std::size_t step = std::max(kStep / batch, std::size_t{1}) * batch;
  Progress progress("embedding", Progress::Unit::kItems);
  Embeddings all;
  all.vectors = Tensor(DType::kF32, {static_cast<std::int64_t>(texts.size()), task.dimension()});
  float* out = all.vectors.values<float>().data();
  for (std::size_t begin = 0; begin < texts.size(); begin += step) {
    const std::size_t end = std::min(texts.size(), begin + step);
    const auto first = texts.begin() + static_cast<std::ptrdiff_t>(begin);
    const Embeddings part = task.embed({first, first + static_cast<std::ptrdiff_t>(end - begin)}, options);
    out = std::copy_n(part.vectors.values<float>().data(), part.vectors.size(), out);
    all.tokens.insert(all.tokens.end(), part.tokens.begin(), part.tokens.end());
    all.truncated.insert(all.truncated.end(), part.truncated.begin(), part.truncated.end());
    progress.Update(end, texts.size());
  }
  const auto cut = std::count(all.truncated.begin(), all.truncated.end(), true);
  if (cut > 0) {
    Note("note: " + std::to_string(cut) + " of " + std::to_string(texts.size()) + " texts were cut to " +
         std::to_string(task.max_tokens()) + " tokens");
  }
  return all;
}

}  // namespace mconnect::cli
