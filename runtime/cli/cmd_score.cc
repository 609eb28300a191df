#include <cstdio>
#include <memory>
#include <optional>

#include "mconnect/error.h"
#include "mconnect/text_generation.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/model_flags.h"
#include "runtime/cli/texts.h"
#include "runtime/text/tokenizer.h"

namespace mconnect::cli {
namespace {

struct ScoreFlags {
  ModelFlags model;
  std::vector<std::string> texts;
  std::string input;
  ListFormat format = ListFormat::kAuto;
  bool json = false;
};

std::vector<std::string> Texts(const ScoreFlags& flags) {
  if (flags.texts.empty() == flags.input.empty()) {
    throw UsageError("score takes its texts either as arguments or from --input");
  }
  for (std::size_t i = 0; i < flags.texts.size(); ++i) RequireUtf8(flags.texts[i], "text " + std::to_string(i + 1));
  return flags.input.empty() ? flags.texts : ReadTexts(flags.input, flags.format);
}

nlohmann::ordered_json Json(const Score& score) {
  return {{"ids", score.ids},
          {"logprobs", score.logprobs},
          {"log_likelihood", score.log_likelihood},
          {"perplexity", score.perplexity()}};
}

// A line for each token, and one for the whole.
std::string Readable(const Tokenizer& tokenizer, const std::string& text, const Score& score) {
  std::string out = text + "\n";
  char cell[96];
  for (std::size_t i = 0; i < score.ids.size(); ++i) {
    const int size = std::snprintf(cell, sizeof cell, "%8d  ", score.ids[i]);
    if (i == 0) {  // nothing stands before it
      out += std::string(cell, static_cast<std::size_t>(size)) + "         -  ";
    } else {
      std::snprintf(cell + size, sizeof cell - static_cast<std::size_t>(size), "%10.4f  ",
                    static_cast<double>(score.logprobs[i - 1]));
      out += cell;
    }
    out += tokenizer.IdToToken(score.ids[i]).value_or("?") + "\n";
  }
  std::snprintf(cell, sizeof cell, "log-likelihood %.4f of %zu tokens, perplexity %.4f\n", score.log_likelihood,
                score.logprobs.size(), score.perplexity());
  return out + cell;
}

int RunScore(const ScoreFlags& flags) {
  const std::vector<std::string> texts = Texts(flags);
  const Model model = LoadForTask(flags.model, TextGeneration::kName);
  const auto task = model.task<TextGeneration>();
  std::optional<Tokenizer> tokenizer;
  if (!flags.json) tokenizer = Tokenizer::FromJson(model.asset("tokenizer"));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  InterruptGuard guard;
  Progress progress("score", Progress::Unit::kItems);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Score score;
    try {
      score = task.score(texts[i], {.cancel = guard.token()});
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) return kInterrupted;
      if (texts.size() == 1) throw;
      throw Error(error.code(), "text " + std::to_string(i + 1) + ": " + error.message(), error.remedy());
    }
    if (flags.json) {
      list.push_back(Json(score));
      progress.Update(i + 1, texts.size());
    } else {
      Print(Readable(*tokenizer, texts[i], score));
    }
  }
  if (flags.json) Print(JsonLine(list));
  return kOk;
}

}  // namespace

Command AddScore(CLI::App& program) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* app = program.add_subcommand("score", "Tell how probable a model of text finds given texts");
  AddModelFlags(app, &flags->model);
  app->add_option("texts", flags->texts, "Texts; one that begins with '-' goes behind '--'")
      ->type_name("")
      ->option_text("TEXT ...");
  app->add_option("--input", flags->input, "A file of texts, '-' for standard input")->type_name("FILE");
  AddListFormat(app, &flags->format);
  app->add_flag("--json", flags->json,
                "Print a list of {\"ids\", \"logprobs\", \"log_likelihood\", \"perplexity\"}, one for each text");
  app->footer(
      "A text is encoded with the tokens that the tokenizer adds, such as <s>. A log-probability is the natural\n"
      "logarithm of a token's probability behind all before; the first token has none. The perplexity is\n"
      "e^(-log-likelihood / tokens).\n"
      "Examples:\n"
      "  mconnect score qwen3.bundle \"The cat sat on the mat.\" \"Mat the on sat cat the.\"\n"
      "  mconnect score qwen3.bundle --input sentences.json --json");
  return {app, [flags] { return RunScore(*flags); }};
}

}  // namespace mconnect::cli
