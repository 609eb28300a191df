#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "mconnect/error.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/model_flags.h"
#include "runtime/cli/npy.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

struct EmbedFlags {
  ModelFlags model;
  std::vector<std::string> texts;
  std::string input;
  ListFormat format = ListFormat::kAuto;
  std::optional<std::string> output;
  bool json = false;
  int batch_size = EmbedOptions().batch_size;
};

std::vector<std::string> Texts(const EmbedFlags& flags) {
  if (flags.texts.empty() == flags.input.empty()) {
    throw UsageError("embed takes its texts from either --text or --input");
  }
  for (std::size_t i = 0; i < flags.texts.size(); ++i) RequireUtf8(flags.texts[i], "--text " + std::to_string(i + 1));
  return flags.input.empty() ? flags.texts : ReadTexts(flags.input, flags.format);
}

std::string Json(const Embeddings& result) {
  std::string out = "{\"dimension\":" + std::to_string(result.dimension()) + ",\"tokens\":";
  out += nlohmann::json(result.tokens).dump() + ",\"truncated\":" + nlohmann::json(result.truncated).dump() +
         ",\"vectors\":[";
  for (std::int64_t i = 0; i < result.count(); ++i) {
    if (i > 0) out += ',';
    AppendJson(result[i], &out);
  }
  return out + "]}\n";
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += double{a[i]} * b[i];
    aa += double{a[i]} * a[i];
    bb += double{b[i]} * b[i];
  }
  return aa > 0 && bb > 0 ? dot / std::sqrt(aa * bb) : 0;
}

// For people: how each vector begins and, for a handful of texts, how close each pair is.
std::string Readable(const std::vector<std::string>& texts, const Embeddings& result) {
  constexpr std::int64_t kPairs = 10;
  std::string out = std::to_string(result.count()) + (result.count() == 1 ? " text, " : " texts, ") +
                    std::to_string(result.dimension()) + " dimensions\n";
  char cell[64];
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::snprintf(cell, sizeof cell, "%4lld  ", static_cast<long long>(i));
    out += cell;
    for (std::size_t k = 0; k < std::min<std::size_t>(4, result[i].size()); ++k) {
      std::snprintf(cell, sizeof cell, "%8.4f ", result[i][k]);
      out += cell;
    }
    out += " ...  " + texts[static_cast<std::size_t>(i)] + "\n";
  }
  if (result.count() < 2 || result.count() > kPairs) return out;
  out += "cosine\n";
  for (std::int64_t i = 0; i < result.count(); ++i) {
    std::snprintf(cell, sizeof cell, "%4lld  ", static_cast<long long>(i));
    out += cell;
    for (std::int64_t j = 0; j <= i; ++j) {
      std::snprintf(cell, sizeof cell, "%6.3f ", Cosine(result[i], result[j]));
      out += cell;
    }
    out += "\n";
  }
  return out;
}

int RunEmbed(const EmbedFlags& flags) {
  const std::vector<std::string> texts = Texts(flags);
  if (flags.output) RequireWritable(*flags.output);  // before the work, not after it
  EmbedOptions options;
  options.batch_size = flags.batch_size;
  const Model model = LoadForTask(flags.model, TextEmbedding::kName);
  const Embeddings result = EmbedAll(model.task<TextEmbedding>(), texts, options);
  if (flags.output) {
    WriteFileAtomically(*flags.output, NpyBytes(result.vectors.values<float>(), result.count(), result.dimension()));
    Note("wrote " + std::to_string(result.count()) + " x " + std::to_string(result.dimension()) + " f32 to " +
         *flags.output);
  }
  if (flags.json) {
    Print(Json(result));
  } else if (!flags.output) {
    Print(Readable(texts, result));
  }
  return kOk;
}

}  // namespace

Command AddEmbed(CLI::App& program) {
  auto flags = std::make_shared<EmbedFlags>();
  CLI::App* app = program.add_subcommand("embed", "Turn texts into vectors");
  AddModelFlags(app, &flags->model);
  app->add_option("--text", flags->texts, "A text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--input", flags->input, "A file of texts, '-' for standard input")->type_name("FILE");
  AddListFormat(app, &flags->format);
  app->add_option("--output", flags->output, "Write the vectors here, f32 [texts, dimension] in NumPy's format")
      ->type_name("FILE.npy");
  app->add_flag("--json", flags->json, "Print {\"dimension\", \"tokens\", \"truncated\", \"vectors\"}");
  app->add_option("--batch-size", flags->batch_size, "Texts that run together, 1 to 4096")
      ->check(WholeNumber<int>(1, 4096))
      ->capture_default_str();
  app->footer(
      "Examples:\n"
      "  mconnect embed minilm.bundle --text \"a cat\" --text \"a dog\"\n"
      "  mconnect embed minilm.bundle --input sentences.json --json\n"
      "  cat lines.txt | mconnect embed minilm.bundle --input - --output vectors.npy");
  return {app, [flags] { return RunEmbed(*flags); }};
}

}  // namespace mconnect::cli
