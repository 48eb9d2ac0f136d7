// peal-topo: the machine, its rings, and what messages on it take.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "base/version.h"
#include "tools/command_line.h"
#include "tools/local_launch.h"
#include "tools/topo/drawing.h"
#include "tools/topo/measure.h"
#include "tools/topo/rings_report.h"
#include "tools/topo/tree_text.h"
#include "topology/cuda_devices.h"
#include "topology/places.h"
#include "topology/read.h"

namespace peal::topo {
namespace {

struct Asked {
  std::string from, draw, convert;
  bool rings = false, trees = false, as_json = false, measure = false;
  int ranks = 0, place = 0;
};

void add_options(CLI::App& app, Asked* asked) {
  CLI::Option* from = app.add_option(
      "--from", asked->from,
      "a file: Peal's JSON, hwloc XML, NCCL XML, the table of nvidia-smi topo -m; or a line such as "
      "\"package:2 core:8 gpu:4 nic:1\" or \"host:8 dgx-h100\" (default: this machine, or PEAL_TOPO_FILE)");
  app.add_flag("--rings", asked->rings,
               "rings over the GPUs, each hop's kind, and the bound that says how good they are");
  app.add_flag("--trees", asked->trees, "trees over the GPUs");
  app.add_option("--place", asked->place, "where N ranks on this host sit, and the order of rings that follows")
      ->check(CLI::Range(1, 4096));
  app.add_option("--draw", asked->draw, "a picture (SVG) in this file");
  app.add_option("--convert", asked->convert,
                 "the machine in Peal's JSON, for PEAL_TOPO_FILE, in this file (- is standard output)");
  app.add_flag("--json", asked->as_json, "everything as JSON on standard output");
  CLI::Option* measure =
      app.add_flag("--measure", asked->measure,
                   "measure messages between the ranks of this job, by PEAL_TRANSPORT; with --convert they are kept");
  measure->excludes(from);
  app.add_option("--ranks", asked->ranks, "with --measure: start this many ranks on this host")
      ->check(CLI::Range(2, 4096))
      ->needs(measure);
  app.set_version_flag("--version", std::string(describe_build()));
  app.footer(
      "Hops, nearest first: NVLINK, XGMI, C2C, PIX (one PCI switch), PXB (several), PHB (host bridge), NODE, SYS "
      "(sockets), NET.");
}

void write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw system_error(fmt::format("writing '{}'", path), errno);
}

std::string placement_text(const Host& host, int ranks) {
  std::vector<Place> places;
  std::string text;
  for (int rank = 0; rank < ranks; rank++) {
    places.push_back(place_on(host, host.name, share_of_cpus(host, rank, ranks)));
    text += fmt::format("  rank {}: {}\n", rank, to_string(places.back()));
  }
  return text + fmt::format("  ring order and groups: {}\n", to_string(place_ranks(places)));
}

void show(const Asked& asked, const Machine& machine) {
  for (const Warning& warning : machine.warnings) fmt::print(stderr, "peal-topo: {}\n", to_string(warning));
  if (!asked.draw.empty()) write_file(asked.draw, drawing_of(machine));
  if (!asked.convert.empty()) write_file(asked.convert, to_json(machine));
  if (asked.as_json)
    return fmt::print("{}\n", report_json(machine).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
  if (asked.rings) fmt::print("{}", rings_text(machine));
  if (asked.trees) fmt::print("{}", trees_text(machine));
  if (asked.place > 0) fmt::print("{}", placement_text(machine.hosts[0], asked.place));
  const bool said = asked.rings || asked.trees || asked.place > 0 || !asked.draw.empty() || !asked.convert.empty();
  if (!said) fmt::print("{}", tree_text(machine));
}

int measure_and_show(const Asked& asked) {
  Communicator communicator;
  Machine mine = this_machine();
  merge_cuda_devices(mine.hosts[0], cuda_devices());
  const Machine machine = measure(communicator, mine);
  if (communicator.rank() > 0) return 0;
  show(asked, machine);
  if (!asked.convert.empty() && asked.convert != "-") fmt::print("{}", tree_text(machine));
  return 0;
}

int start_ranks(int argc, char** argv, int ranks) {
  LocalLaunch launch;
  launch.ranks = ranks;
  launch.command.assign(argv, argv + argc);
  launch.command[0] = std::filesystem::read_symlink("/proc/self/exe");
  // What was asked for here, the ranks need not ask for again.
  const auto option = std::find_if(launch.command.begin(), launch.command.end(),
                                   [](const std::string& word) { return word.starts_with("--ranks"); });
  const bool apart = *option == "--ranks";
  launch.command.erase(option, option + (apart ? 2 : 1));
  return run_local_ranks(launch);
}

}  // namespace
}  // namespace peal::topo

int main(int argc, char** argv) {
  using namespace peal::topo;
  CLI::App app("Shows a machine: its tree, its rings, a picture of it. Measures what messages on it take.");
  Asked asked;
  add_options(app, &asked);
  return peal::run_command(app, "peal-topo", argc, argv, [&] {
    if (asked.ranks > 0) return start_ranks(argc, argv, asked.ranks);
    if (asked.measure) return measure_and_show(asked);
    const std::string topo_file = peal::Settings::from(peal::process_environment()).topo_file;
    show(asked, asked.from.empty() ? peal::machine_or_file(topo_file) : peal::machine_argument(asked.from));
    return 0;
  });
}
