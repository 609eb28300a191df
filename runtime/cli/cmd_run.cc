#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>

#include "mconnect/text_generation.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/model_flags.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

struct RunFlags {
  ModelFlags model;
  std::optional<std::string> prompt;
  GenerateOptions generate;
  bool greedy = false;
  bool json = false;
};

// --prompt, or standard input when it is a pipe or a file. One newline at its end is the shell's, not the prompt's.
std::string ReadPrompt(const RunFlags& flags) {
  std::string prompt;
  if (flags.prompt && *flags.prompt != "-") {
    prompt = *flags.prompt;
  } else if (!flags.prompt && IsTerminal(STDIN_FILENO)) {
    throw UsageError("run needs a prompt: --prompt TEXT, or one through standard input");
  } else {
    prompt = ReadInput("-");
    if (prompt.ends_with('\n')) prompt.pop_back();
    if (prompt.ends_with('\r')) prompt.pop_back();
  }
  RequireUtf8(prompt, "the prompt");
  return prompt;
}

std::string Speed(const Generation& result) {
  char text[160];
  const double prefill =
      result.prefill_seconds > 0 ? static_cast<double>(result.prompt_tokens) / result.prefill_seconds : 0;
  const double decode =
      result.decode_seconds > 0 ? static_cast<double>(result.completion_tokens - 1) / result.decode_seconds : 0;
  std::snprintf(text, sizeof text, "%lld prompt tokens (%.1f/s), %lld new tokens (%.1f/s), ended by ",
                static_cast<long long>(result.prompt_tokens), prefill, static_cast<long long>(result.completion_tokens),
                decode);
  return text + std::string(FinishReasonName(result.finish_reason));
}

nlohmann::ordered_json Json(const Generation& result) {
  return {{"text", result.text},
          {"ids", result.ids},
          {"finish_reason", FinishReasonName(result.finish_reason)},
          {"prompt_tokens", result.prompt_tokens},
          {"completion_tokens", result.completion_tokens},
          {"prefill_seconds", result.prefill_seconds},
          {"decode_seconds", result.decode_seconds}};
}

int RunRun(const RunFlags& flags) {
  const std::string prompt = ReadPrompt(flags);
  const Model model = LoadForTask(flags.model, TextGeneration::kName);
  const auto task = model.task<TextGeneration>();

  GenerateOptions options = flags.generate;
  if (flags.greedy) options.greedy = true;
  InterruptGuard guard;
  options.cancel = guard.token();
  const Generation result = task.generate(prompt, options, [&](const TextChunk& chunk) {
    guard.Poll();
    if (!flags.json) Print(chunk.text);
  });
  Print(flags.json ? JsonLine(Json(result)) : "\n");
  Note(Speed(result));
  return result.finish_reason == FinishReason::kCancelled ? kInterrupted : kOk;
}

}  // namespace

Command AddRun(CLI::App& program) {
  auto flags = std::make_shared<RunFlags>();
  GenerateOptions& o = flags->generate;
  CLI::App* app = program.add_subcommand("run", "Continue a prompt");
  AddModelFlags(app, &flags->model);
  app->add_option("--prompt", flags->prompt, "The text to continue; default: standard input")->type_name("TEXT");
  app->add_option("--max-new-tokens", o.max_new_tokens,
                  "Tokens to generate at most; default: 256, or what the context has room for")
      ->check(WholeNumber<int>(1));
  app->add_option("--temperature", o.temperature,
                  "Sampling temperature, > 0; default of this and the next: the bundle's");
  app->add_option("--top-k", o.top_k, "Sample from the k most probable tokens; 0: all")->check(WholeNumber<int>());
  app->add_option("--top-p", o.top_p, "Sample from the smallest set with this probability, (0, 1]");
  app->add_option("--min-p", o.min_p, "Drop tokens below this fraction of the most probable one, [0, 1]");
  app->add_option("--repetition-penalty", o.repetition_penalty, "Penalty for tokens seen before, > 0; 1: none");
  app->add_option("--seed", o.seed, "Same seed, same text")->check(WholeNumber<std::uint64_t>())->capture_default_str();
  app->add_option("--stop", o.stop, "End before this text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--greedy", flags->greedy, "Always take the most probable token");
  app->add_flag("--json", flags->json,
                "Print one object with text, ids, finish_reason and counts instead of streaming");
  app->footer(
      "The text streams to standard output, speed goes to standard error. Ctrl-C ends the text, a second one the "
      "program.\n"
      "Examples:\n"
      "  mconnect run qwen3.bundle --prompt \"The capital of France is\" --max-new-tokens 16 --greedy\n"
      "  mconnect run qwen3.bundle --temperature 0.8 --top-p 0.95 --seed 7 < prompt.txt");
  return {app, [flags] { return RunRun(*flags); }};
}

}  // namespace mconnect::cli
