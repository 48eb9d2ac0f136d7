// peal-run: starts the ranks of a job on this host.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "base/version.h"
#include "tools/local_launch.h"

namespace {

constexpr int kUsage = 2;
constexpr int kMostRanks = 4096;

// Where the program to run begins in argv: after "--", or at the first word that is neither an option nor the value of
// one. What comes from there on is the program's own, dashes and all.
int program_at(int argc, char** argv) {
  for (int i = 1; i < argc; i++) {
    const std::string_view word = argv[i];
    if (word == "--") return i + 1;
    if (word == "-n" || word == "--ranks") {
      i++;
    } else if (word.empty() || word.front() != '-') {
      return i;
    }
  }
  return argc;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs N copies of a program on this host as the ranks of one job.\n"
      "Usage: peal-run -n N [--prefix] [--] program [arguments]\n"
      "Exits with the code of the first rank that failed, or 0.");
  peal::LocalLaunch launch;
  bool json = false;
  app.add_option("-n,--ranks", launch.ranks, "number of ranks")->required()->check(CLI::Range(1, kMostRanks));
  app.add_flag("--prefix", launch.prefix, "begin each line of output with the rank it comes from");
  app.add_flag("--json", json, "at the end print {\"ranks\": N, \"exit_code\": C} on standard output");
  app.set_version_flag("--version", std::string(peal::describe_build()));
  const int program = program_at(argc, argv);
  const bool separated = program > 1 && std::string_view(argv[program - 1]) == "--";
  try {
    app.parse(separated ? program - 1 : program, argv);
    if (program >= argc) throw CLI::RequiredError("a program to run");
    launch.command.assign(argv + program, argv + argc);
    const int code = peal::run_local_ranks(launch);
    if (json) fmt::print("{}\n", nlohmann::json{{"ranks", launch.ranks}, {"exit_code", code}}.dump());
    return code;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  } catch (const peal::Error& error) {
    fmt::print(stderr, "peal-run: {}\n", error.what());
    return 1;
  }
}
