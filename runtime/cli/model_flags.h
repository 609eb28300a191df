// What the commands that run a model share: its options, and loading it with a progress bar.
#ifndef MCONNECT_RUNTIME_CLI_MODEL_FLAGS_H_
#define MCONNECT_RUNTIME_CLI_MODEL_FLAGS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "mconnect/model.h"
#include "mconnect/text_embedding.h"

namespace mconnect::cli {

struct ModelFlags {
  std::string bundle;
  LoadOptions load;
};

// BUNDLE, --device, --precision, --threads, --store.
void AddModelFlags(CLI::App* app, ModelFlags* flags);

// Checks that the bundle has `task` before any of it is loaded, unpacks it on first use and loads it.
// Throws Error(kNotFound) naming the bundle's tasks and the command for them.
Model LoadForTask(const ModelFlags& flags, std::string_view task);

// Embeds any number of texts with a progress bar; says on standard error how many were cut.
Embeddings EmbedAll(const TextEmbedding& task, const std::vector<std::string>& texts, const EmbedOptions& options);

}  // namespace mconnect::cli

#endif  // MCONNECT_RUNTIME_CLI_MODEL_FLAGS_H_
