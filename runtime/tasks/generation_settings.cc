#include "runtime/tasks/generation_settings.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "mconnect/error.h"
#include "runtime/base/json.h"
#include "runtime/base/utf8.h"
#include "runtime/text/stop_strings.h"

namespace mconnect {
namespace {

constexpr int kMaxSequences = 128;  // of one prompt
constexpr int kMaxTopLogprobs = 20;

TokenId Id(const JsonView& view) { return static_cast<TokenId>(view.Int(0, std::numeric_limits<TokenId>::max())); }

template <typename T>
T Pick(const auto& asked, const std::optional<T>& bundled, T otherwise) {
  return asked ? static_cast<T>(*asked) : bundled.value_or(otherwise);
}

}  // namespace

GenerationSettings ParseGenerationSettings(std::string_view text) {
  const std::string source = "text-generation.json";
  const Json json = ParseJson(text, source);
  const JsonView view(json, source);
  view.Closed({"bos_token_id", "eos_token_ids", "max_tokens", "pad_token_id", "defaults"});
  GenerationSettings settings = {};
  if (!view["bos_token_id"].IsNull()) settings.bos_token_id = Id(view["bos_token_id"]);
  for (const JsonView& id : view["eos_token_ids"].Items()) settings.eos_token_ids.push_back(Id(id));
  settings.max_tokens = view["max_tokens"].Int(1, std::int64_t{1} << 40);
  settings.pad_token_id = Id(view["pad_token_id"]);
  const JsonView defaults = view["defaults"];
  defaults.Closed({"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "greedy"});
  auto& d = settings.defaults;
  if (const auto v = defaults.Find("greedy")) d.greedy = v->Bool();
  if (const auto v = defaults.Find("top_k")) d.top_k = v->Int(0);
  if (const auto v = defaults.Find("temperature")) d.temperature = v->Double();
  if (const auto v = defaults.Find("top_p")) d.top_p = v->Double();
  if (const auto v = defaults.Find("min_p")) d.min_p = v->Double();
  if (const auto v = defaults.Find("repetition_penalty")) d.repetition_penalty = v->Double();
  return settings;
}

SamplingOptions ResolveSampling(const GenerationSettings& settings, const GenerateOptions& options) {
  const auto& d = settings.defaults;
  SamplingOptions sampling;
  sampling.temperature = Pick(options.temperature, d.temperature, 1.0);
  sampling.top_k = Pick(options.top_k, d.top_k, std::int64_t{0});
  sampling.top_p = Pick(options.top_p, d.top_p, 1.0);
  sampling.min_p = Pick(options.min_p, d.min_p, 0.0);
  sampling.seed = options.seed;
  ValidateSampling(sampling);  // also what greedy decoding would ignore: a wrong value is a mistake all the same
  const bool asks_to_sample = options.temperature || options.top_k || options.top_p || options.min_p;
  sampling.greedy = options.greedy.value_or(asks_to_sample ? false : d.greedy.value_or(true));
  if (options.num_beams > 1 && (asks_to_sample || options.greedy == false)) {
    throw Error(ErrorCode::kInvalidArgument,
                "num_beams is " + std::to_string(options.num_beams) + ", and beam search does not sample",
                "leave out temperature, top_k, top_p, min_p and greedy=false, or set num_beams to 1");
  }
  return sampling;
}

LogitRules ResolveRules(const GenerationSettings& settings, const GenerateOptions& options, std::int64_t vocabulary) {
  LogitRules rules;
  rules.bias.assign(options.logit_bias.begin(), options.logit_bias.end());
  rules.repetition_penalty =
      static_cast<float>(Pick(options.repetition_penalty, settings.defaults.repetition_penalty, 1.0));
  rules.presence_penalty = options.presence_penalty;
  rules.frequency_penalty = options.frequency_penalty;
  rules.min_new_tokens = options.min_new_tokens;
  rules.end_tokens = settings.eos_token_ids;
  ValidateLogitRules(rules, vocabulary);
  return rules;
}

void ValidateOptions(const GenerateOptions& options) {
  const auto within = [](const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + " is " + std::to_string(value) + ", the limits are " +
                                                 std::to_string(least) + " and " + std::to_string(most));
  };
  within("n", options.n, 1, kMaxSequences);
  within("num_beams", options.num_beams, 1, kMaxSequences);
  within("top_logprobs", options.top_logprobs, 0, kMaxTopLogprobs);
  StopStrings(options.stop);  // refuses an empty one
  for (std::size_t i = 0; i < options.stop.size(); ++i)
    RequireUtf8(options.stop[i], "stop string " + std::to_string(i));
  if (options.num_beams > 1) {
    within("n of beam search", options.n, 1, options.num_beams);
    if (!std::isfinite(options.length_penalty)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "length_penalty is " + std::to_string(options.length_penalty) + ", but must be a finite number");
    }
  }
  if (options.timeout_seconds && !(*options.timeout_seconds > 0)) {
    throw Error(ErrorCode::kInvalidArgument,
                "timeout_seconds is " + std::to_string(*options.timeout_seconds) + ", but must be a number above 0");
  }
}

}  // namespace mconnect
