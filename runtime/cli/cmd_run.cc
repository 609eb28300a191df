#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mconnect/text_generation.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/conversation.h"
#include "runtime/cli/generation_flags.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/model_flags.h"
#include "runtime/cli/texts.h"
#include "runtime/text/tokenizer.h"

namespace mconnect::cli {
namespace {

struct RunFlags {
  ModelFlags model;
  GenerationFlags generate;
  std::optional<std::string> prompt;
  std::optional<std::string> system;
  std::string variables;
  bool raw = false;
  bool allow_special_tokens = false;
  bool json = false;
};

// --prompt, or standard input when it is a pipe or a file. One newline at its end is the shell's, not the prompt's.
std::string ReadPrompt(const RunFlags& flags) {
  std::string prompt;
  if (flags.prompt && *flags.prompt != "-") {
    prompt = *flags.prompt;
  } else {
    prompt = ReadInput("-");
    if (prompt.ends_with('\n')) prompt.pop_back();
    if (prompt.ends_with('\r')) prompt.pop_back();
  }
  RequireUtf8(prompt, "the prompt");
  return prompt;
}

nlohmann::ordered_json Logprobs(const Generation& result, const Tokenizer& tokenizer) {
  const auto one = [&](std::int32_t id, float logprob) {
    return nlohmann::ordered_json{{"id", id}, {"token", tokenizer.IdToToken(id).value_or("")}, {"logprob", logprob}};
  };
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TokenLogprob& token : result.logprobs) {
    nlohmann::ordered_json entry = one(token.id, token.logprob);
    for (const auto& [id, logprob] : token.top) entry["top"].push_back(one(id, logprob));
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::ordered_json Json(const Generation& result, const Tokenizer* tokenizer) {
  nlohmann::ordered_json json = {{"text", result.text},
                                 {"ids", result.ids},
                                 {"finish_reason", FinishReasonName(result.finish_reason)},
                                 {"prompt_tokens", result.prompt_tokens},
                                 {"completion_tokens", result.completion_tokens},
                                 {"prefill_seconds", result.prefill_seconds},
                                 {"decode_seconds", result.decode_seconds}};
  if (tokenizer != nullptr) json["logprobs"] = Logprobs(result, *tokenizer);
  return json;
}

void PrintJson(const std::vector<Generation>& results, const Model& model, bool logprobs) {
  std::optional<Tokenizer> tokenizer;
  if (logprobs) tokenizer = Tokenizer::FromJson(model.asset("tokenizer"));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Generation& result : results) list.push_back(Json(result, tokenizer ? &*tokenizer : nullptr));
  Print(JsonLine(list.size() == 1 ? list[0] : list));
}

int RunRun(const RunFlags& flags) {
  ConversationOptions talk;
  talk.generate = Resolve(flags.generate);
  talk.chat.variables = flags.variables;
  talk.chat.allow_special_tokens_in_content = flags.allow_special_tokens;
  talk.system = flags.system;
  talk.json = flags.json;
  if (flags.system) RequireUtf8(*flags.system, "--system");
  // Without a prompt a person at a terminal talks to the model; whether it can talk is known when it is loaded.
  const bool terminal = !flags.prompt && IsTerminal(STDIN_FILENO);
  const std::string prompt = terminal ? "" : ReadPrompt(flags);
  const Model model = LoadForTask(flags.model, TextGeneration::kName);
  const auto task = model.task<TextGeneration>();
  const bool chat = task.has_chat_template() && !flags.raw;
  if (flags.system && !chat) throw UsageError("--system needs a model with a chat template, and not --raw");
  if (terminal && !chat) throw UsageError("run needs a prompt: --prompt TEXT, or one through standard input");
  if (terminal && talk.generate.n > 1) throw UsageError("--n above 1 needs --prompt");
  if (terminal) return Converse(task, talk);

  std::vector<Message> messages;
  if (flags.system) messages.push_back({"system", *flags.system});
  messages.push_back({"user", prompt});
  const Prompt input = chat ? Prompt(task.encode_chat(messages, talk.chat)) : Prompt(prompt);
  InterruptGuard guard;
  talk.generate.cancel = guard.token();
  const bool streams = !flags.json && talk.generate.n == 1;
  const std::vector<Generation> results = task.generate_batch({input}, talk.generate, [&](const TextChunk& chunk) {
    guard.Poll();
    if (streams) Print(chunk.text);
  });
  if (flags.json) PrintJson(results, model, talk.generate.logprobs);
  if (streams) Print("\n");
  for (std::size_t i = 0; i < results.size() && !flags.json && !streams; ++i) {
    Print("[" + std::to_string(i + 1) + "] " + results[i].text + "\n");
  }
  Note(Speed(results[0]));
  return results[0].finish_reason == FinishReason::kCancelled ? kInterrupted : kOk;
}

}  // namespace

Command AddRun(CLI::App& program) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* app = program.add_subcommand("run", "Talk to a model, or continue a prompt");
  AddModelFlags(app, &flags->model);
  app->add_option("--prompt", flags->prompt, "What to answer or continue; default: standard input")->type_name("TEXT");
  app->add_option("--system", flags->system, "What the model is told before the conversation")->type_name("TEXT");
  app->add_flag("--raw", flags->raw, "Continue the prompt as it is, also where the model has a chat template");
  app->add_option("--template-variables", flags->variables,
                  "Variables for the chat template: {\"enable_thinking\": false}")
      ->type_name("JSON");
  app->add_flag("--allow-special-tokens", flags->allow_special_tokens,
                "Let special tokens act that stand in the prompt of a chat");
  AddGenerationFlags(app, &flags->generate);
  app->add_flag("--json", flags->json,
                "Print one object with text, ids, finish_reason and counts instead of streaming");
  app->footer(
      "A model with a chat template answers; without --prompt, at a terminal, it holds a conversation. Other models\n"
      "continue the prompt.\n"
      "The text streams to standard output, speed goes to standard error. Ctrl-C ends the text, a second one the "
      "program.\n"
      "Examples:\n"
      "  mconnect run qwen3.bundle --system \"Be brief.\"\n"
      "  mconnect run qwen3.bundle --prompt \"Is 7 prime?\" --choice yes --choice no\n"
      "  mconnect run qwen3.bundle --prompt \"The capital of France is\" --max-new-tokens 16 --greedy\n"
      "  mconnect run qwen3.bundle --temperature 0.8 --top-p 0.95 --seed 7 < prompt.txt");
  return {app, [flags] { return RunRun(*flags); }};
}

}  // namespace mconnect::cli
