#include <algorithm>
#include <memory>

#include "runtime/bundle/bundle.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"
#include "runtime/cli/json_out.h"

namespace mconnect::cli {
namespace {

std::string Pad(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string PadLeft(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string Row(std::string_view key, const std::string& value) { return Pad(std::string(key), 12) + value + "\n"; }

std::string Join(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out.empty() ? "none" : out;
}

// Any record with name, dtype and shape. nlohmann's view of the manifest is used rather than the typed one: what is
// printed is then what is written.
std::string Spec(const nlohmann::json& tensor) {
  std::string shape;
  for (const nlohmann::json& dimension : tensor["shape"]) {
    shape += (shape.empty() ? "" : ",") + (dimension.is_string() ? dimension.get<std::string>() : dimension.dump());
  }
  return tensor["name"].get<std::string>() + " " + tensor["dtype"].get<std::string>() + " [" + shape + "]";
}

std::string ModuleText(const std::string& name, const nlohmann::json& module) {
  std::string out = "\nmodule " + name + (module["stateful"].get<bool>() ? " (keeps state between runs)" : "") + "\n";
  for (const nlohmann::json& tensor : module["inputs"]) out += "  input    " + Spec(tensor) + "\n";
  for (const nlohmann::json& tensor : module["outputs"]) out += "  output   " + Spec(tensor) + "\n";
  for (const nlohmann::json& variant : module["variants"]) {
    out += "  variant  " + variant["engine"].get<std::string>();
    for (const auto& [key, value] : variant["requires"].items())
      out += ", " + key + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    out += "  " + variant["path"].get<std::string>() + "\n";
  }
  return out;
}

std::string Origin(const nlohmann::json& checkpoint) {
  std::string out = checkpoint["source"].get<std::string>();
  for (const char* key : {"repository", "revision"}) {
    if (checkpoint[key].is_string())
      out += (std::string_view(key) == "repository" ? " " : " at ") + checkpoint[key].get<std::string>();
  }
  return out + ", " + std::to_string(checkpoint["files"].size()) + " files";
}

std::string Readable(const Bundle& bundle, const nlohmann::json& manifest) {
  const Manifest& m = bundle.manifest();
  std::uint64_t total = 0, weights = 0;
  for (const MemberInfo& member : bundle.members()) {
    total += member.size;
    if (member.path.starts_with("weights/")) weights += member.size;
  }
  std::string out = Row("bundle", bundle.path().string()) + Row("name", m.name) + Row("id", bundle.id()) +
                    Row("family", m.family) + Row("tasks", Join(m.tasks)) +
                    Row("origin", Origin(manifest["checkpoint"])) + Row("licence", m.licence.value_or("not stated")) +
                    Row("format", std::to_string(m.format) + ", builder " + m.builder) +
                    Row("size", HumanBytes(total) + " unpacked, " + HumanBytes(weights) + " of it weights");
  for (const auto& [name, module] : manifest["modules"].items()) out += ModuleText(name, module);
  out += "\nmembers\n";
  for (const MemberInfo& member : bundle.members()) {
    out += "  " + PadLeft(HumanBytes(member.size), 10) + "  " + Pad(member.sha256.substr(0, 12), 12) + "  " +
           member.path + "\n";
  }
  return out;
}

int RunInspect(const std::string& path, bool json) {
  const std::shared_ptr<const Bundle> bundle = Bundle::Open(path);
  const std::string manifest = bundle->Read("manifest.json");
  if (!json) {
    Print(Readable(*bundle, nlohmann::json::parse(manifest)));
    return kOk;
  }
  nlohmann::ordered_json out = {{"id", bundle->id()}};
  out.update(nlohmann::ordered_json::parse(manifest));
  Print(JsonLine(out));
  return kOk;
}

}  // namespace

Command AddInspect(CLI::App& program) {
  struct Flags {
    std::string bundle;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* app = program.add_subcommand("inspect", "Say what a bundle holds, without unpacking it");
  app->add_option("bundle", flags->bundle, "A .bundle file, or a folder made by `mconnect unpack`")
      ->required()
      ->type_name("")
      ->option_text("BUNDLE");
  app->add_flag("--json", flags->json, "Print the manifest and the bundle's id as one object");
  app->footer(
      "Examples:\n"
      "  mconnect inspect minilm.bundle\n"
      "  mconnect inspect minilm.bundle --json | python3 -m json.tool");
  return {app, [flags] { return RunInspect(flags->bundle, flags->json); }};
}

}  // namespace mconnect::cli
