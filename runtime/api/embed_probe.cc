// Embeds the lines of a file and writes the vectors, f32 [lines, dimension], row-major: what the parity test compares.
//
//   embed_probe BUNDLE LINES.txt OUT.f32
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "mconnect/mconnect.h"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    std::ifstream file(argv[2]);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    const auto model = mconnect::Model::load(argv[1]);
    const mconnect::Embeddings embeddings = model.task<mconnect::TextEmbedding>().embed(lines);
    std::ofstream(argv[3], std::ios::binary)
        .write(static_cast<const char*>(embeddings.vectors.data()),
               static_cast<std::streamsize>(embeddings.vectors.bytes()));
    return 0;
  } catch (const mconnect::Error& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
