#include <memory>

#include "runtime/bundle/bundle.h"
#include "runtime/bundle/store.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/watched_bundle.h"

namespace mconnect::cli {
namespace {

int RunUnpack(const std::string& path, const std::string& folder, bool json) {
  const std::shared_ptr<const Bundle> bundle = Bundle::Open(path);
  std::uint64_t total = 0;
  for (const MemberInfo& member : bundle->members()) total += member.size;
  {
    Progress progress("unpacking " + bundle->manifest().name, Progress::Unit::kBytes);
    Unpack(WatchedBundle(bundle, [&](std::uint64_t done) { progress.Update(done, total); }), folder);
  }
  const std::size_t members = bundle->members().size();
  Print(json ? JsonLine({{"id", bundle->id()}, {"folder", folder}, {"members", members}, {"bytes", total}})
             : std::to_string(members) + " members, " + HumanBytes(total) + " in " + folder + "\n");
  return kOk;
}

}  // namespace

Command AddUnpack(CLI::App& program) {
  struct Flags {
    std::string bundle;
    std::string folder;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app = program.add_subcommand("unpack", "Make a folder that loads as it is, without a store");
  app->add_option("bundle", flags->bundle, "A .bundle file")->required()->type_name("")->option_text("BUNDLE");
  app->add_option("folder", flags->folder, "Where to; must not exist yet, or be empty")
      ->required()
      ->type_name("")
      ->option_text("FOLDER");
  app->add_flag("--json", flags->json, "Print {\"id\", \"folder\", \"members\", \"bytes\"}");
  app->footer(
      "Every digest is checked on the way; the folder appears when it is complete.\n"
      "Examples:\n"
      "  mconnect unpack minilm.bundle minilm/\n"
      "  mconnect embed minilm/ --text \"a cat\"");
  return {app, [flags] { return RunUnpack(flags->bundle, flags->folder, flags->json); }};
}

}  // namespace mconnect::cli
