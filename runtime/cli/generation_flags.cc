#include "runtime/cli/generation_flags.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

constexpr double kGreatest = std::numeric_limits<float>::max();

// "ID=NUMBER": a token and what is added to its logit.
std::pair<std::int32_t, float> ParseBias(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::int32_t id = 0;
  float bias = 0;
  const auto head = std::from_chars(text.data(), end, id);
  if (head.ec == std::errc() && id >= 0 && head.ptr != end && *head.ptr == '=') {
    const auto tail = std::from_chars(head.ptr + 1, end, bias);
    if (tail.ec == std::errc() && tail.ptr == end && !std::isnan(bias) && bias != INFINITY) return {id, bias};
  }
  throw UsageError("--logit-bias: '" + text + "' is not ID=NUMBER, such as 42=-1.5 or 42=-inf");
}

}  // namespace

void AddGenerationFlags(CLI::App* app, GenerationFlags* flags) {
  GenerateOptions& o = flags->options;
  const auto many = [](CLI::Option* option) {
    option->type_name("TEXT")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  app->add_option("--max-new-tokens", o.max_new_tokens,
                  "Tokens to generate at most; default: 256, or what the context has room for")
      ->check(WholeNumber<int>(1));
  app->add_option("--min-new-tokens", o.min_new_tokens, "Do not end before")->check(WholeNumber<int>());
  app->add_option("--temperature", o.temperature,
                  "Sampling temperature, > 0; default of this and the next: the bundle's")
      ->check(RealNumber(0, true, kGreatest, "above 0"));
  app->add_option("--top-k", o.top_k, "Sample from the k most probable tokens; 0: all")->check(WholeNumber<int>());
  app->add_option("--top-p", o.top_p, "Sample from the smallest set with this probability, (0, 1]")
      ->check(RealNumber(0, true, 1, "above 0 and up to 1"));
  app->add_option("--min-p", o.min_p, "Drop tokens below this fraction of the most probable one, [0, 1]")
      ->check(RealNumber(0, false, 1, "from 0 to 1"));
  app->add_option("--repetition-penalty", o.repetition_penalty, "Penalty for tokens seen before, > 0; 1: none")
      ->check(RealNumber(0, true, kGreatest, "above 0"));
  app->add_option("--presence-penalty", o.presence_penalty, "Subtracted from logits of tokens that were generated");
  app->add_option("--frequency-penalty", o.frequency_penalty, "The same, for each time that they were");
  app->add_option("--seed", o.seed, "Same seed, same text")->check(WholeNumber<std::uint64_t>())->capture_default_str();
  many(app->add_option("--stop", o.stop, "End before this text; may be given several times"));
  app->add_option("--logit-bias", flags->biases, "Add to the logit of a token; -inf forbids it; several times")
      ->type_name("ID=NUMBER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--greedy", flags->greedy, "Always take the most probable token");
  app->add_option("--n", o.n, "Continuations of the prompt")->check(WholeNumber<int>(1, 128))->capture_default_str();
  app->add_option("--num-beams", o.num_beams, "Beam search of this width; the --n best are printed")
      ->check(WholeNumber<int>(1, 128))
      ->capture_default_str();
  app->add_option("--length-penalty", o.length_penalty, "Of beam search: above 0 favours long texts")
      ->capture_default_str();
  const std::map<std::string, EarlyStopping> early = {
      {"no", EarlyStopping::kHeuristic}, {"yes", EarlyStopping::kYes}, {"never", EarlyStopping::kNever}};
  app->add_option_function<std::string>(
         "--early-stopping", [=](const std::string& name) { flags->options.early_stopping = early.at(name); },
         "Of beam search: end with the first --num-beams texts, when better ones are unlikely, or when there are none")
      ->type_name("yes|no|never")
      ->check(CLI::IsMember({"yes", "no", "never"}));
  app->add_option("--logprobs", flags->logprobs,
                  "With --json: the log-probability of each token and of this many others, 0 to 20")
      ->check(WholeNumber<int>(0, 20));
  app->add_flag("--ignore-eos", o.ignore_eos, "Go on to --max-new-tokens, for measurements");
  app->add_option("--timeout", o.timeout_seconds, "End after so many seconds with what there is")
      ->check(RealNumber(0, true, kGreatest, "of seconds above 0"));
  app->add_option("--schema", flags->schema, "Write JSON that is valid under the JSON schema in this file")
      ->type_name("FILE");
  app->add_option("--regex", flags->regex, "Write what this regular expression matches")->type_name("PATTERN");
  many(app->add_option("--choice", flags->choices, "Write one of the texts given so; several times"));
}

GenerateOptions Resolve(const GenerationFlags& flags) {
  GenerateOptions options = flags.options;
  if (flags.greedy) options.greedy = true;
  options.logprobs = flags.logprobs.has_value();
  options.top_logprobs = flags.logprobs.value_or(0);
  for (const std::string& text : flags.biases) {
    const auto [id, bias] = ParseBias(text);
    options.logit_bias[id] = bias;
  }
  const int formats = !flags.schema.empty() + flags.regex.has_value() + !flags.choices.empty();
  if (formats > 1) throw UsageError("--schema, --regex and --choice exclude each other");
  using Kind = OutputFormat::Kind;
  if (!flags.schema.empty()) options.format = {Kind::kJsonSchema, ReadInput(flags.schema), {}};
  if (flags.regex) options.format = {Kind::kRegex, *flags.regex, {}};
  if (!flags.choices.empty()) options.format = {Kind::kChoice, "", flags.choices};
  return options;
}

}  // namespace mconnect::cli
