// `mconnect`: the command line of the native runtime.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "mconnect/error.h"
#include "mconnect/log.h"
#include "runtime/cli/command.h"
#include "runtime/cli/console.h"

namespace mconnect::cli {
namespace {

constexpr const char* kVersion = "mconnect 0.1.0";

// Help and version go to standard output and succeed; everything else that the parser throws is a mistake in usage.
int ReportParse(CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {
    std::ostringstream text, unused;
    program.exit(error, text, unused);
    Print(text.str());
    return kOk;
  }
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  PrintError(error.what(), "see `mconnect " + (chosen.empty() ? "" : chosen[0]->get_name() + " ") + "--help`");
  return kUsage;
}

// A first word that is no command gets an answer that names the commands, which the parser's own message does not.
void RefuseUnknownCommand(const std::vector<Command>& commands, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  const std::string word = argv[1];
  if (word == "build" || word == "debug") {
    throw UsageError("`" + word + "` is a command of the Python tool: bazel run //tools/mconnect -- " + word +
                     " --help");
  }
  std::string names;
  for (const Command& command : commands) {
    if (command.app->get_name() == word) return;
    names += (names.empty() ? "" : ", ") + command.app->get_name();
  }
  throw UsageError("no command is called '" + word + "'; there are: " + names);
}

int Main(int argc, char** argv) {
  CLI::App program("Runs bundles: text generation, embedding and search, on this machine.", "mconnect");
  program.footer(
      "Each command explains itself with examples: mconnect COMMAND --help\n"
      "Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 the output was closed.");
  program.set_version_flag("--version", kVersion);
  program.require_subcommand(1);
  const std::vector<Command> commands = {AddRun(program),    AddEmbed(program),    AddSearch(program),
                                         AddScore(program),  AddTokenize(program), AddInspect(program),
                                         AddVerify(program), AddUnpack(program)};
  RefuseUnknownCommand(commands, argc, argv);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return ReportParse(program, e);
  }
  const auto chosen = std::find_if(commands.begin(), commands.end(), [](const Command& c) { return c.app->parsed(); });
  try {
    return chosen->run();
  } catch (const UsageError& e) {
    PrintError(e.what(), "see `mconnect " + chosen->app->get_name() + " --help`");
    return kUsage;
  }
}

}  // namespace
}  // namespace mconnect::cli

int main(int argc, char** argv) {
  namespace cli = mconnect::cli;
  cli::PrepareStandardStreams();
  // `bazel run` starts programs in a folder of its own and names the user's here: paths are relative to that one.
  if (const char* folder = std::getenv("BUILD_WORKING_DIRECTORY"); folder != nullptr && chdir(folder) != 0) {
    cli::Note("warning: cannot change to BUILD_WORKING_DIRECTORY, " + std::string(folder));
  }
  mconnect::SetLogSink([](mconnect::LogLevel level, std::string_view message) {
    if (level == mconnect::LogLevel::kWarning) cli::Note("warning: " + std::string(message));
  });
  try {
    return cli::Main(argc, argv);
  } catch (const cli::BrokenPipe&) {
    return cli::kBrokenPipe;
  } catch (const cli::UsageError& e) {
    cli::PrintError(e.what(), "see `mconnect --help`");
    return cli::kUsage;
  } catch (const mconnect::Error& e) {
    cli::PrintError(e.message(), e.remedy());
    return cli::kFailed;
  } catch (const std::bad_alloc&) {
    cli::PrintError("out of memory", "use a smaller input or --batch-size");
    return cli::kFailed;
  } catch (const std::exception& e) {
    cli::PrintError(e.what(), "");
    return cli::kFailed;
  }
}
