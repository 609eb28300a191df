#include "mconnect/model.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "mconnect/error.h"
#include "runtime/api/engines.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/store.h"
#include "runtime/engine/input_limits.h"
#include "runtime/engine/open_module.h"
#include "runtime/engine/selection.h"
#include "runtime/tasks/model_parts.h"
#include "runtime/text/tokenizer.h"

namespace mconnect {
namespace {

constexpr int kMaxThreads = 1024;
constexpr const char* kTokenizer = "tokenizer";

void CheckOptions(const LoadOptions& options) {
  if (options.precision != "f32" && options.precision != "bf16") {
    throw Error(ErrorCode::kInvalidArgument, "there is no precision '" + options.precision + "'",
                "precisions are 'f32' and 'bf16'");
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    throw Error(ErrorCode::kInvalidArgument, "threads is " + std::to_string(options.threads) +
                                                 ", the limits are 0 and " + std::to_string(kMaxThreads));
  }
}

// The typed error `kNotFound`: "<bundle> has no <kind> '<name>'; it has 'a', 'b'".
template <typename Names>
[[noreturn]] void ThrowNotFound(const std::string& bundle, const char* kind, std::string_view name,
                                const Names& names) {
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "'" : ", '") + n + "'";
  throw Error(ErrorCode::kNotFound,
              bundle + " has no " + kind + " '" + std::string(name) + "'; it has " + (list.empty() ? "none" : list));
}

std::vector<TensorInfo> Describe(const std::vector<TensorSpec>& specs) {
  std::vector<TensorInfo> infos;
  for (const TensorSpec& spec : specs) {
    TensorInfo& info = infos.emplace_back(TensorInfo{spec.name, spec.dtype, {}});
    for (const Dimension& dimension : spec.shape) {
      const auto* number = std::get_if<std::int64_t>(&dimension);
      info.shape.push_back(number != nullptr ? std::to_string(*number) : std::get<std::string>(dimension));
    }
  }
  return infos;
}

struct Plan {
  Selection selection;
  ModuleInfo info;
  ModuleFiles files;
};

// Chooses a variant for each module, and brings their files into the store in one go.
std::vector<Plan> MakePlans(const Bundle& bundle, const LoadOptions& options) {
  std::vector<Plan> plans;
  std::vector<std::string> members;
  const std::vector<const mc_engine_api*> engines = Engines();
  for (const auto& [name, module] : bundle.manifest().modules) {
    Plan plan = {SelectVariant(name, module, engines, options.device), {}, {}};
    plan.info.name = name;
    plan.info.inputs = Describe(module.inputs);
    plan.info.outputs = Describe(module.outputs);
    plan.info.stateful = module.stateful;
    plan.info.engine = plan.selection.engine->name;
    plan.info.variant = plan.selection.variant->path;
    plan.info.device = plan.selection.device;
    members.push_back(plan.info.variant);
    if (plan.selection.variant->weights) members.push_back(*plan.selection.variant->weights);
    plans.push_back(std::move(plan));
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  const Store store(options.store.empty() ? Store::DefaultFolder() : options.store);
  const std::vector<std::filesystem::path> files = store.Materialize(bundle, members);
  const auto file = [&](const std::string& member) {
    return files[static_cast<std::size_t>(std::lower_bound(members.begin(), members.end(), member) - members.begin())];
  };
  for (Plan& plan : plans) {
    plan.files.artifact = file(plan.selection.variant->path);
    if (plan.selection.variant->weights) plan.files.weights = file(*plan.selection.variant->weights);
  }
  return plans;
}

}  // namespace

struct Model::Impl : ModelParts {
  std::shared_ptr<const Bundle> bundle;
  ModelInfo info;
  std::map<std::string, LoadedModule, std::less<>> modules;
  std::shared_ptr<const Tokenizer> loaded_tokenizer;

  std::string Name() const { return bundle->path().string(); }

  LoadedModule module(std::string_view name) const override {
    if (const auto it = modules.find(name); it != modules.end()) return it->second;
    std::vector<std::string> names;
    for (const auto& [n, m] : modules) names.push_back(n);
    ThrowNotFound(Name(), "module", name, names);
  }

  std::string graph(std::string_view name) const override {
    return bundle->Read(bundle->manifest().module(name).graph);
  }

  std::string asset(std::string_view name) const override { return bundle->Asset(name); }

  bool has_asset(std::string_view name) const override { return bundle->manifest().assets.contains(std::string(name)); }

  AssetReader asset_reader(std::string name) const override {
    return [held = bundle, name = std::move(name)] { return held->Asset(name); };
  }

  std::shared_ptr<const Tokenizer> tokenizer() const override {
    if (loaded_tokenizer == nullptr) throw Error(ErrorCode::kNotFound, Name() + " has no asset 'tokenizer'");
    return loaded_tokenizer;
  }
};

Model::Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  CheckOptions(options);
  auto impl = std::make_shared<Impl>();
  impl->bundle = Bundle::Open(path);
  const Bundle& bundle = *impl->bundle;
  const Manifest& manifest = bundle.manifest();
  impl->info.id = bundle.id();
  impl->info.name = manifest.name;
  impl->info.family = manifest.family;
  impl->info.tasks = manifest.tasks;
  impl->info.threads = options.threads;
  impl->info.device = "cpu";
  impl->info.precision = options.precision;

  // The tokenizer and the modules load side by side. The futures' destructors wait, so that an error leaves no thread
  // behind.
  std::future<Tokenizer> tokenizer;
  if (manifest.assets.contains(kTokenizer)) {
    tokenizer = std::async(std::launch::async, [&bundle] { return Tokenizer::FromJson(bundle.Asset(kTokenizer)); });
  }
  std::vector<std::future<LoadedModule>> loading;
  for (Plan& plan : MakePlans(bundle, options)) {
    loading.push_back(std::async(std::launch::async, [plan = std::move(plan), &options, &bundle] {
      const std::string& graph = bundle.manifest().module(plan.info.name).graph;
      return OpenModule(*plan.selection.engine, plan.files, {options.precision, options.threads}, plan.info,
                        ReadInputLimits(bundle.Read(graph), bundle.path().string() + ": " + graph));
    }));
  }
  for (std::future<LoadedModule>& future : loading) {
    LoadedModule module = future.get();
    impl->info.modules.push_back(module.info());
    impl->modules.emplace(module.info().name, std::move(module));
  }
  if (!impl->info.modules.empty()) {
    impl->info.device = impl->info.modules.front().device;
    impl->info.precision = impl->info.modules.front().precision;
  }
  if (tokenizer.valid()) impl->loaded_tokenizer = std::make_shared<const Tokenizer>(tokenizer.get());
  return Model(std::move(impl));
}

const ModelInfo& Model::info() const noexcept { return impl_->info; }

LoadedModule Model::module(std::string_view name) const { return impl_->module(name); }

std::string Model::asset(std::string_view name) const { return impl_->asset(name); }

const ModelParts& Model::parts(std::string_view task) const {
  const std::vector<std::string>& tasks = impl_->info.tasks;
  if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) ThrowNotFound(impl_->Name(), "task", task, tasks);
  return *impl_;
}

}  // namespace mconnect
