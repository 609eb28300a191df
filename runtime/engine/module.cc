#include "mconnect/module.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "mconnect/error.h"
#include "runtime/base/file.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/open_module.h"

namespace mconnect {
namespace {

// Idle contexts that a module keeps for later sessions.
constexpr std::size_t kMaxIdle = 8;

void Check(const mc_engine_api& engine, int32_t code) {
  if (code == 0) return;
  const bool known =
      code >= static_cast<int>(ErrorCode::kInvalidArgument) && code <= static_cast<int>(ErrorCode::kInternal);
  throw Error(known ? static_cast<ErrorCode>(code) : ErrorCode::kInternal, engine.last_error());
}

// "[batch,tokens,384]"
std::string ShapeText(const std::vector<std::string>& shape) {
  std::string text = "[";
  for (const std::string& dimension : shape) text += (text.size() > 1 ? "," : "") + dimension;
  return text + "]";
}

std::optional<std::int64_t> Number(const std::string& text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsSymbol(const std::string& text) { return text.find_first_of("+*") == std::string::npos; }

// Where the tokens that a state holds stand in a dimension.
constexpr const char* kPast = "past";

// What a session's state holds.
struct Held {
  std::int64_t past = 0;  // tokens
  std::int64_t rows = 0;
};

// The pieces of `text` between separators.
std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == separator) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

struct Symbol {
  std::int64_t value;
  std::string input;  // where it was seen
};
using Symbols = std::map<std::string, Symbol>;

// The value of a sum of products, "past+tokens". Nothing where a symbol is unknown or the value has no meaning.
std::optional<std::int64_t> Evaluate(const std::string& dimension, const Symbols& symbols) {
  std::int64_t sum = 0;
  for (const std::string& term : Split(dimension, '+')) {
    std::int64_t product = 1;
    for (const std::string& factor : Split(term, '*')) {
      std::optional<std::int64_t> value = Number(factor);
      if (const auto symbol = symbols.find(factor); symbol != symbols.end()) value = symbol->second.value;
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

mc_engine_tensor View(const Tensor& tensor) {
  mc_engine_tensor view = {};
  view.dtype = static_cast<int32_t>(tensor.dtype());
  view.rank = static_cast<int32_t>(tensor.shape().size());
  std::copy(tensor.shape().begin(), tensor.shape().end(), view.shape);
  view.data = const_cast<void*>(tensor.data());
  return view;
}

}  // namespace

struct LoadedModule::Impl {
  const mc_engine_api* engine;
  ModuleInfo info;
  InputLimits limits;
  std::shared_ptr<const void> weights;  // stays mapped while the variant is open
  mc_engine_variant* variant = nullptr;
  std::vector<std::size_t> inputs;  // position in info.inputs → the engine's index
  std::vector<std::size_t> outputs;
  std::mutex mutex;
  std::vector<mc_engine_context*> idle;

  ~Impl() {
    for (mc_engine_context* context : idle) engine->context_free(context);
    engine->variant_close(variant);
  }

  mc_engine_context* Take() {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        mc_engine_context* context = idle.back();
        idle.pop_back();
        return context;
      }
    }
    mc_engine_context* context = nullptr;
    Check(*engine, engine->context_create(variant, &context));
    return context;
  }

  void GiveBack(mc_engine_context* context, bool reusable) noexcept {
    if (reusable && engine->reset(context) == 0) {
      std::lock_guard lock(mutex);
      if (idle.size() < kMaxIdle) {
        idle.push_back(context);
        return;
      }
    }
    engine->context_free(context);
  }

  std::string Names(const std::vector<TensorInfo>& infos) const {
    std::string names;
    for (const TensorInfo& i : infos) names += (names.empty() ? "'" : ", '") + i.name + "'";
    return names.empty() ? "none" : names;
  }

  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, "module '" + info.name + "': " + what);
  }

  // Returns what the state holds after the run.
  Held CheckInputs(const NamedTensors& given, const Held& held) const {
    Symbols symbols;
    for (const TensorInfo& expected : info.inputs) {
      const auto it = given.find(expected.name);
      if (it == given.end()) {
        Refuse("input '" + expected.name + "' (" + std::string(DTypeName(expected.dtype)) + " " +
               ShapeText(expected.shape) + ") is missing");
      }
      CheckShape(expected, it->second, symbols);
    }
    if (given.size() != info.inputs.size()) RefuseUnknown(given);
    for (const auto& [name, limit] : limits.symbols) {
      const auto symbol = symbols.find(name);
      if (symbol == symbols.end() || symbol->second.value <= limit) continue;
      Refuse("input '" + symbol->second.input + "': '" + name + "' is " + std::to_string(symbol->second.value) +
             ", the limit is " + std::to_string(limit));
    }
    const Held after = info.stateful ? CheckSums(given, held, symbols) : Held();
    for (const auto& [name, greatest] : limits.values) CheckValues(given, name, greatest);
    for (const std::string& name : limits.cache_rows) {
      CheckValues(given, name, std::max<std::int64_t>(held.past > 0 ? held.rows : after.rows, 1) - 1);
    }
    return after;
  }

  // Dtype, rank, numbers and plain symbols; symbols that are new go to `symbols`.
  void CheckShape(const TensorInfo& expected, const Tensor& tensor, Symbols& symbols) const {
    const std::string name = "input '" + expected.name + "'";
    if (tensor.dtype() != expected.dtype) {
      Refuse(name + ": expected " + std::string(DTypeName(expected.dtype)) + ", got " +
             std::string(DTypeName(tensor.dtype())));
    }
    const std::string shapes = Shapes(expected, tensor);
    if (tensor.shape().size() != expected.shape.size()) Refuse(shapes);
    for (std::size_t d = 0; d < expected.shape.size(); ++d) {
      const std::int64_t got = tensor.shape()[d];
      if (const auto number = Number(expected.shape[d])) {
        if (*number != got) Refuse(shapes);
      } else if (IsSymbol(expected.shape[d])) {
        const auto [seen, fresh] = symbols.try_emplace(expected.shape[d], Symbol{got, expected.name});
        if (!fresh && seen->second.value != got) {
          Refuse(shapes + ", where '" + expected.shape[d] + "' is " + std::to_string(seen->second.value) +
                 " in input '" + seen->second.input + "'");
        }
      }
    }
  }

  // Dimensions that are sums: the engine would fail on them at some node, and keep what it computed up to there.
  Held CheckSums(const NamedTensors& given, const Held& held, Symbols& symbols) const {
    const auto tokens = symbols.find("tokens");
    if (tokens != symbols.end() && tokens->second.value < 1) {
      Refuse("input '" + tokens->second.input + "': 'tokens' is 0, the least is 1");
    }
    symbols.emplace(kPast, Symbol{held.past, ""});
    Held after = held;
    if (const auto batch = symbols.find("batch"); batch != symbols.end()) after.rows = batch->second.value;
    for (const TensorInfo& expected : info.inputs) {
      const Tensor& tensor = given.at(expected.name);
      for (std::size_t d = 0; d < expected.shape.size(); ++d) {
        const std::string& dimension = expected.shape[d];
        if (IsSymbol(dimension)) continue;
        const std::optional<std::int64_t> value = Evaluate(dimension, symbols);
        if (!value) continue;
        if (*value != tensor.shape()[d]) {
          Refuse(Shapes(expected, tensor) + ", where '" + dimension + "' is " + std::to_string(*value) +
                 " and 'past' is " + std::to_string(held.past));
        }
        const std::vector<std::string> terms = Split(dimension, '+');
        if (std::find(terms.begin(), terms.end(), kPast) != terms.end()) after.past = *value;
      }
    }
    return after;
  }

  void CheckValues(const NamedTensors& given, const std::string& name, std::int64_t greatest) const {
    const auto it = given.find(name);
    if (it == given.end()) return;  // a graph of another module: the manifest's inputs decide
    const auto check = [&](const auto values) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= 0 && values[i] <= greatest) continue;
        Refuse("input '" + name + "' has the value " + std::to_string(values[i]) + " at element " + std::to_string(i) +
               ", the limits are 0 and " + std::to_string(greatest));
      }
    };
    if (it->second.dtype() == DType::kI64) check(it->second.values<std::int64_t>());
    if (it->second.dtype() == DType::kI32) check(it->second.values<std::int32_t>());
  }

  // "input 'x': expected [batch,tokens], got [1]"
  static std::string Shapes(const TensorInfo& expected, const Tensor& tensor) {
    return "input '" + expected.name + "': expected " + ShapeText(expected.shape) + ", got " +
           ShapeString(tensor.shape());
  }

  [[noreturn]] void RefuseUnknown(const NamedTensors& given) const {
    for (const auto& [name, tensor] : given) {
      const auto is = [&](const TensorInfo& i) { return i.name == name; };
      if (std::none_of(info.inputs.begin(), info.inputs.end(), is)) {
        Refuse("there is no input '" + name + "'; its inputs are " + Names(info.inputs));
      }
    }
    Refuse("it has " + std::to_string(info.inputs.size()) + " inputs, " + std::to_string(given.size()) + " were given");
  }

  // Finds the engine's index of each of `expected` and compares what engine and manifest say.
  template <typename Describe>
  std::vector<std::size_t> Match(const char* kind, const std::vector<TensorInfo>& expected, std::size_t count,
                                 Describe describe) const {
    std::map<std::string, std::pair<std::size_t, mc_engine_port>> ports;
    for (std::size_t i = 0; i < count; ++i) {
      mc_engine_port port = {};
      Check(*engine, describe(variant, i, &port));
      ports[port.name] = {i, port};
    }
    std::vector<std::size_t> indices;
    const auto corrupt = [&](const std::string& what) {
      throw Error(ErrorCode::kCorrupt,
                  "module '" + info.name + "', variant '" + info.variant + "': " + kind + " " + what);
    };
    for (const TensorInfo& e : expected) {
      const auto it = ports.find(e.name);
      if (it == ports.end()) corrupt("'" + e.name + "' of the manifest is not in the artifact");
      const mc_engine_port& port = it->second.second;
      if (port.dtype != static_cast<int32_t>(e.dtype)) corrupt("'" + e.name + "' has another dtype in the artifact");
      if (static_cast<std::size_t>(port.rank) != e.shape.size())
        corrupt("'" + e.name + "' has another rank in the artifact");
      indices.push_back(it->second.first);
    }
    if (ports.size() != expected.size()) {
      corrupt("list of the manifest has " + std::to_string(expected.size()) + " entries, that of the artifact " +
              std::to_string(ports.size()));
    }
    return indices;
  }
};

LoadedModule OpenModule(const mc_engine_api& engine, const ModuleFiles& files, const EngineOptions& options,
                        ModuleInfo info, InputLimits limits) {
  auto impl = std::make_shared<LoadedModule::Impl>();
  impl->engine = &engine;
  impl->info = std::move(info);
  impl->limits = std::move(limits);
  const std::string label = "module '" + impl->info.name + "', variant '" + impl->info.variant + "'";
  const std::string threads = std::to_string(options.threads);
  const mc_engine_option settings[] = {{"precision", options.precision.c_str()}, {"threads", threads.c_str()}};
  mc_engine_source source = {};
  source.struct_size = sizeof source;
  source.label = label.c_str();
  source.artifact = files.artifact.c_str();
  if (!files.weights.empty()) {
    const auto mapped = MappedFile::Open(files.weights);
    source.weights = mapped->bytes().data();
    source.weights_size = mapped->bytes().size();
    source.weights_are_mapped = 1;
    impl->weights = mapped;
  }
  source.device = impl->info.device.c_str();
  source.options = settings;
  source.option_count = std::size(settings);
  Check(engine, engine.variant_open(&source, &impl->variant));
  impl->info.precision = engine.variant_precision(impl->variant);
  std::size_t inputs = 0, outputs = 0;
  Check(engine, engine.io_count(impl->variant, &inputs, &outputs));
  impl->inputs = impl->Match("input", impl->info.inputs, inputs, engine.input_port);
  impl->outputs = impl->Match("output", impl->info.outputs, outputs, engine.output_port);
  return LoadedModule(std::move(impl));
}

struct Session::Impl {
  std::shared_ptr<LoadedModule::Impl> module;
  mc_engine_context* context = nullptr;
  bool broken = false;  // a run failed: what the context holds is unknown
  Held held;

  explicit Impl(std::shared_ptr<LoadedModule::Impl> m) : module(std::move(m)), context(module->Take()) {}
  ~Impl() { module->GiveBack(context, !broken); }

  void Run(const NamedTensors& inputs) {
    const Held after = module->CheckInputs(inputs, held);
    if (broken) {
      throw Error(ErrorCode::kInvalidArgument, "module '" + module->info.name + "': this session failed before",
                  "reset it or take a new one");
    }
    const mc_engine_api& engine = *module->engine;
    broken = true;
    for (std::size_t i = 0; i < module->inputs.size(); ++i) {
      const mc_engine_tensor view = View(inputs.at(module->info.inputs[i].name));
      Check(engine, engine.bind_input(context, module->inputs[i], &view));
    }
    Check(engine, engine.run(context));
    broken = false;
    held = after;
  }

  void Reset() {
    if (broken) {
      // An engine that failed inside may have kept anything: half a state, the outputs of an earlier run.
      mc_engine_context* const fresh = module->Take();
      module->GiveBack(std::exchange(context, fresh), /*reusable=*/false);
    } else {
      Check(*module->engine, module->engine->reset(context));
    }
    broken = false;
    held = {};
  }

  NamedTensors Outputs(bool copy) {
    const mc_engine_api& engine = *module->engine;
    NamedTensors outputs;
    for (std::size_t i = 0; i < module->outputs.size(); ++i) {
      mc_engine_tensor view = {};
      Check(engine, engine.output(context, module->outputs[i], &view));
      Tensor tensor =
          Tensor::Borrow(static_cast<DType>(view.dtype), Shape(view.shape, view.shape + view.rank), view.data);
      if (copy) {
        Tensor owned(tensor.dtype(), tensor.shape());
        if (owned.bytes() > 0) std::memcpy(owned.data(), tensor.data(), owned.bytes());
        tensor = std::move(owned);
      }
      outputs.emplace(module->info.outputs[i].name, std::move(tensor));
    }
    return outputs;
  }
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

NamedTensors Session::run(const NamedTensors& inputs) {
  impl_->Run(inputs);
  return impl_->Outputs(/*copy=*/true);
}

NamedTensors Session::run_borrowed(const NamedTensors& inputs) {
  impl_->Run(inputs);
  return impl_->Outputs(/*copy=*/false);
}

void Session::reset() { impl_->Reset(); }

LoadedModule::LoadedModule(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

const ModuleInfo& LoadedModule::info() const noexcept { return impl_->info; }

NamedTensors LoadedModule::run(const NamedTensors& inputs) const { return session().run(inputs); }

Session LoadedModule::session() const { return Session(std::make_unique<Session::Impl>(impl_)); }

}  // namespace mconnect
