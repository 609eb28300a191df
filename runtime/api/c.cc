#include "mconnect/c.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "mconnect/mconnect.h"
#include "runtime/api/c_handles.h"

using mconnect::Error;
using mconnect::ErrorCode;
using mconnect::c::Guarded;
using mconnect::c::NotNull;
using mconnect::c::Read;
using mconnect::c::Text;

struct mc_embeddings {
  mconnect::Embeddings embeddings;
};

struct mc_session {
  mconnect::Session session;
};

struct mc_tensors {
  mconnect::NamedTensors tensors;
  std::vector<mc_tensor> views;

  explicit mc_tensors(mconnect::NamedTensors outputs) : tensors(std::move(outputs)) {
    for (const auto& [name, tensor] : tensors) {
      views.push_back({name.c_str(), static_cast<mc_dtype>(tensor.dtype()), tensor.shape().size(),
                       tensor.shape().data(), tensor.data()});
    }
  }
};

namespace {

// Dimensions of a tensor, far above what any module takes: a rank that nobody set is found before it is believed.
constexpr size_t kMaxRank = 32;

nlohmann::json Describe(const std::vector<mconnect::TensorInfo>& infos) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& i : infos)
    list.push_back({{"name", i.name}, {"dtype", mconnect::DTypeName(i.dtype)}, {"shape", i.shape}});
  return list;
}

std::string Describe(const mconnect::ModelInfo& info) {
  nlohmann::json modules = nlohmann::json::object();
  for (const auto& m : info.modules) {
    modules[m.name] = {{"inputs", Describe(m.inputs)}, {"outputs", Describe(m.outputs)}, {"stateful", m.stateful},
                       {"engine", m.engine},           {"variant", m.variant},           {"device", m.device},
                       {"precision", m.precision}};
  }
  return nlohmann::json{
      {"id", info.id},      {"name", info.name},     {"family", info.family},       {"tasks", info.tasks},
      {"modules", modules}, {"device", info.device}, {"precision", info.precision}, {"threads", info.threads}}
      .dump();
}

mconnect::NamedTensors Inputs(const mc_tensor* inputs, size_t count) {
  if (count > 0) NotNull(inputs, "inputs");
  mconnect::NamedTensors tensors;
  for (size_t i = 0; i < count; ++i) {
    const mc_tensor& in = inputs[i];
    const std::string place = "inputs[" + std::to_string(i) + "]";
    NotNull(in.name, (place + ".name").c_str());
    if (in.dtype < MC_BOOL || in.dtype > MC_F64) {
      throw Error(ErrorCode::kInvalidArgument,
                  place + ".dtype is " + std::to_string(in.dtype) + ", which is no mc_dtype");
    }
    if (in.rank > kMaxRank) {
      throw Error(ErrorCode::kInvalidArgument,
                  place + ".rank is " + std::to_string(in.rank) + ", the limit is " + std::to_string(kMaxRank));
    }
    if (in.rank > 0) NotNull(in.shape, (place + ".shape").c_str());
    mconnect::Shape shape(in.shape, in.shape + in.rank);
    if (mconnect::NumElements(shape) > 0) NotNull(in.data, (place + ".data").c_str());
    const auto tensor =
        mconnect::Tensor::Borrow(static_cast<mconnect::DType>(in.dtype), std::move(shape), const_cast<void*>(in.data));
    if (!tensors.emplace(in.name, tensor).second) {
      throw Error(ErrorCode::kInvalidArgument, place + ": the input '" + in.name + "' is given twice");
    }
  }
  return tensors;
}

}  // namespace

extern "C" {

mc_code mc_error_code(const mc_error* error) { return error != nullptr ? error->code : MC_OK; }
const char* mc_error_message(const mc_error* error) { return error != nullptr ? error->message.c_str() : ""; }
const char* mc_error_remedy(const mc_error* error) { return error != nullptr ? error->remedy.c_str() : ""; }
void mc_error_free(mc_error* error) {
  if (error != &mconnect::c::out_of_memory) delete error;
}

mc_error* mc_cancel_new(mc_cancel** cancel) {
  return Guarded([&] {
    NotNull(cancel, "cancel");
    *cancel = new mc_cancel;
  });
}
void mc_cancel_request(mc_cancel* cancel) {
  if (cancel != nullptr) cancel->source.request_stop();
}
void mc_cancel_free(mc_cancel* cancel) { delete cancel; }

mc_error* mc_model_load(const char* path, const mc_load_options* given, mc_model** model) {
  return Guarded([&] {
    NotNull(path, "path");
    NotNull(model, "model");
    const mc_load_options o = Read<mc_load_options>(given, MC_LOAD_OPTIONS_INIT, "mc_load_options");
    mconnect::LoadOptions options;
    options.device = Text(o.device, "auto");
    options.precision = Text(o.precision, "f32");
    options.threads = o.threads;
    options.store = Text(o.store);
    mconnect::Model loaded = mconnect::Model::load(path, options);
    std::string info = Describe(loaded.info());
    *model = new mc_model{std::move(loaded), std::move(info), {}, {}, {}};
  });
}

void mc_model_free(mc_model* model) { delete model; }
const char* mc_model_info(const mc_model* model) { return model != nullptr ? model->info.c_str() : ""; }

mc_error* mc_embed(const mc_model* model, const char* const* texts, size_t count, const mc_embed_options* given,
                   mc_embeddings** embeddings) {
  return Guarded([&] {
    NotNull(model, "model");
    NotNull(embeddings, "embeddings");
    if (count > 0) NotNull(texts, "texts");
    const mc_embed_options o = Read<mc_embed_options>(given, MC_EMBED_OPTIONS_INIT, "mc_embed_options");
    mconnect::EmbedOptions options;
    if (o.batch_size != 0) options.batch_size = o.batch_size;
    if (o.normalize >= 0) options.normalize = o.normalize != 0;
    if (o.max_tokens != 0) options.max_tokens = o.max_tokens;
    if (o.cancel != nullptr) options.cancel = o.cancel->source.get_token();
    std::vector<std::string> list;
    list.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      NotNull(texts[i], ("texts[" + std::to_string(i) + "]").c_str());
      list.emplace_back(texts[i]);
    }
    *embeddings = new mc_embeddings{model->Get(model->embedding).embed(list, options)};
  });
}

size_t mc_embeddings_count(const mc_embeddings* e) {
  return e != nullptr ? static_cast<size_t>(e->embeddings.count()) : 0;
}
size_t mc_embeddings_dimension(const mc_embeddings* e) {
  return e != nullptr ? static_cast<size_t>(e->embeddings.dimension()) : 0;
}
const float* mc_embeddings_data(const mc_embeddings* e) {
  return e != nullptr ? static_cast<const float*>(e->embeddings.vectors.data()) : nullptr;
}
void mc_embeddings_free(mc_embeddings* embeddings) { delete embeddings; }

mc_error* mc_module_run(const mc_model* model, const char* module, const mc_tensor* inputs, size_t count,
                        mc_tensors** outputs) {
  return Guarded([&] {
    NotNull(model, "model");
    NotNull(module, "module");
    NotNull(outputs, "outputs");
    *outputs = new mc_tensors(model->model.module(module).run(Inputs(inputs, count)));
  });
}

mc_error* mc_session_new(const mc_model* model, const char* module, mc_session** session) {
  return Guarded([&] {
    NotNull(model, "model");
    NotNull(module, "module");
    NotNull(session, "session");
    *session = new mc_session{model->model.module(module).session()};
  });
}

mc_error* mc_session_run(mc_session* session, const mc_tensor* inputs, size_t count, mc_tensors** outputs) {
  return Guarded([&] {
    NotNull(session, "session");
    NotNull(outputs, "outputs");
    *outputs = new mc_tensors(session->session.run(Inputs(inputs, count)));
  });
}

mc_error* mc_session_reset(mc_session* session) {
  return Guarded([&] {
    NotNull(session, "session");
    session->session.reset();
  });
}

void mc_session_free(mc_session* session) { delete session; }

size_t mc_tensors_count(const mc_tensors* tensors) { return tensors != nullptr ? tensors->views.size() : 0; }
const mc_tensor* mc_tensors_at(const mc_tensors* tensors, size_t index) {
  return tensors != nullptr && index < tensors->views.size() ? &tensors->views[index] : nullptr;
}
const mc_tensor* mc_tensors_get(const mc_tensors* tensors, const char* name) {
  if (tensors == nullptr || name == nullptr) return nullptr;
  for (const mc_tensor& view : tensors->views) {
    if (std::strcmp(view.name, name) == 0) return &view;
  }
  return nullptr;
}
void mc_tensors_free(mc_tensors* tensors) { delete tensors; }

}  // extern "C"
