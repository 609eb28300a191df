/* Embeds the lines of a file through the C interface and prints the one closest to a question.
 *
 *   embed_c BUNDLE SENTENCES.txt QUESTION
 */
#define _POSIX_C_SOURCE 200809L /* strdup */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mconnect/c.h"

enum { kMaxSentences = 1000, kMaxLine = 2000 };

/* Prints an error, frees it and ends the program; does nothing for NULL, which means success. */
static void check(mc_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "error: %s\n  %s\n", mc_error_message(error), mc_error_remedy(error));
  mc_error_free(error);
  exit(1);
}

static size_t read_sentences(const char* path, char* sentences[kMaxSentences]) {
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  char line[kMaxLine];
  size_t count = 0;
  while (count < kMaxSentences && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] != '\0') sentences[count++] = strdup(line);
  }
  fclose(file);
  return count;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: embed_c BUNDLE SENTENCES.txt QUESTION\n");
    return 2;
  }
  static char* sentences[kMaxSentences];
  const size_t count = read_sentences(argv[2], sentences);

  mc_load_options load = MC_LOAD_OPTIONS_INIT;
  load.device = "cpu";
  mc_model* model = NULL;
  check(mc_model_load(argv[1], &load, &model));

  mc_embed_options options = MC_EMBED_OPTIONS_INIT;
  options.normalize = 1; /* vectors of length 1: dot products are cosines */
  mc_embeddings* vectors = NULL;
  mc_embeddings* asked = NULL;
  check(mc_embed(model, (const char* const*)sentences, count, &options, &vectors));
  check(mc_embed(model, (const char* const*)&argv[3], 1, &options, &asked));

  const size_t dimension = mc_embeddings_dimension(vectors);
  const float* question = mc_embeddings_data(asked);
  size_t best = 0;
  float best_score = -2.0f;
  for (size_t i = 0; i < count; ++i) {
    const float* sentence = mc_embeddings_data(vectors) + i * dimension;
    float score = 0.0f;
    for (size_t k = 0; k < dimension; ++k) score += question[k] * sentence[k];
    if (score > best_score) {
      best_score = score;
      best = i;
    }
  }
  printf("%.3f  %s\n", best_score, sentences[best]);

  mc_embeddings_free(asked);
  mc_embeddings_free(vectors);
  mc_model_free(model);
  for (size_t i = 0; i < count; ++i) free(sentences[i]);
  return 0;
}
