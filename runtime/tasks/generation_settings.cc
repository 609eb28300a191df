#include "runtime/tasks/generation_settings.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/base/json.h"

namespace mconnect {
namespace {

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

SamplingOptions ResolveSampling(const GenerationSettings& settings, const GenerateOptions& options, std::size_t row) {
  const auto& d = settings.defaults;
  SamplingOptions sampling;
  sampling.temperature = Pick(options.temperature, d.temperature, 1.0);
  sampling.top_k = Pick(options.top_k, d.top_k, std::int64_t{0});
  sampling.top_p = Pick(options.top_p, d.top_p, 1.0);
  sampling.min_p = Pick(options.min_p, d.min_p, 0.0);
  sampling.repetition_penalty = Pick(options.repetition_penalty, d.repetition_penalty, 1.0);
  sampling.seed = options.seed + row;
  ValidateSampling(sampling);  // also what greedy decoding would ignore: a wrong value is a mistake all the same
  const bool asks_to_sample = options.temperature || options.top_k || options.top_p || options.min_p;
  sampling.greedy = options.greedy.value_or(asks_to_sample ? false : d.greedy.value_or(true));
  return sampling;
}

}  // namespace mconnect
