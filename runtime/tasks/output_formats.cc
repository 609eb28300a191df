#include "runtime/tasks/output_formats.h"

#include <algorithm>
#include <vector>

#include "mconnect/error.h"
#include "runtime/base/utf8.h"
#include "runtime/text/constraint/json_schema.h"
#include "runtime/text/constraint/regex_grammar.h"

namespace mconnect {
namespace {

// Names a format among all others.
std::string Key(const OutputFormat& format) {
  std::string key = std::to_string(static_cast<int>(format.kind)) + ":" + format.text;
  for (const std::string& choice : format.choices) key += "\n" + std::to_string(choice.size()) + ":" + choice;
  return key;
}

Grammar Compile(const OutputFormat& format) {
  RequireUtf8(format.text, "the output format");
  if (format.kind == OutputFormat::Kind::kJsonSchema) return JsonSchemaGrammar(format.text);
  GrammarBuilder builder;
  const Grammar::NodeId rule = builder.NewRule();
  if (format.kind == OutputFormat::Kind::kRegex) {
    builder.Define(rule, RegexFragment(format.text, builder));
    return builder.Finish(rule);
  }
  if (format.choices.empty()) throw Error(ErrorCode::kInvalidArgument, "the output format is a choice of nothing");
  std::vector<Fragment> choices;
  for (std::size_t i = 0; i < format.choices.size(); ++i) {
    if (format.choices[i].empty()) {
      throw Error(ErrorCode::kInvalidArgument, "choice " + std::to_string(i) + " of the output format is empty");
    }
    RequireUtf8(format.choices[i], "choice " + std::to_string(i) + " of the output format");
    choices.push_back(builder.Literal(format.choices[i]));
  }
  builder.Define(rule, builder.Either(choices));
  return builder.Finish(rule);
}

}  // namespace

OutputFormats::OutputFormats(std::shared_ptr<const Tokenizer> tokenizer, AssetReader tokenizer_json,
                             std::int64_t vocabulary)
    : tokenizer_(std::move(tokenizer)), tokenizer_json_(std::move(tokenizer_json)), vocabulary_(vocabulary) {}

std::shared_ptr<const TokenConstraint> OutputFormats::Get(const OutputFormat& format) const {
  if (format.kind == OutputFormat::Kind::kAny) return nullptr;
  const std::string key = Key(format);
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(kept_, key, [](const auto& entry) { return entry.first; });
  if (known != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, known);
    return kept_.front().second;
  }
  Grammar grammar = Compile(format);
  if (tokens_ == nullptr) {
    tokens_ = std::make_shared<const VocabularyTrie>(ReadTokenBytes(*tokenizer_, tokenizer_json_(), vocabulary_));
  }
  kept_.emplace_front(key, std::make_shared<const TokenConstraint>(std::move(grammar), tokens_));
  if (kept_.size() > kKept) kept_.pop_back();
  return kept_.front().second;
}

}  // namespace mconnect
