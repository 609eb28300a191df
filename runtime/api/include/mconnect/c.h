/* Model Connect's C interface (C11).
 *
 * Errors. A function that can fail returns NULL on success, else an mc_error that the caller frees. Outputs are written
 * only on success. No C++ exception ever crosses this interface.
 * NULL. Handles, texts and output pointers must not be NULL unless stated: NULL is answered by MC_INVALID_ARGUMENT.
 * Options may always be NULL (defaults). Every *_free function accepts NULL. Threads. An mc_model may be used from many
 * threads at once; free it when no call on it is left. Other handles belong to one thread at a time. Versions. Each
 * options struct starts with `size`, which its INIT macro sets: later versions append fields.
 */
#ifndef MCONNECT_C_H_
#define MCONNECT_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MC_API __attribute__((visibility("default")))
#else
#define MC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

typedef enum mc_code {
  MC_OK = 0,
  MC_INVALID_ARGUMENT = 1,   /* the caller's input breaks a documented limit */
  MC_NOT_FOUND = 2,          /* a file, module, task or input does not exist */
  MC_CORRUPT = 3,            /* bytes are not what their digest or format promises */
  MC_UNSUPPORTED = 4,        /* valid, but this build or machine cannot do it */
  MC_RESOURCE_EXHAUSTED = 5, /* memory or disk ran out, or a limit on them was reached */
  MC_CANCELLED = 6,          /* the caller asked to stop */
  MC_UNAVAILABLE = 7,        /* an engine or device is not usable now */
  MC_IO = 8,                 /* the operating system refused to read or write */
  MC_INTERNAL = 9            /* a bug in Model Connect */
} mc_code;

typedef struct mc_error mc_error;

MC_API mc_code mc_error_code(const mc_error* error);        /* MC_OK for NULL */
MC_API const char* mc_error_message(const mc_error* error); /* never NULL; lives as long as the error */
MC_API const char* mc_error_remedy(const mc_error* error);  /* what to do; may be "" */
MC_API void mc_error_free(mc_error* error);

/* ---- Cancellation ---- */

/* Ends work from another thread. One may serve any number of calls; free it when none of them is left. */
typedef struct mc_cancel mc_cancel;

MC_API mc_error* mc_cancel_new(mc_cancel** cancel);
MC_API void mc_cancel_request(mc_cancel* cancel); /* from any thread, any number of times; NULL does nothing */
MC_API void mc_cancel_free(mc_cancel* cancel);

/* ---- Models ---- */

typedef struct mc_model mc_model;

typedef struct mc_load_options {
  size_t size;
  const char* device;    /* "auto" (NULL), "cpu", "gpu", "gpu:1" */
  const char* precision; /* "f32" (NULL), "bf16" */
  int threads;           /* 0: the engine's choice */
  const char* store;     /* NULL: $MCONNECT_STORE, else the user's cache folder */
} mc_load_options;
#define MC_LOAD_OPTIONS_INIT \
  { sizeof(mc_load_options), NULL, NULL, 0, NULL }

MC_API mc_error* mc_model_load(const char* path, const mc_load_options* options, mc_model** model);
MC_API void mc_model_free(mc_model* model);

/* A JSON object with id, name, family, tasks, modules, device, precision and threads. Lives as long as the model. */
MC_API const char* mc_model_info(const mc_model* model); /* "" for NULL */

/* ---- Text embedding ---- */

typedef struct mc_embeddings mc_embeddings;

typedef struct mc_embed_options {
  size_t size;
  int batch_size;          /* 0: 32 */
  int normalize;           /* -1: as the model was trained, 0: no, 1: yes */
  int max_tokens;          /* 0: the model's limit */
  const mc_cancel* cancel; /* ends the work with MC_CANCELLED; NULL: none */
} mc_embed_options;
#define MC_EMBED_OPTIONS_INIT \
  { sizeof(mc_embed_options), 0, -1, 0, NULL }

/* Embeds `count` NUL-terminated UTF-8 texts (`texts` may be NULL when count is 0). */
MC_API mc_error* mc_embed(const mc_model* model, const char* const* texts, size_t count,
                          const mc_embed_options* options, mc_embeddings** embeddings);
MC_API size_t mc_embeddings_count(const mc_embeddings* embeddings);
MC_API size_t mc_embeddings_dimension(const mc_embeddings* embeddings);
MC_API const float* mc_embeddings_data(const mc_embeddings* embeddings); /* [count, dimension], row-major */
MC_API void mc_embeddings_free(mc_embeddings* embeddings);

/* ---- Text generation ---- */

typedef struct mc_generation mc_generation;   /* one continuation */
typedef struct mc_generations mc_generations; /* several */

typedef enum mc_finish_reason {
  MC_FINISH_EOS = 0,
  MC_FINISH_STOP = 1,
  MC_FINISH_LENGTH = 2,
  MC_FINISH_CANCELLED = 3,
  MC_FINISH_TIMEOUT = 4
} mc_finish_reason;

typedef enum mc_early_stopping {
  MC_EARLY_STOPPING_NO = 0,
  MC_EARLY_STOPPING_YES = 1,
  MC_EARLY_STOPPING_NEVER = 2
} mc_early_stopping;

typedef struct mc_generate_options {
  size_t size;
  int max_new_tokens;      /* 0: 256, or what the context has room for */
  const char* const* stop; /* texts that end the generation; may be NULL when stop_count is 0 */
  size_t stop_count;
  int greedy;        /* -1: the bundle's default, 0: sample, 1: greedy */
  float temperature; /* of this and the next four, a negative value: the bundle's default */
  int top_k;
  float top_p;
  float min_p;
  float repetition_penalty;
  uint64_t seed;
  int min_new_tokens;
  float presence_penalty;
  float frequency_penalty;
  const int32_t* bias_ids; /* tokens whose logits get the values below added; -INFINITY forbids one */
  const float* bias_values;
  size_t bias_count;
  int num_beams; /* 0 or 1: none */
  float length_penalty;
  int logprobs;            /* 1: report the log-probability of each token */
  const char* json_schema; /* of this and the next two at most one; NULL: none */
  const char* regex;
  const char* const* choices; /* texts, one of which is written; may be NULL when choice_count is 0 */
  size_t choice_count;
  double timeout_seconds;           /* 0: none */
  int n;                            /* of mc_generate_batch: continuations of each prompt; 0: 1 */
  int top_logprobs;                 /* with logprobs: the most probable tokens at each place, 0 to 20 */
  mc_early_stopping early_stopping; /* of beam search, as in transformers */
  int ignore_eos;                   /* 1: go on to max_new_tokens, for measurements */
  const mc_cancel* cancel;          /* ends the generation with MC_FINISH_CANCELLED; NULL: none */
} mc_generate_options;
#define MC_GENERATE_OPTIONS_INIT                                                                                     \
  {                                                                                                                  \
    sizeof(mc_generate_options), 0, NULL, 0, -1, -1.0f, -1, -1.0f, -1.0f, -1.0f, 0, 0, 0.0f, 0.0f, NULL, NULL, 0, 0, \
        1.0f, 0, NULL, NULL, NULL, 0, 0.0, 0, 0, MC_EARLY_STOPPING_NO, 0, NULL                                       \
  }

typedef struct mc_chat_options {
  size_t size;
  const char* tools;          /* a JSON array of tool descriptions; NULL: none */
  const char* variables;      /* a JSON object of further variables of the template; NULL: none */
  const char* template_name;  /* NULL: the model's only or default one */
  int continue_final_message; /* 1: go on with the text of the last message */
  int allow_special_tokens_in_content;
  int add_generation_prompt; /* 1: end with the beginning of an answer */
} mc_chat_options;
#define MC_CHAT_OPTIONS_INIT \
  { sizeof(mc_chat_options), NULL, NULL, NULL, 0, 0, 1 }

/* Receives each piece of text as soon as it is final: `size` bytes, whole UTF-8 characters, also NUL-terminated; valid
 * during the call. Returns 0 to go on, anything else to stop (the result then says MC_FINISH_CANCELLED). */
typedef int (*mc_text_callback)(const char* text, size_t size, void* user);

/* Continues a NUL-terminated UTF-8 prompt. `callback` may be NULL. */
MC_API mc_error* mc_generate(const mc_model* model, const char* prompt, const mc_generate_options* options,
                             mc_text_callback callback, void* user, mc_generation** generation);
/* The same for token ids. */
MC_API mc_error* mc_generate_ids(const mc_model* model, const int32_t* ids, size_t count,
                                 const mc_generate_options* options, mc_text_callback callback, void* user,
                                 mc_generation** generation);
/* Answers a conversation, a JSON array of messages: [{"role": "user", "content": "..."}, ...]. MC_NOT_FOUND where the
 * model has no chat template. */
MC_API mc_error* mc_chat(const mc_model* model, const char* messages, const mc_chat_options* chat,
                         const mc_generate_options* options, mc_text_callback callback, void* user,
                         mc_generation** generation);

/* What to continue: a NUL-terminated UTF-8 text or, where that is NULL, token ids. */
typedef struct mc_prompt {
  const char* text;
  const int32_t* ids;
  size_t id_count;
} mc_prompt;

/* As mc_text_callback; `index` says which of the results it is. */
typedef int (*mc_batch_callback)(size_t index, const char* text, size_t size, void* user);

/* Continues several prompts together, each options->n times: continuation j of prompt i is at i*n + j of the result. */
MC_API mc_error* mc_generate_batch(const mc_model* model, const mc_prompt* prompts, size_t count,
                                   const mc_generate_options* options, mc_batch_callback callback, void* user,
                                   mc_generations** generations);
MC_API size_t mc_generations_count(const mc_generations* generations);
/* NULL beyond the last. Lives as long as `generations`: not to be freed by itself. */
MC_API const mc_generation* mc_generations_at(const mc_generations* generations, size_t index);
MC_API void mc_generations_free(mc_generations* generations);

MC_API const char* mc_generation_text(const mc_generation* generation); /* NUL-terminated */
MC_API size_t mc_generation_text_size(const mc_generation* generation); /* bytes, without that NUL */
MC_API const int32_t* mc_generation_ids(const mc_generation* generation);
MC_API size_t mc_generation_id_count(const mc_generation* generation); /* = completion tokens */
/* The log-probability of the i-th token; NAN where none was asked for. */
MC_API float mc_generation_logprob(const mc_generation* generation, size_t index);
/* The most probable tokens at the place of the i-th, the best first. Returns how many there are (0 where none were
 * asked for) and writes at most `room` of them; `ids` and `logprobs` may be NULL when room is 0. */
MC_API size_t mc_generation_top_logprobs(const mc_generation* generation, size_t index, int32_t* ids, float* logprobs,
                                         size_t room);
MC_API double mc_generation_score(const mc_generation* generation); /* of beam search; else 0 */
MC_API size_t mc_generation_prompt_tokens(const mc_generation* generation);
MC_API size_t mc_generation_cached_tokens(const mc_generation* generation); /* of them, found in a session's cache */
MC_API double mc_generation_prefill_seconds(const mc_generation* generation);
MC_API double mc_generation_decode_seconds(const mc_generation* generation);
MC_API mc_finish_reason mc_generation_finish_reason(const mc_generation* generation);
MC_API void mc_generation_free(mc_generation* generation);

/* Prompts that follow each other, as the turns of a conversation do: what a prompt has in common with the one before
 * and its continuation is not computed again. Keeps that cache as long as it lives; may outlive the model handle. */
typedef struct mc_text_session mc_text_session;

MC_API mc_error* mc_text_session_new(const mc_model* model, mc_text_session** session);
MC_API mc_error* mc_text_session_generate(mc_text_session* session, const mc_prompt* prompt,
                                          const mc_generate_options* options, mc_text_callback callback, void* user,
                                          mc_generation** generation);
MC_API mc_error* mc_text_session_chat(mc_text_session* session, const char* messages, const mc_chat_options* chat,
                                      const mc_generate_options* options, mc_text_callback callback, void* user,
                                      mc_generation** generation);
MC_API mc_error* mc_text_session_reset(mc_text_session* session); /* gives the cache's memory back */
MC_API void mc_text_session_free(mc_text_session* session);

/* How probable a text is. `cancel` may be NULL; a cancelled call ends with MC_CANCELLED. */
typedef struct mc_score mc_score;

MC_API mc_error* mc_score_text(const mc_model* model, const mc_prompt* text, const mc_cancel* cancel, mc_score** score);
MC_API const int32_t* mc_score_ids(const mc_score* score);
MC_API size_t mc_score_id_count(const mc_score* score);
/* Natural logarithms, one less than there are ids: that of ids[i + 1] behind all before is at i. */
MC_API const float* mc_score_logprobs(const mc_score* score);
MC_API double mc_score_log_likelihood(const mc_score* score); /* their sum */
MC_API double mc_score_perplexity(const mc_score* score);     /* 1 where there is none */
MC_API void mc_score_free(mc_score* score);

/* The tokens of a conversation, as mc_chat() continues them. Writes at most `room` of them to `ids` (NULL when room is
 * 0) and how many there are to `count`. */
MC_API mc_error* mc_encode_chat(const mc_model* model, const char* messages, const mc_chat_options* chat, int32_t* ids,
                                size_t room, size_t* count);
/* The context, prompt and continuation together, and whether there is a chat template; each may be NULL. */
MC_API mc_error* mc_text_generation_info(const mc_model* model, size_t* max_tokens, int* has_chat_template);

/* ---- Modules ---- */

typedef enum mc_dtype {
  MC_BOOL = 0,
  MC_I8 = 1,
  MC_U8 = 2,
  MC_I16 = 3,
  MC_U16 = 4,
  MC_I32 = 5,
  MC_U32 = 6,
  MC_I64 = 7,
  MC_U64 = 8,
  MC_F16 = 9,
  MC_BF16 = 10,
  MC_F32 = 11,
  MC_F64 = 12
} mc_dtype;

/* A dense row-major tensor in memory of whoever made it. */
typedef struct mc_tensor {
  const char* name;
  mc_dtype dtype;
  size_t rank;
  const int64_t* shape;
  const void* data;
} mc_tensor;

typedef struct mc_tensors mc_tensors; /* the outputs of a run */
typedef struct mc_session mc_session; /* a line of execution with state of its own */

/* Runs a module once with an empty state. Inputs are read in place. */
MC_API mc_error* mc_module_run(const mc_model* model, const char* module, const mc_tensor* inputs, size_t count,
                               mc_tensors** outputs);

/* A session keeps its state (a key/value cache) from run to run. It may outlive the model handle. */
MC_API mc_error* mc_session_new(const mc_model* model, const char* module, mc_session** session);
MC_API mc_error* mc_session_run(mc_session* session, const mc_tensor* inputs, size_t count, mc_tensors** outputs);
MC_API mc_error* mc_session_reset(mc_session* session);
MC_API void mc_session_free(mc_session* session);

MC_API size_t mc_tensors_count(const mc_tensors* tensors);
/* The i-th tensor in order of name, or the one of that name; NULL if there is none. Lives as long as `tensors`. */
MC_API const mc_tensor* mc_tensors_at(const mc_tensors* tensors, size_t index);
MC_API const mc_tensor* mc_tensors_get(const mc_tensors* tensors, const char* name);
MC_API void mc_tensors_free(mc_tensors* tensors);

#ifdef __cplusplus
}
#endif

#endif /* MCONNECT_C_H_ */
