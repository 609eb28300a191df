#include "mconnect/c.h"

#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mconnect/mconnect.h"

using mconnect::Error;
using mconnect::ErrorCode;

struct mc_error {
  mc_code code;
  std::string message;
  std::string remedy;
};

struct mc_model {
  mconnect::Model model;
  std::string info;

  // Tasks are made once, at their first use.
  mutable std::mutex mutex;
  mutable std::optional<mconnect::TextEmbedding> embedding;
  mutable std::optional<mconnect::TextGeneration> generation;

  template <typename Task>
  Task Get(std::optional<Task>& task) const {
    std::lock_guard lock(mutex);
    if (!task) task.emplace(model.task<Task>());
    return *task;
  }
};

struct mc_embeddings {
  mconnect::Embeddings embeddings;
};

struct mc_generation {
  mconnect::Generation generation;
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

// Reported when there is no memory for another error; never freed.
mc_error out_of_memory = {MC_RESOURCE_EXHAUSTED, "out of memory", ""};

// Runs `body`; whatever it throws becomes an mc_error.
template <typename Body>
mc_error* Guarded(Body&& body) noexcept {
  try {
    try {
      body();
      return nullptr;
    } catch (const Error& e) {
      return new mc_error{static_cast<mc_code>(e.code()), e.message(), e.remedy()};
    } catch (const std::bad_alloc&) {
      return &out_of_memory;
    } catch (const std::exception& e) {
      return new mc_error{MC_INTERNAL, e.what(), ""};
    } catch (...) {
      return new mc_error{MC_INTERNAL, "an exception that is no std::exception", ""};
    }
  } catch (...) {
    return &out_of_memory;
  }
}

void NotNull(const void* pointer, const char* name) {
  if (pointer == nullptr) throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is NULL");
}

// The caller's options, or the defaults. `size` is that of the version it was compiled against.
template <typename Options>
Options Read(const Options* given, Options defaults, const char* name) {
  if (given == nullptr) return defaults;
  if (given->size < sizeof(size_t) || given->size > sizeof(Options)) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + ".size is " + std::to_string(given->size) + ", this library knows up to " +
                    std::to_string(sizeof(Options)),
                "initialize the options with their INIT macro");
  }
  std::memcpy(&defaults, given, given->size);
  return defaults;
}

std::string Text(const char* text, const char* otherwise = "") { return text != nullptr ? text : otherwise; }

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

mconnect::OutputFormat Format(const mc_generate_options& o) {
  using Kind = mconnect::OutputFormat::Kind;
  if ((o.json_schema != nullptr) + (o.regex != nullptr) + (o.choice_count > 0) > 1) {
    throw Error(ErrorCode::kInvalidArgument, "json_schema, regex and choices exclude each other");
  }
  if (o.json_schema != nullptr) return {Kind::kJsonSchema, o.json_schema, {}};
  if (o.regex != nullptr) return {Kind::kRegex, o.regex, {}};
  if (o.choice_count == 0) return {};
  NotNull(o.choices, "choices");
  mconnect::OutputFormat format = {Kind::kChoice, "", {}};
  for (size_t i = 0; i < o.choice_count; ++i) {
    NotNull(o.choices[i], "a choice");
    format.choices.emplace_back(o.choices[i]);
  }
  return format;
}

mc_error* Generate(const mc_model* model, const mconnect::Prompt& prompt, const mc_generate_options* given,
                   mc_text_callback callback, void* user, mc_generation** generation) {
  return Guarded([&] {
    NotNull(model, "model");
    NotNull(generation, "generation");
    const mc_generate_options o = Read<mc_generate_options>(given, MC_GENERATE_OPTIONS_INIT, "mc_generate_options");
    mconnect::GenerateOptions options;
    if (o.max_new_tokens != 0) options.max_new_tokens = o.max_new_tokens;
    if (o.stop_count > 0) NotNull(o.stop, "stop");
    for (size_t i = 0; i < o.stop_count; ++i) {
      NotNull(o.stop[i], "a stop string");
      options.stop.emplace_back(o.stop[i]);
    }
    if (o.greedy >= 0) options.greedy = o.greedy != 0;
    // A negative value stands for the default; NaN is no such value, and is refused where the options are checked.
    if (!(o.temperature < 0)) options.temperature = o.temperature;
    if (o.top_k >= 0) options.top_k = o.top_k;
    if (!(o.top_p < 0)) options.top_p = o.top_p;
    if (!(o.min_p < 0)) options.min_p = o.min_p;
    if (!(o.repetition_penalty < 0)) options.repetition_penalty = o.repetition_penalty;
    options.seed = o.seed;
    options.min_new_tokens = o.min_new_tokens;
    options.presence_penalty = o.presence_penalty;
    options.frequency_penalty = o.frequency_penalty;
    if (o.bias_count > 0) NotNull(o.bias_ids, "bias_ids");
    if (o.bias_count > 0) NotNull(o.bias_values, "bias_values");
    for (size_t i = 0; i < o.bias_count; ++i) options.logit_bias[o.bias_ids[i]] = o.bias_values[i];
    if (o.num_beams != 0) options.num_beams = o.num_beams;
    options.length_penalty = o.length_penalty;
    options.logprobs = o.logprobs != 0;
    options.format = Format(o);
    if (o.timeout_seconds != 0) options.timeout_seconds = o.timeout_seconds;
    std::stop_source stop;
    options.cancel = stop.get_token();
    mconnect::TextCallback forward;
    if (callback != nullptr) {
      forward = [&](const mconnect::TextChunk& chunk) {
        if (stop.stop_requested()) return;
        const std::string text(chunk.text);
        if (callback(text.c_str(), text.size(), user) != 0) stop.request_stop();
      };
    }
    *generation = new mc_generation{model->Get(model->generation).generate(prompt, options, forward)};
  });
}

}  // namespace

extern "C" {

mc_code mc_error_code(const mc_error* error) { return error != nullptr ? error->code : MC_OK; }
const char* mc_error_message(const mc_error* error) { return error != nullptr ? error->message.c_str() : ""; }
const char* mc_error_remedy(const mc_error* error) { return error != nullptr ? error->remedy.c_str() : ""; }
void mc_error_free(mc_error* error) {
  if (error != &out_of_memory) delete error;
}

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

mc_error* mc_generate(const mc_model* model, const char* prompt, const mc_generate_options* options,
                      mc_text_callback callback, void* user, mc_generation** generation) {
  if (prompt == nullptr) return Guarded([] { NotNull(nullptr, "prompt"); });
  mc_error* error = nullptr;
  mc_error* outer = Guarded([&] { error = Generate(model, prompt, options, callback, user, generation); });
  return outer != nullptr ? outer : error;
}

mc_error* mc_generate_ids(const mc_model* model, const int32_t* ids, size_t count, const mc_generate_options* options,
                          mc_text_callback callback, void* user, mc_generation** generation) {
  mc_error* error = nullptr;
  mc_error* outer = Guarded([&] {
    if (count > 0) NotNull(ids, "ids");
    error = Generate(model, std::vector<int32_t>(ids, ids + count), options, callback, user, generation);
  });
  return outer != nullptr ? outer : error;
}

mc_error* mc_chat(const mc_model* model, const char* messages, const mc_chat_options* given,
                  const mc_generate_options* options, mc_text_callback callback, void* user,
                  mc_generation** generation) {
  mc_error* error = nullptr;
  mc_error* outer = Guarded([&] {
    NotNull(model, "model");
    NotNull(messages, "messages");
    const mc_chat_options o = Read<mc_chat_options>(given, MC_CHAT_OPTIONS_INIT, "mc_chat_options");
    mconnect::ChatOptions chat;
    chat.tools = Text(o.tools);
    chat.variables = Text(o.variables);
    chat.template_name = Text(o.template_name);
    chat.continue_final_message = o.continue_final_message != 0;
    chat.allow_special_tokens_in_content = o.allow_special_tokens_in_content != 0;
    const auto ids = model->Get(model->generation).encode_chat(std::string_view(messages), chat);
    error = Generate(model, ids, options, callback, user, generation);
  });
  return outer != nullptr ? outer : error;
}

mc_error* mc_score(const mc_model* model, const char* text, double* log_likelihood, size_t* count) {
  return Guarded([&] {
    NotNull(model, "model");
    NotNull(text, "text");
    NotNull(log_likelihood, "log_likelihood");
    NotNull(count, "count");
    const mconnect::Score score = model->Get(model->generation).score(text);
    *log_likelihood = score.log_likelihood;
    *count = score.logprobs.size();
  });
}

const char* mc_generation_text(const mc_generation* g) { return g != nullptr ? g->generation.text.c_str() : ""; }
size_t mc_generation_text_size(const mc_generation* g) { return g != nullptr ? g->generation.text.size() : 0; }
const int32_t* mc_generation_ids(const mc_generation* g) { return g != nullptr ? g->generation.ids.data() : nullptr; }
size_t mc_generation_id_count(const mc_generation* g) { return g != nullptr ? g->generation.ids.size() : 0; }
float mc_generation_logprob(const mc_generation* g, size_t index) {
  return g != nullptr && index < g->generation.logprobs.size() ? g->generation.logprobs[index].logprob
                                                               : std::numeric_limits<float>::quiet_NaN();
}
size_t mc_generation_prompt_tokens(const mc_generation* g) {
  return g != nullptr ? static_cast<size_t>(g->generation.prompt_tokens) : 0;
}
mc_finish_reason mc_generation_finish_reason(const mc_generation* g) {
  return g != nullptr ? static_cast<mc_finish_reason>(g->generation.finish_reason) : MC_FINISH_CANCELLED;
}
void mc_generation_free(mc_generation* generation) { delete generation; }

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
