// Search by meaning: which of sixty sentences answers a question?
//
//   bazel run //examples:quickstart
//
// Nothing below knows the model: any bundle with the task "text-embedding" will do.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

#include "mconnect/mconnect.h"

namespace {

std::vector<std::string> ReadSentences(const char* path) {
  std::ifstream file(path);
  if (!file) throw mconnect::Error(mconnect::ErrorCode::kNotFound, std::string("cannot open ") + path);
  std::vector<std::string> sentences;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) sentences.push_back(line);
  }
  return sentences;
}

// The vectors have length 1, so their dot product is the cosine of the angle between them: 1 means the same.
double Cosine(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void Answer(const std::string& question, std::span<const float> vector, const std::vector<std::string>& sentences,
            const mconnect::Embeddings& embedded) {
  std::vector<std::size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](std::size_t i) { return Cosine(vector, embedded[static_cast<std::int64_t>(i)]); };
  std::partial_sort(order.begin(), order.begin() + 3, order.end(),
                    [&](std::size_t a, std::size_t b) { return score(a) > score(b); });

  std::printf("\n%s\n", question.c_str());
  for (const std::size_t i : std::span(order).first(3)) {
    const int cells = static_cast<int>(std::clamp(score(i), 0.0, 1.0) * 20 + 0.5);
    const std::string bar = std::string(cells, '#') + std::string(20 - cells, '.');
    std::printf("  %5.3f  %s  %s\n", score(i), bar.c_str(), sentences[i].c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: quickstart BUNDLE SENTENCES.txt\n";
    return 2;
  }
  try {
    // A bundle is one file: graphs, weights, tokenizer. Loading unpacks it once into the store, then maps it.
    const auto model = mconnect::Model::load(argv[1]);
    const auto embedding = model.task<mconnect::TextEmbedding>();

    // Any number of texts in one call; row i of the result belongs to text i.
    const std::vector<std::string> sentences = ReadSentences(argv[2]);
    const auto embedded = embedding.embed(sentences, {.normalize = true});
    std::printf("%s on %s: %zu sentences, %lld dimensions\n", model.info().name.c_str(), model.info().device.c_str(),
                sentences.size(), static_cast<long long>(embedded.dimension()));

    // None of these shares a telling word with its answer: it is found by what it means.
    const std::vector<std::string> questions = {"How do I keep bread fresh?", "My phone battery runs out too fast.",
                                                "What helps against insomnia?"};
    const auto asked = embedding.embed(questions, {.normalize = true});
    for (std::size_t q = 0; q < questions.size(); ++q) Answer(questions[q], asked[q], sentences, embedded);
    return 0;
  } catch (const mconnect::Error& error) {  // says what happened and what to do
    std::cerr << "error: " << error.message() << "\n  " << error.remedy() << "\n";
    return 1;
  }
}
