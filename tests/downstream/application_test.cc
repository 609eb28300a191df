// What an application does: load a bundle, generate, stop. Depends on the public headers alone.
#include <cstdlib>
#include <iostream>
#include <string>

#include "mconnect/mconnect.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: application_test BUNDLE\n";
    return 2;
  }
  const char* scratch = std::getenv("TEST_TMPDIR");
  mconnect::LoadOptions options;
  options.store = std::string(scratch ? scratch : "/tmp") + "/store";
  const auto model = mconnect::Model::load(argv[1], options);
  if (model.info().family != "seed_oss") {
    std::cerr << "family is " << model.info().family << ", not seed_oss\n";
    return 1;
  }
  mconnect::GenerateOptions generate;
  generate.max_new_tokens = 8;
  generate.ignore_eos = true;
  std::string streamed;
  const auto result = model.task<mconnect::TextGeneration>().generate(
      "The river", generate, [&](const mconnect::TextChunk& chunk) { streamed += chunk.text; });
  if (result.completion_tokens != 8 || streamed != result.text) {
    std::cerr << "generated " << result.completion_tokens << " tokens: '" << result.text << "', streamed '" << streamed
              << "'\n";
    return 1;
  }
  try {
    mconnect::Model::load("no such.bundle", options);
  } catch (const mconnect::Error& error) {
    return error.code() == mconnect::ErrorCode::kNotFound ? 0 : 1;
  }
  std::cerr << "a bundle that is not there was loaded\n";
  return 1;
}
