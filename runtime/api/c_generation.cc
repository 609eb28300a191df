// The C interface of text generation.
#include <algorithm>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mconnect/c.h"
#include "mconnect/mconnect.h"
#include "runtime/api/c_handles.h"

using mconnect::Error;
using mconnect::ErrorCode;
using mconnect::c::Guarded;
using mconnect::c::NotNull;
using mconnect::c::Read;
using mconnect::c::Text;

struct mc_generation {
  mconnect::Generation generation;
};

struct mc_generations {
  std::vector<mc_generation> list;
};

struct mc_text_session {
  mconnect::TextGeneration model;
  mconnect::TextSession session;
};

struct mc_score {
  mconnect::Score score;
};

namespace {

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

mconnect::EarlyStopping Early(mc_early_stopping value) {
  switch (value) {
    case MC_EARLY_STOPPING_NO:
      return mconnect::EarlyStopping::kHeuristic;
    case MC_EARLY_STOPPING_YES:
      return mconnect::EarlyStopping::kYes;
    case MC_EARLY_STOPPING_NEVER:
      return mconnect::EarlyStopping::kNever;
  }
  throw Error(ErrorCode::kInvalidArgument,
              "early_stopping is " + std::to_string(value) + ", which is no mc_early_stopping");
}

// All but `cancel`.
mconnect::GenerateOptions Options(const mc_generate_options& o) {
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
  if (o.n != 0) options.n = o.n;
  if (o.num_beams != 0) options.num_beams = o.num_beams;
  options.length_penalty = o.length_penalty;
  options.early_stopping = Early(o.early_stopping);
  options.logprobs = o.logprobs != 0;
  options.top_logprobs = o.top_logprobs;
  options.format = Format(o);
  options.ignore_eos = o.ignore_eos != 0;
  if (o.timeout_seconds != 0) options.timeout_seconds = o.timeout_seconds;
  return options;
}

mconnect::ChatOptions Chat(const mc_chat_options* given) {
  const mc_chat_options o = Read<mc_chat_options>(given, MC_CHAT_OPTIONS_INIT, "mc_chat_options");
  mconnect::ChatOptions chat;
  chat.tools = Text(o.tools);
  chat.variables = Text(o.variables);
  chat.template_name = Text(o.template_name);
  chat.continue_final_message = o.continue_final_message != 0;
  chat.allow_special_tokens_in_content = o.allow_special_tokens_in_content != 0;
  chat.add_generation_prompt = o.add_generation_prompt != 0;
  return chat;
}

mconnect::Prompt Prompt(const mc_prompt& prompt, const std::string& name) {
  if (prompt.text != nullptr) return mconnect::Prompt(prompt.text);
  if (prompt.id_count > 0) NotNull(prompt.ids, (name + ".ids").c_str());
  return mconnect::Prompt(std::vector<int32_t>(prompt.ids, prompt.ids + prompt.id_count));
}

// A generation with its options and a callback(index, text, size) that stops it; `run` calls the task.
template <typename Callback, typename Run>
auto Generate(const mc_generate_options* given, const Callback& callback, const Run& run) {
  const mc_generate_options o = Read<mc_generate_options>(given, MC_GENERATE_OPTIONS_INIT, "mc_generate_options");
  mconnect::GenerateOptions options = Options(o);
  std::stop_source stop;  // of this call: what `cancel` or the callback asks for
  options.cancel = stop.get_token();
  const auto forward = [&] { stop.request_stop(); };
  std::optional<std::stop_callback<decltype(forward)>> link;
  if (o.cancel != nullptr) link.emplace(o.cancel->source.get_token(), forward);
  return run(options, [&](const mconnect::TextChunk& chunk) {
    if (stop.stop_requested()) return;
    const std::string text(chunk.text);
    if (callback(chunk.index, text.c_str(), text.size()) != 0) stop.request_stop();
  });
}

// generate() of a task or a session for one prompt, which `prompt` makes.
template <typename Task, typename MakePrompt>
mc_error* GenerateOne(Task&& task, const MakePrompt& prompt, const mc_generate_options* options,
                      mc_text_callback callback, void* user, mc_generation** generation) {
  return Guarded([&] {
    NotNull(generation, "generation");
    const auto forward = [&](size_t, const char* text, size_t size) {
      return callback != nullptr ? callback(text, size, user) : 0;
    };
    *generation = new mc_generation{
        Generate(options, forward, [&](const auto& o, const auto& c) { return task().generate(prompt(), o, c); })};
  });
}

auto TaskOf(const mc_model* model) {
  return [model] {
    NotNull(model, "model");
    return model->Get(model->generation);
  };
}

}  // namespace

extern "C" {

mc_error* mc_generate(const mc_model* model, const char* prompt, const mc_generate_options* options,
                      mc_text_callback callback, void* user, mc_generation** generation) {
  const auto make = [&] {
    NotNull(prompt, "prompt");
    return mconnect::Prompt(prompt);
  };
  return GenerateOne(TaskOf(model), make, options, callback, user, generation);
}

mc_error* mc_generate_ids(const mc_model* model, const int32_t* ids, size_t count, const mc_generate_options* options,
                          mc_text_callback callback, void* user, mc_generation** generation) {
  const auto make = [&] {
    if (count > 0) NotNull(ids, "ids");
    return mconnect::Prompt(std::vector<int32_t>(ids, ids + count));
  };
  return GenerateOne(TaskOf(model), make, options, callback, user, generation);
}

mc_error* mc_chat(const mc_model* model, const char* messages, const mc_chat_options* chat,
                  const mc_generate_options* options, mc_text_callback callback, void* user,
                  mc_generation** generation) {
  const auto make = [&] {
    NotNull(messages, "messages");
    return mconnect::Prompt(TaskOf(model)().encode_chat(std::string_view(messages), Chat(chat)));
  };
  return GenerateOne(TaskOf(model), make, options, callback, user, generation);
}

mc_error* mc_generate_batch(const mc_model* model, const mc_prompt* prompts, size_t count,
                            const mc_generate_options* options, mc_batch_callback callback, void* user,
                            mc_generations** generations) {
  return Guarded([&] {
    NotNull(generations, "generations");
    if (count > 0) NotNull(prompts, "prompts");
    std::vector<mconnect::Prompt> list;
    for (size_t i = 0; i < count; ++i) list.push_back(Prompt(prompts[i], "prompts[" + std::to_string(i) + "]"));
    const auto forward = [&](size_t index, const char* text, size_t size) {
      return callback != nullptr ? callback(index, text, size, user) : 0;
    };
    auto result = std::make_unique<mc_generations>();
    for (mconnect::Generation& g : Generate(options, forward, [&](const auto&o, const auto&c) {
           return TaskOf(model)().generate_batch(list, o, c);
         })) {
      result->list.push_back({std::move(g)});
    }
    *generations = result.release();
  });
}

size_t mc_generations_count(const mc_generations* g) { return g != nullptr ? g->list.size() : 0; }
const mc_generation* mc_generations_at(const mc_generations* g, size_t index) {
  return g != nullptr && index < g->list.size() ? &g->list[index] : nullptr;
}
void mc_generations_free(mc_generations* generations) { delete generations; }

const char* mc_generation_text(const mc_generation* g) { return g != nullptr ? g->generation.text.c_str() : ""; }
size_t mc_generation_text_size(const mc_generation* g) { return g != nullptr ? g->generation.text.size() : 0; }
const int32_t* mc_generation_ids(const mc_generation* g) { return g != nullptr ? g->generation.ids.data() : nullptr; }
size_t mc_generation_id_count(const mc_generation* g) { return g != nullptr ? g->generation.ids.size() : 0; }
float mc_generation_logprob(const mc_generation* g, size_t index) {
  return g != nullptr && index < g->generation.logprobs.size() ? g->generation.logprobs[index].logprob
                                                               : std::numeric_limits<float>::quiet_NaN();
}
size_t mc_generation_top_logprobs(const mc_generation* g, size_t index, int32_t* ids, float* logprobs, size_t room) {
  if (g == nullptr || index >= g->generation.logprobs.size()) return 0;
  const auto& top = g->generation.logprobs[index].top;
  for (size_t i = 0; i < std::min(room, top.size()); ++i) {
    if (ids != nullptr) ids[i] = top[i].first;
    if (logprobs != nullptr) logprobs[i] = top[i].second;
  }
  return top.size();
}
double mc_generation_score(const mc_generation* g) { return g != nullptr ? g->generation.score : 0; }
size_t mc_generation_prompt_tokens(const mc_generation* g) {
  return g != nullptr ? static_cast<size_t>(g->generation.prompt_tokens) : 0;
}
size_t mc_generation_cached_tokens(const mc_generation* g) {
  return g != nullptr ? static_cast<size_t>(g->generation.cached_tokens) : 0;
}
double mc_generation_prefill_seconds(const mc_generation* g) {
  return g != nullptr ? g->generation.prefill_seconds : 0;
}
double mc_generation_decode_seconds(const mc_generation* g) { return g != nullptr ? g->generation.decode_seconds : 0; }
mc_finish_reason mc_generation_finish_reason(const mc_generation* g) {
  return g != nullptr ? static_cast<mc_finish_reason>(g->generation.finish_reason) : MC_FINISH_CANCELLED;
}
void mc_generation_free(mc_generation* generation) { delete generation; }

mc_error* mc_text_session_new(const mc_model* model, mc_text_session** session) {
  return Guarded([&] {
    NotNull(session, "session");
    const mconnect::TextGeneration task = TaskOf(model)();
    *session = new mc_text_session{task, task.session()};
  });
}

mc_error* mc_text_session_generate(mc_text_session* session, const mc_prompt* prompt,
                                   const mc_generate_options* options, mc_text_callback callback, void* user,
                                   mc_generation** generation) {
  const auto task = [&]() -> mconnect::TextSession& {
    NotNull(session, "session");
    return session->session;
  };
  const auto make = [&] {
    NotNull(prompt, "prompt");
    return Prompt(*prompt, "prompt");
  };
  return GenerateOne(task, make, options, callback, user, generation);
}

mc_error* mc_text_session_chat(mc_text_session* session, const char* messages, const mc_chat_options* chat,
                               const mc_generate_options* options, mc_text_callback callback, void* user,
                               mc_generation** generation) {
  const auto task = [&]() -> mconnect::TextSession& {
    NotNull(session, "session");
    return session->session;
  };
  const auto make = [&] {
    NotNull(messages, "messages");
    return mconnect::Prompt(session->model.encode_chat(std::string_view(messages), Chat(chat)));
  };
  return GenerateOne(task, make, options, callback, user, generation);
}

mc_error* mc_text_session_reset(mc_text_session* session) {
  return Guarded([&] {
    NotNull(session, "session");
    session->session.reset();
  });
}

void mc_text_session_free(mc_text_session* session) { delete session; }

mc_error* mc_score_text(const mc_model* model, const mc_prompt* text, const mc_cancel* cancel, mc_score** score) {
  return Guarded([&] {
    NotNull(text, "text");
    NotNull(score, "score");
    mconnect::ScoreOptions options;
    if (cancel != nullptr) options.cancel = cancel->source.get_token();
    *score = new mc_score{TaskOf(model)().score(Prompt(*text, "text"), options)};
  });
}

const int32_t* mc_score_ids(const mc_score* s) { return s != nullptr ? s->score.ids.data() : nullptr; }
size_t mc_score_id_count(const mc_score* s) { return s != nullptr ? s->score.ids.size() : 0; }
const float* mc_score_logprobs(const mc_score* s) { return s != nullptr ? s->score.logprobs.data() : nullptr; }
double mc_score_log_likelihood(const mc_score* s) { return s != nullptr ? s->score.log_likelihood : 0; }
double mc_score_perplexity(const mc_score* s) { return s != nullptr ? s->score.perplexity() : 1; }
void mc_score_free(mc_score* score) { delete score; }

mc_error* mc_encode_chat(const mc_model* model, const char* messages, const mc_chat_options* chat, int32_t* ids,
                         size_t room, size_t* count) {
  return Guarded([&] {
    NotNull(messages, "messages");
    NotNull(count, "count");
    if (room > 0) NotNull(ids, "ids");
    const std::vector<int32_t> tokens = TaskOf(model)().encode_chat(std::string_view(messages), Chat(chat));
    std::copy_n(tokens.begin(), std::min(room, tokens.size()), ids);
    *count = tokens.size();
  });
}

mc_error* mc_text_generation_info(const mc_model* model, size_t* max_tokens, int* has_chat_template) {
  return Guarded([&] {
    const mconnect::TextGeneration task = TaskOf(model)();
    if (max_tokens != nullptr) *max_tokens = static_cast<size_t>(task.max_tokens());
    if (has_chat_template != nullptr) *has_chat_template = task.has_chat_template() ? 1 : 0;
  });
}

}  // extern "C"
