/* A consumer of the C interface: C11, linked with libmconnect.so alone. Ends with 0 when every promise is kept. */
#include "mconnect/c.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                              \
    }                                                                          \
  } while (0)

/* Checks the code of an error that is expected, and frees it. */
static void expect_error(mc_error* error, mc_code code, const char* part) {
  EXPECT(mc_error_code(error) == code);
  EXPECT(strstr(mc_error_message(error), part) != NULL);
  if (error != NULL && strstr(mc_error_message(error), part) == NULL)
    fprintf(stderr, "  message: %s\n", mc_error_message(error));
  mc_error_free(error);
}

static mc_model* load(const char* path) {
  mc_load_options options = MC_LOAD_OPTIONS_INIT;
  options.threads = 1;
  options.device = "cpu";
  options.store = getenv("TEST_TMPDIR");
  mc_model* model = NULL;
  mc_error* error = mc_model_load(path, &options, &model);
  if (error != NULL) {
    fprintf(stderr, "%s\n", mc_error_message(error));
    exit(1);
  }
  return model;
}

static void test_errors(void) {
  mc_model* model = NULL;
  mc_embeddings* vectors = NULL;
  mc_generation* text = NULL;
  expect_error(mc_model_load(NULL, NULL, &model), MC_INVALID_ARGUMENT, "path is NULL");
  expect_error(mc_model_load("x", NULL, NULL), MC_INVALID_ARGUMENT, "model is NULL");
  expect_error(mc_model_load("no/such.bundle", NULL, &model), MC_NOT_FOUND, "no/such.bundle");
  EXPECT(model == NULL);
  expect_error(mc_embed(NULL, NULL, 0, NULL, &vectors), MC_INVALID_ARGUMENT, "model is NULL");
  expect_error(mc_generate(NULL, "a", NULL, NULL, NULL, &text), MC_INVALID_ARGUMENT, "model is NULL");
  expect_error(mc_session_reset(NULL), MC_INVALID_ARGUMENT, "session is NULL");
  EXPECT(mc_error_code(NULL) == MC_OK);
  EXPECT(mc_error_message(NULL)[0] == '\0');
  EXPECT(mc_error_remedy(NULL)[0] == '\0');
  EXPECT(mc_model_info(NULL)[0] == '\0');
  EXPECT(mc_embeddings_data(NULL) == NULL && mc_tensors_at(NULL, 0) == NULL && mc_generation_id_count(NULL) == 0);
  mc_error_free(NULL);
  mc_model_free(NULL);
  mc_embeddings_free(NULL);
  mc_generation_free(NULL);
  mc_generations_free(NULL);
  mc_text_session_free(NULL);
  mc_score_free(NULL);
  mc_tensors_free(NULL);
  mc_session_free(NULL);
}

static void test_embedding(const mc_model* model) {
  const char* texts[] = {"a cat", "a dog", ""};
  mc_embed_options options = MC_EMBED_OPTIONS_INIT;
  options.normalize = 1;
  mc_embeddings* e = NULL;
  EXPECT(mc_embed(model, texts, 3, &options, &e) == NULL);
  EXPECT(mc_embeddings_count(e) == 3);
  const size_t n = mc_embeddings_dimension(e);
  double squares = 0;
  for (size_t i = 0; i < n; ++i) squares += (double)mc_embeddings_data(e)[i] * mc_embeddings_data(e)[i];
  EXPECT(fabs(squares - 1) < 1e-5);
  mc_embeddings_free(e);

  EXPECT(mc_embed(model, NULL, 0, NULL, &e) == NULL);
  EXPECT(mc_embeddings_count(e) == 0 && mc_embeddings_dimension(e) == n);
  mc_embeddings_free(e);

  const char* with_null[] = {"a", NULL};
  expect_error(mc_embed(model, with_null, 2, NULL, &e), MC_INVALID_ARGUMENT, "texts[1] is NULL");
  options.batch_size = -1;
  expect_error(mc_embed(model, texts, 3, &options, &e), MC_INVALID_ARGUMENT, "batch_size is -1");
  options.size = 1000;
  expect_error(mc_embed(model, texts, 3, &options, &e), MC_INVALID_ARGUMENT, "size is 1000");
  mc_generation* g = NULL;
  expect_error(mc_generate(model, "a", NULL, NULL, NULL, &g), MC_NOT_FOUND, "text-generation");
}

static int count_pieces(const char* text, size_t size, void* user) {
  EXPECT(size > 0 && text[size] == '\0');
  return ++*(int*)user == 2;
}

static void test_generation(const mc_model* model) {
  mc_generate_options options = MC_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 12;
  mc_generation* g = NULL;
  EXPECT(mc_generate(model, "a cat", &options, NULL, NULL, &g) == NULL);
  EXPECT(mc_generation_prompt_tokens(g) > 0);
  EXPECT(mc_generation_id_count(g) > 0 && mc_generation_id_count(g) <= 12);
  EXPECT(mc_generation_text(g)[mc_generation_text_size(g)] == '\0'); /* there may be others before */
  EXPECT(mc_generation_finish_reason(g) == MC_FINISH_LENGTH || mc_generation_finish_reason(g) == MC_FINISH_EOS);
  mc_generation_free(g);

  const int32_t ids[] = {3, 4, 5};
  int pieces = 0;
  options.max_new_tokens = 200;
  EXPECT(mc_generate_ids(model, ids, 3, &options, count_pieces, &pieces, &g) == NULL);
  EXPECT(mc_generation_prompt_tokens(g) == 3);
  if (mc_generation_finish_reason(g) == MC_FINISH_CANCELLED) EXPECT(pieces == 2);
  mc_generation_free(g);

  const char* const choices[] = {"yes", "no"};
  options.max_new_tokens = 20;
  options.choices = choices;
  options.choice_count = 2;
  options.logprobs = 1;
  EXPECT(mc_generate(model, "a cat", &options, NULL, NULL, &g) == NULL);
  EXPECT(strcmp(mc_generation_text(g), "yes") == 0 || strcmp(mc_generation_text(g), "no") == 0);
  EXPECT(mc_generation_logprob(g, 0) < 0 && isnan(mc_generation_logprob(g, 1000)));
  mc_generation_free(g);
  options.regex = "a";
  expect_error(mc_generate(model, "a", &options, NULL, NULL, &g), MC_INVALID_ARGUMENT, "exclude each other");
  options.regex = NULL;
  options.choice_count = 0;
  options.json_schema = "{\"multipleOf\":2}";
  expect_error(mc_generate(model, "a", &options, NULL, NULL, &g), MC_UNSUPPORTED, "multipleOf");
  options.json_schema = NULL;

  options.logprobs = 0;
  options.max_new_tokens = 4;
  EXPECT(mc_chat(model, "[{\"role\":\"user\",\"content\":\"Hi\"}]", NULL, &options, NULL, NULL, &g) == NULL);
  EXPECT(mc_generation_prompt_tokens(g) > 2 && mc_generation_id_count(g) > 0);
  mc_generation_free(g);
  expect_error(mc_chat(model, "[]", NULL, NULL, NULL, NULL, &g), MC_INVALID_ARGUMENT, "messages is an empty list");

  options.top_p = 2.0f;
  expect_error(mc_generate(model, "a", &options, NULL, NULL, &g), MC_INVALID_ARGUMENT, "top_p");
  options.top_p = -1.0f;
  options.temperature = NAN; /* not the default, and no temperature */
  expect_error(mc_generate(model, "a", &options, NULL, NULL, &g), MC_INVALID_ARGUMENT, "temperature is nan");
  expect_error(mc_generate_ids(model, NULL, 3, NULL, NULL, NULL, &g), MC_INVALID_ARGUMENT, "ids is NULL");
}

static int count_by_index(size_t index, const char* text, size_t size, void* user) {
  EXPECT(index < 4 && size > 0 && text[size] == '\0');
  ++((int*)user)[index];
  return 0;
}

static void test_batches(const mc_model* model) {
  const int32_t ids[] = {3, 4, 5};
  const mc_prompt prompts[] = {{"a cat sat on the mat", NULL, 0}, {NULL, ids, 3}};
  mc_generate_options options = MC_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 8;
  options.n = 2;
  options.temperature = 2.0f;
  options.seed = 7;
  options.ignore_eos = 1;
  options.logprobs = 1;
  options.top_logprobs = 3;
  mc_generations* all = NULL;
  int pieces[4] = {0, 0, 0, 0};
  EXPECT(mc_generate_batch(model, prompts, 2, &options, count_by_index, pieces, &all) == NULL);
  EXPECT(mc_generations_count(all) == 4 && mc_generations_at(all, 4) == NULL);
  for (size_t i = 0; i < 4; ++i) {
    const mc_generation* g = mc_generations_at(all, i);
    EXPECT(mc_generation_id_count(g) == 8 && pieces[i] > 0); /* ignore_eos */
    EXPECT((mc_generation_prompt_tokens(g) == 3) == (i > 1));
    EXPECT(mc_generation_prefill_seconds(g) > 0 && mc_generation_decode_seconds(g) > 0);
    int32_t top[3] = {-1, -1, -1};
    float logprobs[3] = {1, 1, 1};
    EXPECT(mc_generation_top_logprobs(g, 0, top, logprobs, 2) == 3 && top[1] >= 0 && top[2] == -1);
    EXPECT(logprobs[0] >= logprobs[1] && logprobs[0] >= mc_generation_logprob(g, 0) && logprobs[2] == 1);
    EXPECT(mc_generation_top_logprobs(g, 8, NULL, NULL, 0) == 0);
  }
  EXPECT(memcmp(mc_generation_ids(mc_generations_at(all, 0)), mc_generation_ids(mc_generations_at(all, 1)), 32) != 0);
  mc_generations_free(all);

  mc_generate_options beams = MC_GENERATE_OPTIONS_INIT;
  beams.max_new_tokens = 8;
  beams.num_beams = 3;
  beams.n = 3;
  beams.early_stopping = MC_EARLY_STOPPING_NEVER;
  EXPECT(mc_generate_batch(model, prompts, 1, &beams, NULL, NULL, &all) == NULL);
  EXPECT(mc_generation_score(mc_generations_at(all, 0)) >= mc_generation_score(mc_generations_at(all, 2)));
  EXPECT(mc_generation_score(mc_generations_at(all, 2)) < 0);
  mc_generations_free(all);
  beams.early_stopping = (mc_early_stopping)7;
  expect_error(mc_generate_batch(model, prompts, 1, &beams, NULL, NULL, &all), MC_INVALID_ARGUMENT,
               "early_stopping is 7");
  EXPECT(mc_generate_batch(model, NULL, 0, NULL, NULL, NULL, &all) == NULL && mc_generations_count(all) == 0);
  mc_generations_free(all);
  const mc_prompt none = {NULL, NULL, 3};
  expect_error(mc_generate_batch(model, &none, 1, NULL, NULL, NULL, &all), MC_INVALID_ARGUMENT,
               "prompts[0].ids is NULL");
  options.n = 129;
  expect_error(mc_generate_batch(model, prompts, 1, &options, NULL, NULL, &all), MC_INVALID_ARGUMENT, "n is 129");
  mc_generation* g = NULL;
  options.n = 2;
  expect_error(mc_generate(model, "a", &options, NULL, NULL, &g), MC_INVALID_ARGUMENT, "generate() returns one");

  /* A program that was compiled before `n` existed: what lies behind its struct is not read. */
  options.size = offsetof(mc_generate_options, n);
  EXPECT(mc_generate(model, "a", &options, NULL, NULL, &g) == NULL);
  EXPECT(mc_generation_top_logprobs(g, 0, NULL, NULL, 0) == 0);
  mc_generation_free(g);
}

static void test_cancellation(const mc_model* model) {
  mc_cancel* cancel = NULL;
  EXPECT(mc_cancel_new(&cancel) == NULL);
  mc_generate_options options = MC_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 8;
  options.ignore_eos = 1;
  options.cancel = cancel;
  mc_generation* g = NULL;
  EXPECT(mc_generate(model, "a", &options, NULL, NULL, &g) == NULL);
  EXPECT(mc_generation_finish_reason(g) == MC_FINISH_LENGTH);
  mc_generation_free(g);
  mc_cancel_request(cancel);
  EXPECT(mc_generate(model, "a", &options, NULL, NULL, &g) == NULL);
  EXPECT(mc_generation_finish_reason(g) == MC_FINISH_CANCELLED && mc_generation_id_count(g) == 0);
  mc_generation_free(g);
  const mc_prompt text = {"a cat", NULL, 0};
  mc_score* score = NULL;
  expect_error(mc_score_text(model, &text, cancel, &score), MC_CANCELLED, "cancelled");
  mc_cancel_request(NULL);
  mc_cancel_free(NULL);
  mc_cancel_free(cancel);
}

static void test_scores(const mc_model* model) {
  const mc_prompt text = {"a cat sat", NULL, 0};
  mc_score* score = NULL;
  EXPECT(mc_score_text(model, &text, NULL, &score) == NULL);
  const size_t count = mc_score_id_count(score);
  EXPECT(count > 1 && mc_score_ids(score)[0] >= 0);
  double sum = 0;
  for (size_t i = 0; i + 1 < count; ++i) sum += mc_score_logprobs(score)[i];
  EXPECT(sum < 0 && fabs(mc_score_log_likelihood(score) - sum) < 1e-4);
  EXPECT(fabs(mc_score_perplexity(score) - exp(-sum / (double)(count - 1))) < 1e-2);
  mc_score_free(score);
  expect_error(mc_score_text(model, NULL, NULL, &score), MC_INVALID_ARGUMENT, "text is NULL");
}

static void test_conversations(const mc_model* model) {
  const char* first = "[{\"role\":\"user\",\"content\":\"Hi\"}]";
  size_t context = 0, count = 0;
  int chats = 0;
  EXPECT(mc_text_generation_info(model, &context, &chats) == NULL && context == 256 && chats == 1);
  EXPECT(mc_text_generation_info(model, NULL, NULL) == NULL);
  int32_t ids[64];
  EXPECT(mc_encode_chat(model, first, NULL, NULL, 0, &count) == NULL && count > 2 && count < 64);
  EXPECT(mc_encode_chat(model, first, NULL, ids, count, &count) == NULL);
  mc_chat_options open = MC_CHAT_OPTIONS_INIT;
  open.add_generation_prompt = 0;
  size_t shorter = 0;
  EXPECT(mc_encode_chat(model, first, &open, NULL, 0, &shorter) == NULL && shorter < count);

  mc_text_session* session = NULL;
  mc_generation *a = NULL, *b = NULL;
  mc_generate_options options = MC_GENERATE_OPTIONS_INIT;
  options.max_new_tokens = 6;
  options.greedy = 1;
  EXPECT(mc_text_session_new(model, &session) == NULL);
  EXPECT(mc_text_session_chat(session, first, NULL, &options, NULL, NULL, &a) == NULL);
  EXPECT(mc_generation_prompt_tokens(a) == count && mc_generation_cached_tokens(a) == 0);
  const mc_prompt again = {NULL, ids, count};
  EXPECT(mc_text_session_generate(session, &again, &options, NULL, NULL, &b) == NULL);
  EXPECT(mc_generation_cached_tokens(b) == count - 1);
  EXPECT(strcmp(mc_generation_text(a), mc_generation_text(b)) == 0);
  mc_generation_free(b);
  EXPECT(mc_text_session_reset(session) == NULL);
  EXPECT(mc_text_session_generate(session, &again, &options, NULL, NULL, &b) == NULL);
  EXPECT(mc_generation_cached_tokens(b) == 0);
  mc_generation_free(a);
  mc_generation_free(b);
  expect_error(mc_text_session_generate(session, NULL, NULL, NULL, NULL, &a), MC_INVALID_ARGUMENT, "prompt is NULL");
  expect_error(mc_text_session_chat(NULL, first, NULL, NULL, NULL, NULL, &a), MC_INVALID_ARGUMENT, "session is NULL");
  mc_text_session_free(session);
}

static mc_tensor tensor(const char* name, mc_dtype dtype, const int64_t* shape, size_t rank, const void* data) {
  mc_tensor t = {name, dtype, rank, shape, data};
  return t;
}

static void test_sessions(const mc_model* model) {
  const int64_t one = 1, two = 2, shape1[] = {1}, shape11[] = {1, 1}, shape12[] = {1, 2}, ones[] = {1, 1}, zero = 0;
  const int32_t row = 0;
  mc_tensor inputs[] = {tensor("input_ids", MC_I64, shape11, 2, &two),
                        tensor("attention_mask", MC_I64, shape11, 2, ones),
                        tensor("position_ids", MC_I64, shape11, 2, &zero), tensor("beam_idx", MC_I32, shape1, 1, &row),
                        tensor("logits_to_keep", MC_I64, shape1, 1, &one)};
  mc_session* session = NULL;
  mc_tensors* out = NULL;
  EXPECT(mc_session_new(model, "decoder", &session) == NULL);
  EXPECT(mc_session_run(session, inputs, 5, &out) == NULL);
  EXPECT(mc_tensors_count(out) == 1 && mc_tensors_at(out, 0) == mc_tensors_get(out, "logits"));
  EXPECT(mc_tensors_at(out, 1) == NULL && mc_tensors_get(out, "nothing") == NULL);
  const mc_tensor* logits = mc_tensors_get(out, "logits");
  EXPECT(logits->dtype == MC_F32 && logits->rank == 3 && logits->shape[0] == 1 && logits->shape[1] == 1);
  const float first = ((const float*)logits->data)[0];
  mc_tensors_free(out);

  inputs[1] = tensor("attention_mask", MC_I64, shape12, 2, ones); /* the second token sees the first */
  inputs[2].data = &one;
  EXPECT(mc_session_run(session, inputs, 5, &out) == NULL);
  mc_tensors_free(out);
  EXPECT(mc_session_reset(session) == NULL);
  inputs[1] = tensor("attention_mask", MC_I64, shape11, 2, ones);
  inputs[2].data = &zero;
  EXPECT(mc_session_run(session, inputs, 5, &out) == NULL);
  EXPECT(fabsf(((const float*)mc_tensors_get(out, "logits")->data)[0] - first) < 1e-5f);
  mc_tensors_free(out);
  mc_session_free(session);

  EXPECT(mc_module_run(model, "decoder", inputs, 5, &out) == NULL);
  mc_tensors_free(out);
  expect_error(mc_module_run(model, "decoder", inputs, 4, &out), MC_INVALID_ARGUMENT,
               "'logits_to_keep' (i64 [1]) is missing");
  inputs[0].dtype = (mc_dtype)99;
  expect_error(mc_module_run(model, "decoder", inputs, 5, &out), MC_INVALID_ARGUMENT, "dtype is 99");
  inputs[0].dtype = MC_I64;
  inputs[0].rank = (size_t)-1;
  expect_error(mc_module_run(model, "decoder", inputs, 5, &out), MC_INVALID_ARGUMENT, "rank is 18446744073709551615");
  expect_error(mc_module_run(model, "vision", inputs, 5, &out), MC_NOT_FOUND, "'vision'");
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  test_errors();
  mc_model* encoder = load(argv[1]);
  EXPECT(strstr(mc_model_info(encoder), "\"device\":\"cpu\"") != NULL);
  test_embedding(encoder);
  mc_model_free(encoder);
  mc_model* decoder = load(argv[2]);
  test_generation(decoder);
  test_batches(decoder);
  test_cancellation(decoder);
  test_scores(decoder);
  test_conversations(decoder);
  test_sessions(decoder);
  mc_model_free(decoder);
  if (failures > 0) fprintf(stderr, "%d expectations failed\n", failures);
  return failures > 0;
}
