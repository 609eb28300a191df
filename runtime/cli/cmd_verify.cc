#include <memory>

#include "mconnect/error.h"
#include "runtime/bundle/bundle.h"
#include "runtime/bundle/store.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"
#include "runtime/cli/watched_bundle.h"

namespace mconnect::cli {
namespace {

struct Damage {
  std::string path;
  std::string message;
};

// The members that are damaged, all of them and not only the first. Whole bundles, which nearly all are, are read once;
// in others the members are then looked at one by one.
std::vector<Damage> FindDamage(const std::shared_ptr<const Bundle>& bundle, std::uint64_t total) {
  try {
    Progress progress("verifying", Progress::Unit::kBytes);
    WatchedBundle(bundle, [&](std::uint64_t done) { progress.Update(done, total); }).Verify(0, nullptr);
    return {};
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kCorrupt) throw;
    Progress progress("looking for the damage", Progress::Unit::kBytes);
    const WatchedBundle watched(bundle, [&](std::uint64_t done) { progress.Update(done, total); });
    std::vector<Damage> damage;
    for (std::size_t i = 0; i < bundle->members().size(); ++i) {
      try {
        watched.Stream({&i, 1}, nullptr, 0);
      } catch (const Error& member) {
        if (member.code() != ErrorCode::kCorrupt) throw;
        damage.push_back({bundle->members()[i].path, member.message()});
      }
    }
    // What no single member shows: bytes between members, the end of the archive.
    if (damage.empty()) throw;
    return damage;
  }
}

// Empty where no store is named and the user has none.
std::filesystem::path StoreFolder(const std::string& named) {
  if (!named.empty()) return named;
  try {
    return Store::DefaultFolder();
  } catch (const Error&) {
    return {};
  }
}

int RunVerify(const std::string& path, const std::string& store_folder, bool json) {
  const std::shared_ptr<const Bundle> bundle = Bundle::Open(path);
  std::uint64_t total = 0;
  for (const MemberInfo& member : bundle->members()) total += member.size;
  const std::vector<Damage> damage = FindDamage(bundle, total);
  const Store store(StoreFolder(store_folder));
  const std::vector<std::string> blobs = store.folder().empty() ? std::vector<std::string>() : store.Verify(*bundle);
  if (json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Damage& d : damage) list.push_back({{"path", d.path}, {"message", d.message}});
    Print(JsonLine({{"id", bundle->id()},
                    {"members", bundle->members().size()},
                    {"bytes", total},
                    {"ok", damage.empty() && blobs.empty()},
                    {"damaged", list},
                    {"removed_from_store", blobs}}));
  } else if (damage.empty() && blobs.empty()) {
    Print("ok  " + std::to_string(bundle->members().size()) + " members, " + HumanBytes(total) + ", id " +
          bundle->id() + "\n");
  }
  if (!blobs.empty()) {
    PrintError(store.folder().string() + ": " + std::to_string(blobs.size()) +
                   " of the bundle's blobs were damaged and " + "have been removed; the bundle itself is " +
                   (damage.empty() ? "whole" : "damaged too"),
               "the next load extracts them again");
  }
  if (damage.empty()) return blobs.empty() ? kOk : kFailed;
  std::string message = path + " is damaged: " + std::to_string(damage.size()) + " of " +
                        std::to_string(bundle->members().size()) + " members";
  for (const Damage& d : damage) message += "\n  " + d.path + ": " + d.message;
  PrintError(message, "copy or build the bundle again");
  return kFailed;
}

}  // namespace

Command AddVerify(CLI::App& program) {
  struct Flags {
    std::string bundle;
    std::string store;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app = program.add_subcommand("verify", "Check every digest of a bundle");
  app->add_option("bundle", flags->bundle, "A .bundle file, or a folder made by `mconnect unpack`")
      ->required()
      ->type_name("")
      ->option_text("BUNDLE");
  app->add_option("--store", flags->store,
                  "Where bundles are unpacked to; default: $MCONNECT_STORE, else the user's cache. What it has of the "
                  "bundle is checked too, and removed where it is damaged")
      ->type_name("FOLDER");
  app->add_flag("--json", flags->json,
                "Print {\"id\", \"members\", \"bytes\", \"ok\", \"damaged\": [{\"path\", \"message\"}], "
                "\"removed_from_store\": [sha256]}");
  app->footer(
      "Exit code 0: every byte is as promised. 1: not; what is damaged is named.\n"
      "Examples:\n"
      "  mconnect verify minilm.bundle\n"
      "  mconnect verify minilm.bundle --json");
  return {app, [flags] { return RunVerify(flags->bundle, flags->store, flags->json); }};
}

}  // namespace mconnect::cli
