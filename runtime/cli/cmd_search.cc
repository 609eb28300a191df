#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>

#include "mconnect/error.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/model_flags.h"
#include "runtime/cli/passages.h"
#include "runtime/cli/texts.h"

namespace mconnect::cli {
namespace {

struct SearchFlags {
  ModelFlags model;
  std::string folder;
  std::vector<std::string> queries;
  int top = 5;
  int max_file_mb = 16;
  bool json = false;
};

struct Hit {
  double score;
  std::size_t passage;
};

// The `top` passages closest to the query; of equal scores, the first in the folder.
std::vector<Hit> Best(std::span<const float> query, const Embeddings& passages, int top) {
  std::vector<Hit> hits(static_cast<std::size_t>(passages.count()));
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const std::span<const float> vector = passages[static_cast<std::int64_t>(i)];
    hits[i] = {std::inner_product(query.begin(), query.end(), vector.begin(), 0.0), i};
  }
  const auto count = std::min(hits.size(), static_cast<std::size_t>(top));
  const auto better = [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.passage < b.passage;
  };
  std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(count), hits.end(), better);
  hits.resize(count);
  return hits;
}

nlohmann::ordered_json JsonHits(const std::vector<Hit>& hits, const std::vector<Passage>& passages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Hit& hit : hits) {
    const Passage& p = passages[hit.passage];
    list.push_back({{"score", hit.score}, {"file", p.file}, {"line", p.line}, {"text", p.text}});
  }
  return list;
}

std::string ReadableHits(const std::string& query, const std::vector<Hit>& hits, const std::vector<Passage>& passages) {
  std::string out = query + "\n";
  for (const Hit& hit : hits) {
    char score[32];
    std::snprintf(score, sizeof score, "  %6.3f  ", hit.score);
    const Passage& p = passages[hit.passage];
    out += score + p.file + ":" + std::to_string(p.line) + "  " + p.text + "\n";
  }
  return out;
}

int RunSearch(const SearchFlags& flags) {
  for (const std::string& query : flags.queries) {
    RequireUtf8(query, "the query");
    if (query.find_first_not_of(" \t\r\n") == std::string::npos) throw UsageError("the query is empty");
  }
  FolderOptions folder;
  folder.max_file_bytes = static_cast<std::uint64_t>(flags.max_file_mb) << 20;
  const std::vector<Passage> passages =
      ReadPassages(flags.folder, folder, [](const std::string& text) { Note("note: " + text); });
  if (passages.empty()) {
    throw Error(ErrorCode::kNotFound, flags.folder + " holds no text that can be searched",
                "name a folder with UTF-8 text files");
  }
  std::vector<std::string> texts;
  texts.reserve(passages.size());
  for (const Passage& p : passages) texts.push_back(p.text);

  const Model model = LoadForTask(flags.model, TextEmbedding::kName);
  const auto embedding = model.task<TextEmbedding>();
  EmbedOptions options;
  options.normalize = true;  // dot products are then cosines
  const Embeddings queries = embedding.embed(flags.queries, options);
  const Embeddings vectors = EmbedAll(embedding, texts, options);

  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (std::size_t q = 0; q < flags.queries.size(); ++q) {
    const std::vector<Hit> hits = Best(queries[static_cast<std::int64_t>(q)], vectors, flags.top);
    if (flags.json) {
      json.push_back({{"query", flags.queries[q]}, {"hits", JsonHits(hits, passages)}});
    } else {
      Print((q > 0 ? "\n" : "") + ReadableHits(flags.queries[q], hits, passages));
    }
  }
  if (flags.json) Print(JsonLine(json));
  return kOk;
}

}  // namespace

Command AddSearch(CLI::App& program) {
  auto flags = std::make_shared<SearchFlags>();
  CLI::App* app = program.add_subcommand("search", "Find passages in a folder of text by meaning");
  AddModelFlags(app, &flags->model);
  app->add_option("folder", flags->folder, "A folder of text files, or one file")
      ->required()
      ->type_name("")
      ->option_text("FOLDER");
  app->add_option("query", flags->queries, "What to look for; each query gets its own answer")
      ->required()
      ->type_name("")
      ->option_text("QUERY...");
  app->add_option("--top", flags->top, "Hits for each query")->check(CLI::Range(1, 10000))->capture_default_str();
  app->add_option("--max-file-mb", flags->max_file_mb, "Leave out files larger than this, in MiB")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app->add_flag("--json", flags->json, "Print [{\"query\", \"hits\": [{\"score\", \"file\", \"line\", \"text\"}]}]");
  app->footer(
      "Texts are cut into sentences; scores are cosines (1: the same meaning). Hidden, binary and oversized files are "
      "left out.\n"
      "Examples:\n"
      "  mconnect search minilm.bundle notes/ \"how do I keep tomatoes from splitting?\"\n"
      "  mconnect search minilm.bundle notes/ \"holiday plans\" \"dentist\" --top 3 --json");
  return {app, [flags] { return RunSearch(*flags); }};
}

}  // namespace mconnect::cli
