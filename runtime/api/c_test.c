/* A consumer of the C interface: C11, linked with libmconnect.so alone. Ends with 0 when every promise is kept. */
#include "mconnect/c.h"

#include <math.h>
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

  double log_likelihood = 1;
  size_t count = 0;
  EXPECT(mc_score(model, "a cat sat", &log_likelihood, &count) == NULL);
  EXPECT(log_likelihood < 0 && count > 0);
  expect_error(mc_score(model, NULL, &log_likelihood, &count), MC_INVALID_ARGUMENT, "text is NULL");
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
  test_sessions(decoder);
  mc_model_free(decoder);
  if (failures > 0) fprintf(stderr, "%d expectations failed\n", failures);
  return failures > 0;
}
