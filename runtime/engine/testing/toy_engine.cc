#include "runtime/engine/testing/toy_engine.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mconnect/dtype.h"
#include "mconnect/error.h"

namespace mconnect {
namespace {

struct ToyVariant {
  std::string kind;
  std::int64_t size;
  std::vector<mc_engine_port> inputs, outputs;
};

struct Context {
  ToyVariant* variant;
  std::vector<mc_engine_tensor> inputs;
  std::vector<float> output;
  mc_engine_tensor view = {};
  std::optional<mc_engine_tensor> bound;
  bool failed = false;      // a run did
  bool has_output = false;  // of the last run
  // One entry a row of the cache: the token of each column, and whether the mask shows it.
  std::vector<std::vector<std::int64_t>> ids, masks;
};

ToyVariant* Own(mc_engine_variant* variant) { return reinterpret_cast<ToyVariant*>(variant); }
const ToyVariant* Own(const mc_engine_variant* variant) { return reinterpret_cast<const ToyVariant*>(variant); }
Context* Own(mc_engine_context* context) { return reinterpret_cast<Context*>(context); }

thread_local std::string last_error;
std::atomic<std::int64_t> contexts = 0, runs = 0, tokens_run = 0;

int32_t Fail(ErrorCode code, const std::string& message) {
  last_error = message;
  return static_cast<int32_t>(code);
}

mc_engine_port Port(const char* name, DType dtype, std::vector<int64_t> shape) {
  mc_engine_port port = {};
  port.name = name;
  port.dtype = static_cast<int32_t>(dtype);
  port.rank = static_cast<int32_t>(shape.size());
  std::copy(shape.begin(), shape.end(), port.shape);
  return port;
}

const char* Version() { return "1.2.3"; }

int32_t Devices(const mc_engine_device** devices, size_t* count) {
  static const mc_engine_device list[] = {{"cpu", "toy", 1, ""}, {"gpu:0", "toy", 0, "no driver"}};
  *devices = list;
  *count = 2;
  return 0;
}

int32_t VariantOpen(const mc_engine_source* source, mc_engine_variant** out) {
  std::ifstream file(source->artifact);
  auto variant = std::make_unique<ToyVariant>();
  file >> variant->kind >> variant->size;
  if (variant->kind == "encoder") {
    variant->inputs = {Port("input_ids", DType::kI64, {-1, -1}), Port("attention_mask", DType::kI64, {-1, -1})};
    variant->outputs = {Port("last_hidden_state", DType::kF32, {-1, -1, variant->size})};
  } else if (variant->kind == "decoder") {
    variant->inputs = {Port("input_ids", DType::kI64, {-1, -1}), Port("attention_mask", DType::kI64, {-1, -1}),
                       Port("position_ids", DType::kI64, {-1, -1}), Port("beam_idx", DType::kI32, {-1}),
                       Port("logits_to_keep", DType::kI64, {1})};
    variant->outputs = {Port("logits", DType::kF32, {-1, -1, variant->size})};
  } else {
    return Fail(ErrorCode::kUnsupported,
                std::string(source->label) + ": the toy engine cannot open '" + variant->kind + "'");
  }
  *out = reinterpret_cast<mc_engine_variant*>(variant.release());
  return 0;
}

void VariantClose(mc_engine_variant* variant) { delete Own(variant); }
const char* VariantPrecision(const mc_engine_variant*) { return "f32"; }

int32_t IoCount(const mc_engine_variant* variant, size_t* inputs, size_t* outputs) {
  *inputs = Own(variant)->inputs.size();
  *outputs = Own(variant)->outputs.size();
  return 0;
}

int32_t InputPort(const mc_engine_variant* variant, size_t index, mc_engine_port* port) {
  *port = Own(variant)->inputs.at(index);
  return 0;
}

int32_t OutputPort(const mc_engine_variant* variant, size_t index, mc_engine_port* port) {
  *port = Own(variant)->outputs.at(index);
  return 0;
}

int32_t ContextCreate(mc_engine_variant* variant, mc_engine_context** context) {
  auto own = std::make_unique<Context>();
  own->variant = Own(variant);
  own->inputs.resize(own->variant->inputs.size());
  *context = reinterpret_cast<mc_engine_context*>(own.release());
  ++contexts;
  return 0;
}

void ContextFree(mc_engine_context* context) {
  if (context != nullptr) --contexts;
  delete Own(context);
}

int32_t BindInput(mc_engine_context* context, size_t index, const mc_engine_tensor* tensor) {
  Own(context)->inputs.at(index) = *tensor;
  return 0;
}

int32_t BindOutput(mc_engine_context* context, size_t, const mc_engine_tensor* tensor) {
  Own(context)->bound = tensor != nullptr ? std::optional(*tensor) : std::nullopt;
  return 0;
}

const std::int64_t* I64(const mc_engine_tensor& tensor) { return static_cast<const std::int64_t*>(tensor.data); }

void RunEncoder(Context& c) {
  const std::int64_t batch = c.inputs[0].shape[0], tokens = c.inputs[0].shape[1], hidden = c.variant->size;
  c.output.assign(static_cast<size_t>(batch * tokens * hidden), 1e9f);
  for (std::int64_t i = 0; i < batch * tokens; ++i) {
    if (I64(c.inputs[1])[i] == 0) continue;
    for (std::int64_t h = 0; h < hidden; ++h) {
      c.output[static_cast<size_t>(i * hidden + h)] =
          static_cast<float>(I64(c.inputs[0])[i]) + static_cast<float>(h) / 8;
    }
  }
  c.view.rank = 3;
  c.view.shape[0] = batch, c.view.shape[1] = tokens, c.view.shape[2] = hidden;
}

std::string RunDecoder(Context& c) {
  const std::int64_t batch = c.inputs[0].shape[0], tokens = c.inputs[0].shape[1], vocab = c.variant->size;
  if (c.ids.empty()) c.ids.resize(static_cast<size_t>(batch)), c.masks.resize(static_cast<size_t>(batch));
  std::vector<std::vector<std::int64_t>> ids, masks;
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto row = static_cast<size_t>(static_cast<const std::int32_t*>(c.inputs[3].data)[b]);
    if (row >= c.ids.size()) return "beam_idx names a row that the cache does not have";
    ids.push_back(c.ids[row]), masks.push_back(c.masks[row]);
  }
  const std::int64_t total = c.inputs[1].shape[1], asked = I64(c.inputs[4])[0];
  const std::int64_t kept = asked == 0 ? tokens : std::min(asked, tokens);
  c.output.assign(static_cast<size_t>(batch * kept * vocab), 0.0f);
  for (std::int64_t b = 0; b < batch; ++b) {
    auto& columns = ids[static_cast<size_t>(b)];
    auto& mask = masks[static_cast<size_t>(b)];
    if (static_cast<std::int64_t>(mask.size()) + tokens != total) return "attention_mask is not past+tokens long";
    const std::int64_t* now = I64(c.inputs[1]) + b * total;
    std::vector<std::int64_t> row;  // what the mask shows
    for (size_t column = 0; column < mask.size(); ++column) {
      if (now[column] > mask[column]) return "attention_mask shows what it hid";
      mask[column] = now[column];
      if (now[column] != 0) row.push_back(columns[column]);
    }
    for (std::int64_t t = 0; t < tokens; ++t) {
      const bool attended = now[mask.size()] != 0;
      mask.push_back(attended);
      columns.push_back(I64(c.inputs[0])[b * tokens + t]);
      if (attended) {
        if (I64(c.inputs[2])[b * tokens + t] != static_cast<std::int64_t>(row.size()))
          return "position_ids do not count the tokens";
        row.push_back(columns.back());
      }
      if (t < tokens - kept || row.empty()) continue;
      const std::int64_t next = ToyNext(row, vocab);
      float* logits = &c.output[static_cast<size_t>((b * kept + t - (tokens - kept)) * vocab)];
      for (std::int64_t v = 0; v < vocab; ++v) logits[v] = 8.0f - static_cast<float>(std::abs(v - next));
    }
  }
  tokens_run += batch * tokens;
  c.ids = std::move(ids), c.masks = std::move(masks);
  c.view.rank = 3;
  c.view.shape[0] = batch, c.view.shape[1] = kept, c.view.shape[2] = vocab;
  return "";
}

int32_t Run(mc_engine_context* context) {
  Context& c = *Own(context);
  ++runs;
  // As an engine may be that fails inside: nothing can be done with the context any more.
  if (c.failed) return Fail(ErrorCode::kInternal, "toy: a run on this context failed before");
  c.has_output = false;
  if (c.variant->kind == "encoder") {
    RunEncoder(c);
  } else if (const std::string wrong = RunDecoder(c); !wrong.empty()) {
    c.failed = true;
    return Fail(ErrorCode::kInvalidArgument, "toy decoder: " + wrong);
  }
  c.has_output = true;
  c.view.dtype = static_cast<int32_t>(DType::kF32);
  c.view.data = c.output.data();
  if (c.bound) {
    std::copy(c.output.begin(), c.output.end(), static_cast<float*>(c.bound->data));
    c.view.data = c.bound->data;
  }
  return 0;
}

int32_t Output(mc_engine_context* context, size_t, mc_engine_tensor* tensor) {
  if (!Own(context)->has_output) return Fail(ErrorCode::kInvalidArgument, "toy: there was no run that gave an output");
  *tensor = Own(context)->view;
  return 0;
}

int32_t Reset(mc_engine_context* context) {
  Own(context)->ids.clear();
  Own(context)->masks.clear();
  return 0;
}

const char* LastError() { return last_error.c_str(); }

constexpr mc_engine_api kApi = {
    MC_ENGINE_ABI, sizeof(mc_engine_api),
    "toy",         Version,
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

const mc_engine_api* ToyEngine() noexcept { return &kApi; }

std::int64_t ToyNext(std::span<const std::int64_t> tokens, std::int64_t vocabulary) {
  std::uint64_t hash = 1469598103934665603u;  // FNV-1a over the tokens
  for (const std::int64_t token : tokens) hash = (hash ^ static_cast<std::uint64_t>(token)) * 1099511628211u;
  return static_cast<std::int64_t>((hash >> 17) % static_cast<std::uint64_t>(vocabulary));
}

std::int64_t ToyContexts() noexcept { return contexts; }
std::int64_t ToyRuns() noexcept { return runs; }
std::int64_t ToyTokens() noexcept { return tokens_run; }

}  // namespace mconnect

extern "C" const mc_engine_api* mc_engine_entry(uint32_t abi) {
  return abi == MC_ENGINE_ABI ? mconnect::ToyEngine() : nullptr;
}
