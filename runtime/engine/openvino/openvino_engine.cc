#include "runtime/engine/openvino/openvino_engine.h"

#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <openvino/runtime/compiled_model.hpp>
#include <openvino/runtime/infer_request.hpp>
#include <openvino/runtime/intel_cpu/properties.hpp>
#include <openvino/runtime/properties.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/log.h"
#include "runtime/engine/openvino/core.h"
#include "runtime/engine/openvino/gated_linear.h"
#include "runtime/engine/openvino/in_place_linear.h"
#include "runtime/engine/openvino/residency.h"

namespace mconnect {
namespace {

// A run on shapes that are new may pack weights for them; how many such runs of a variant are watched for it.
constexpr std::size_t kGuardedRuns = 16;

struct OpenedVariant {
  std::string label;
  std::string precision;
  const void* mapping = nullptr;  // null: nothing to give back
  std::size_t mapping_size = 0;
  std::mutex mutex;
  std::set<std::vector<ov::Shape>> guarded;  // shapes of the inputs of the runs that were watched
  ov::CompiledModel model;
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
};

struct Context {
  OpenedVariant* variant;
  ov::InferRequest request;
  std::vector<ov::Tensor> outputs;  // of the last run
};

// The contract's opaque types are these: engines in one process must not define them twice.
OpenedVariant* Own(mc_engine_variant* variant) { return reinterpret_cast<OpenedVariant*>(variant); }
const OpenedVariant* Own(const mc_engine_variant* variant) { return reinterpret_cast<const OpenedVariant*>(variant); }
Context* Own(mc_engine_context* context) { return reinterpret_cast<Context*>(context); }

thread_local std::string last_error;

// Runs `body`; exceptions become a code and the thread's last error.
template <typename Body>
int32_t Guarded(ErrorCode openvino_error, const std::string& doing, Body&& body) noexcept {
  try {
    try {
      body();
      return 0;
    } catch (const Error& e) {
      last_error = e.message() + (e.remedy().empty() ? "" : " (" + e.remedy() + ")");
      return static_cast<int32_t>(e.code());
    } catch (const std::bad_alloc&) {
      last_error = doing + ": out of memory";
      return static_cast<int32_t>(ErrorCode::kResourceExhausted);
    } catch (const std::exception& e) {
      last_error = doing + ": " + openvino::Explanation(e.what());
      return static_cast<int32_t>(openvino_error);
    }
  } catch (...) {  // no memory for the message
    last_error.clear();
    return static_cast<int32_t>(ErrorCode::kResourceExhausted);
  }
}

const char* EngineVersion() { return openvino::Version().c_str(); }

int32_t Devices(const mc_engine_device** devices, size_t* count) {
  return Guarded(ErrorCode::kInternal, "listing devices", [&] {
    static const mc_engine_device device = [] {
      static std::string name, reason;
      bool available = true;
      try {
        name = openvino::GetCpu().name;
      } catch (const Error& e) {
        available = false;
        reason = e.message();
      }
      return mc_engine_device{"cpu", name.c_str(), available, reason.c_str()};
    }();
    *devices = &device;
    *count = 1;
  });
}

struct Options {
  bool bf16 = false;
  int threads = 0;
};

Options ParseOptions(const mc_engine_source& source) {
  Options parsed;
  for (size_t i = 0; i < source.option_count; ++i) {
    const std::string key = source.options[i].key, value = source.options[i].value;
    const char* const end = value.data() + value.size();
    bool ok = false;
    if (key == "precision") {
      ok = value == "f32" || value == "bf16";
      parsed.bf16 = value == "bf16";
    } else if (key == "threads") {
      const auto result = std::from_chars(value.data(), end, parsed.threads);
      ok = result.ec == std::errc() && result.ptr == end && parsed.threads >= 0 && parsed.threads <= 1024;
    }
    if (!ok) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string(source.label) + ": the engine openvino has no option " + key + "=" + value,
                  "options are precision=f32|bf16 and threads=0...1024");
    }
  }
  return parsed;
}

std::string ReadText(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kNotFound, std::string(path) + ": cannot open");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) throw Error(ErrorCode::kIo, std::string(path) + ": cannot read");
  return text;
}

// Threads fixed to cores run 1.02 times as fast. But each process would take the same cores, the first ones: fewer
// threads than cores must stay free to move, or two processes share some cores while others idle.
bool TakesEveryCore(int threads) {
  cpu_set_t cores;
  return threads == 0 || (sched_getaffinity(0, sizeof cores, &cores) == 0 && threads >= CPU_COUNT(&cores));
}

ov::AnyMap Properties(const Options& options, bool bf16) {
  const ov::element::Type type = bf16 ? ov::element::bf16 : ov::element::f32;
  ov::AnyMap properties = {
      ov::hint::inference_precision(type),
      ov::hint::kv_cache_precision(type),  // the plugin's own default is u8
      ov::num_streams(1),
      ov::hint::enable_cpu_pinning(TakesEveryCore(options.threads)),
  };
  if (options.threads > 0) properties.insert(ov::inference_num_threads(options.threads));
  return properties;
}

// The port's own name where it has one: an IR may give a port several.
std::string PortName(const ov::Output<const ov::Node>& port) {
  const auto& names = port.get_names();
  return names.empty() ? port.get_node()->get_friendly_name() : *std::min_element(names.begin(), names.end());
}

std::unique_ptr<OpenedVariant> Open(const mc_engine_source& source) {
  if (std::string(source.device) != "cpu") {
    throw Error(ErrorCode::kUnavailable,
                std::string(source.label) + ": the engine openvino has no device '" + source.device + "'",
                "its device is 'cpu'");
  }
  const Options options = ParseOptions(source);
  openvino::Cpu& cpu = openvino::GetCpu();
  auto variant = std::make_unique<OpenedVariant>();
  variant->label = source.label;
  const bool bf16 = options.bf16 && cpu.bf16;
  variant->precision = bf16 ? "bf16" : "f32";
  if (options.bf16 && !bf16) {
    Log(LogLevel::kWarning, variant->label + ": " + cpu.name + " has no bf16 arithmetic, f32 is used");
  }
  if (source.weights_are_mapped) {
    variant->mapping = source.weights;
    variant->mapping_size = source.weights_size;
  }
  {
    ResidencyGuard guard(variant->mapping, variant->mapping_size);
    ov::Tensor weights;
    if (source.weights_size > 0) {
      // Read-only for OpenVINO, whose Tensor has no const form.
      weights = ov::Tensor(ov::element::u8, {source.weights_size}, const_cast<void*>(source.weights));
    }
    std::shared_ptr<ov::Model> model;
    try {
      model = cpu.core.read_model(ReadText(source.artifact), weights);
    } catch (const ov::Exception& e) {
      throw Error(ErrorCode::kCorrupt, std::string(source.label) + ": OpenVINO " + openvino::Version() +
                                           " cannot read " + source.artifact + ": " + openvino::Explanation(e.what()));
    }
    if (!bf16) {
      openvino::KeepGatesApart(*model);
      // Their weights are read in every run: giving the pages back would only make them fault again.
      if (openvino::ReadLinearsInPlace(*model) > 0) variant->mapping = nullptr;
    }
    variant->model = cpu.core.compile_model(model, cpu.device, Properties(options, bf16));
  }
  ::malloc_trim(0);  // what reading and compiling needed for a while
  for (const auto& port : variant->model.inputs()) variant->input_names.push_back(PortName(port));
  for (const auto& port : variant->model.outputs()) variant->output_names.push_back(PortName(port));
  return variant;
}

int32_t VariantOpen(const mc_engine_source* source, mc_engine_variant** variant) {
  return Guarded(ErrorCode::kUnsupported, std::string(source->label) + ": OpenVINO cannot compile it",
                 [&] { *variant = reinterpret_cast<mc_engine_variant*>(Open(*source).release()); });
}

void VariantClose(mc_engine_variant* variant) { delete Own(variant); }

const char* VariantPrecision(const mc_engine_variant* variant) { return Own(variant)->precision.c_str(); }

int32_t IoCount(const mc_engine_variant* variant, size_t* inputs, size_t* outputs) {
  *inputs = Own(variant)->input_names.size();
  *outputs = Own(variant)->output_names.size();
  return 0;
}

int32_t Describe(const OpenedVariant& variant, const std::vector<ov::Output<const ov::Node>>& ports,
                 const std::vector<std::string>& names, size_t index, mc_engine_port* out) {
  return Guarded(ErrorCode::kInternal, variant.label + ": describing port " + std::to_string(index), [&] {
    const auto& port = ports.at(index);
    const ov::PartialShape& shape = port.get_partial_shape();
    if (shape.rank().is_dynamic() || shape.size() > MC_ENGINE_MAX_RANK) {
      throw Error(ErrorCode::kUnsupported, variant.label + ": '" + names[index] +
                                               "' has a rank that is not fixed or above " +
                                               std::to_string(MC_ENGINE_MAX_RANK));
    }
    out->name = names[index].c_str();
    out->dtype = static_cast<int32_t>(openvino::FromOpenVino(port.get_element_type()));
    out->rank = static_cast<int32_t>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i) out->shape[i] = shape[i].is_static() ? shape[i].get_length() : -1;
  });
}

int32_t InputPort(const mc_engine_variant* variant, size_t index, mc_engine_port* port) {
  return Describe(*Own(variant), Own(variant)->model.inputs(), Own(variant)->input_names, index, port);
}

int32_t OutputPort(const mc_engine_variant* variant, size_t index, mc_engine_port* port) {
  return Describe(*Own(variant), Own(variant)->model.outputs(), Own(variant)->output_names, index, port);
}

int32_t ContextCreate(mc_engine_variant* opened, mc_engine_context** context) {
  OpenedVariant* const variant = Own(opened);
  return Guarded(ErrorCode::kInternal, variant->label + ": creating an execution context", [&] {
    auto made = std::make_unique<Context>();
    made->variant = variant;
    made->request = variant->model.create_infer_request();
    made->outputs.resize(variant->output_names.size());
    *context = reinterpret_cast<mc_engine_context*>(made.release());
  });
}

void ContextFree(mc_engine_context* context) { delete Own(context); }

ov::Tensor Wrap(const mc_engine_tensor& tensor) {
  const ov::element::Type type = openvino::ToOpenVino(static_cast<DType>(tensor.dtype));
  const ov::Shape shape(tensor.shape, tensor.shape + tensor.rank);
  if (ov::shape_size(shape) == 0)
    return ov::Tensor(type, shape);  // OpenVINO refuses the null that such a tensor may have
  return ov::Tensor(type, shape, tensor.data);
}

int32_t BindInput(mc_engine_context* context, size_t index, const mc_engine_tensor* tensor) {
  const OpenedVariant& variant = *Own(context)->variant;
  return Guarded(ErrorCode::kInvalidArgument, variant.label + ": binding input " + std::to_string(index), [&] {
    variant.input_names.at(index);
    Own(context)->request.set_input_tensor(index, Wrap(*tensor));
  });
}

int32_t BindOutput(mc_engine_context* context, size_t index, const mc_engine_tensor* tensor) {
  const OpenedVariant& variant = *Own(context)->variant;
  return Guarded(ErrorCode::kInvalidArgument, variant.label + ": binding output " + std::to_string(index), [&] {
    variant.output_names.at(index);
    const auto& port = variant.model.outputs()[index];
    // An owned tensor takes the shape of each run.
    Own(context)->request.set_output_tensor(
        index,
        tensor ? Wrap(*tensor) : ov::Tensor(port.get_element_type(), ov::Shape(port.get_partial_shape().size(), 0)));
  });
}

// Whether a run on the bound inputs may pack weights; counts it as done.
bool MayPack(OpenedVariant& variant, ov::InferRequest& request) {
  if (variant.mapping == nullptr) return false;
  std::vector<ov::Shape> shapes;
  for (std::size_t i = 0; i < variant.input_names.size(); ++i)
    shapes.push_back(request.get_input_tensor(i).get_shape());
  const std::lock_guard lock(variant.mutex);
  return variant.guarded.size() < kGuardedRuns && variant.guarded.insert(std::move(shapes)).second;
}

int32_t Run(mc_engine_context* context) {
  Context& own = *Own(context);
  OpenedVariant& variant = *own.variant;
  return Guarded(ErrorCode::kInvalidArgument, variant.label + ": OpenVINO cannot run it on these inputs", [&] {
    std::optional<ResidencyGuard> guard;
    if (MayPack(variant, own.request)) guard.emplace(variant.mapping, variant.mapping_size);
    std::ranges::fill(own.outputs, ov::Tensor());  // those of an earlier run, should this one fail
    own.request.infer();
    for (size_t i = 0; i < own.outputs.size(); ++i) own.outputs[i] = own.request.get_output_tensor(i);
  });
}

int32_t Output(mc_engine_context* context, size_t index, mc_engine_tensor* out) {
  return Guarded(ErrorCode::kInternal, Own(context)->variant->label + ": reading output " + std::to_string(index), [&] {
    ov::Tensor& tensor = Own(context)->outputs.at(index);
    if (!tensor)
      throw Error(ErrorCode::kInvalidArgument, Own(context)->variant->label + ": an output was asked for before a run");
    out->dtype = static_cast<int32_t>(openvino::FromOpenVino(tensor.get_element_type()));
    const ov::Shape& shape = tensor.get_shape();
    if (shape.size() > MC_ENGINE_MAX_RANK) throw Error(ErrorCode::kUnsupported, "an output has too many dimensions");
    out->rank = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), out->shape);
    out->data = tensor.get_size() == 0 ? nullptr : tensor.data();
  });
}

int32_t Reset(mc_engine_context* context) {
  return Guarded(ErrorCode::kInternal, Own(context)->variant->label + ": emptying the state",
                 [&] { Own(context)->request.reset_state(); });
}

const char* LastError() { return last_error.c_str(); }

constexpr mc_engine_api kApi = {
    MC_ENGINE_ABI, sizeof(mc_engine_api),
    "openvino",    EngineVersion,
    Devices,       VariantOpen,
    VariantClose,  VariantPrecision,
    IoCount,       InputPort,
    OutputPort,    ContextCreate,
    ContextFree,   BindInput,
    BindOutput,    Run,
    Output,        Reset,
    LastError,
};

}  // namespace

const mc_engine_api* OpenVinoEngine() noexcept { return &kApi; }

}  // namespace mconnect
