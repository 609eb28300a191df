#include <cstdio>
#include <memory>

#include "mconnect/error.h"
#include "runtime/bundle/bundle.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/texts.h"
#include "runtime/text/tokenizer.h"

namespace mconnect::cli {
namespace {

struct TokenizeFlags {
  std::string bundle;
  std::vector<std::string> texts;
  std::string input;
  ListFormat format = ListFormat::kAuto;
  std::vector<std::string> ids;  // each a list with commas
  bool no_special_tokens = false;
  bool json = false;
};

std::vector<std::string> Texts(const TokenizeFlags& flags) {
  if (!flags.input.empty()) return ReadTexts(flags.input, flags.format);
  for (std::size_t i = 0; i < flags.texts.size(); ++i) RequireUtf8(flags.texts[i], "--text " + std::to_string(i + 1));
  return flags.texts;
}

Tokenizer LoadTokenizer(const std::string& path) {
  const std::shared_ptr<const Bundle> bundle = Bundle::Open(path);
  if (!bundle->manifest().assets.contains("tokenizer")) {
    throw Error(ErrorCode::kNotFound, path + " has no tokenizer",
                "only bundles for text have one: see `mconnect inspect " + path + "`");
  }
  return Tokenizer::FromJson(bundle->Asset("tokenizer"));
}

// Each token on a line: id, the token as the vocabulary spells it, the piece of text that it stands for.
std::string Readable(const Tokenizer& tokenizer, const std::string& text, const Encoding& encoding) {
  std::string out = text + "\n";
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    char id[24];
    std::snprintf(id, sizeof id, "%8d  ", encoding.ids[i]);
    const Span span = encoding.byte_offsets[i];
    out += id + tokenizer.IdToToken(encoding.ids[i]).value_or("?");
    if (span.begin < span.end) out += "  \"" + text.substr(span.begin, span.end - span.begin) + "\"";
    out += '\n';
  }
  return out;
}

// Between its commas. The parser's own splitting would leave out what is empty.
std::vector<std::string> Items(const std::string& list) {
  std::vector<std::string> items(1);
  for (const char c : list) {
    if (c == ',') {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

CLI::Validator IdList() {
  return CLI::Validator(
      [](const std::string& list) -> std::string {
        for (std::string item : Items(list)) {
          if (std::string problem = WholeNumber<TokenId>()(item); !problem.empty()) return problem;
        }
        return "";
      },
      "");
}

int Decode(const Tokenizer& tokenizer, const TokenizeFlags& flags) {
  std::vector<TokenId> ids;
  for (const std::string& list : flags.ids) {
    for (const std::string& item : Items(list)) ids.push_back(std::stoi(item));  // IdList() has seen them
  }
  for (const TokenId id : ids) {
    if (!tokenizer.IdToToken(id)) {
      throw Error(ErrorCode::kInvalidArgument, "--decode: " + std::to_string(id) +
                                                   " is not an id of the vocabulary, which has " +
                                                   std::to_string(tokenizer.vocab_size()) + " tokens");
    }
  }
  const std::string text = tokenizer.Decode(ids, flags.no_special_tokens);
  Print(flags.json ? JsonLine(text) : text + "\n");
  return kOk;
}

int RunTokenize(const TokenizeFlags& flags) {
  if (!flags.texts.empty() + !flags.input.empty() + !flags.ids.empty() != 1) {
    throw UsageError("tokenize takes exactly one of --text, --input and --decode");
  }
  if (!flags.ids.empty()) return Decode(LoadTokenizer(flags.bundle), flags);
  const std::vector<std::string> texts = Texts(flags);
  const Tokenizer tokenizer = LoadTokenizer(flags.bundle);
  EncodeOptions options;
  options.add_special_tokens = !flags.no_special_tokens;
  options.max_tokens = 0;       // what the model would cut off is shown here
  options.padding = Padding();  // none
  options.offsets = !flags.json;
  if (!flags.json) {
    for (const std::string& text : texts) Print(Readable(tokenizer, text, tokenizer.Encode(text, options)));
    return kOk;
  }
  std::string out = "[";
  for (const std::string& text : texts) {
    if (out.size() > 1) out += ",";
    out += nlohmann::json(tokenizer.Encode(text, options).ids).dump();
  }
  Print(out + "]\n");
  return kOk;
}

}  // namespace

Command AddTokenize(CLI::App& program) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* app = program.add_subcommand("tokenize", "Turn texts into token ids, or back");
  app->add_option("bundle", flags->bundle, "A .bundle file, or a folder made by `mconnect unpack`")
      ->required()
      ->type_name("")
      ->option_text("BUNDLE");
  app->add_option("--text", flags->texts, "A text; may be given several times")
      ->type_name("TEXT")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--input", flags->input, "A file of texts, '-' for standard input")->type_name("FILE");
  AddListFormat(app, &flags->format);
  app->add_option("--decode", flags->ids, "Print the text of these ids, separated by commas")
      ->type_name("ID,ID,...")
      ->check(IdList());
  app->add_flag("--no-special-tokens", flags->no_special_tokens,
                "Leave out the tokens that the model adds ([CLS], <s>)");
  app->add_flag("--json", flags->json, "Print a list of lists of ids; with --decode, a string");
  app->footer(
      "Nothing is cut off or padded. In JSON, a half of a surrogate pair (\"\\ud800\") stands for U+FFFD.\n"
      "Examples:\n"
      "  mconnect tokenize minilm.bundle --text \"Unbelievable!\"\n"
      "  mconnect tokenize minilm.bundle --input strings.json --json\n"
      "  mconnect tokenize minilm.bundle --decode 101,7592,2088,102 --no-special-tokens");
  return {app, [flags] { return RunTokenize(*flags); }};
}

}  // namespace mconnect::cli
