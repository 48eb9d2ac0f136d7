// peal-sim: what collectives would cost on a machine, be it there or not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "base/version.h"
#include "tools/command_line.h"
#include "tools/perf/collective_case.h"
#include "tools/sim/job.h"
#include "tools/sim/report.h"
#include "topology/read.h"

namespace peal::sim {
namespace {

constexpr int kMostRanks = 1 << 17;

struct Asked {
  std::string from = "host:8 dgx-h100", collective = "all_reduce", svg;
  std::vector<std::string> algorithms, sizes;
  std::vector<int> ranks;
  Seating seating;
  bool whole = false, explain = false, as_json = false;
};

Seating parse_seating(std::string_view word) {
  if (word == "block") return {};
  if (word == "interleaved") return {Spread::kInterleaved};
  constexpr std::string_view kRandom = "random:";
  Seating seating{Spread::kRandom};
  if (word.substr(0, kRandom.size()) == kRandom) {
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data() + kRandom.size(), end, seating.seed);
    if (error == std::errc() && stop == end) return seating;
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("--place: '{}': expected block, interleaved or random:SEED with a number as seed", word));
}

void add_options(CLI::App& app, Asked* asked) {
  app.add_option("--from", asked->from,
                 "the machine: a file that peal-topo reads, or a line such as \"host:2048 dgx-h100\"")
      ->capture_default_str();
  app.add_option("--collective", asked->collective, "all_reduce, all_gather, ...")->capture_default_str();
  app.add_option("--algorithms", asked->algorithms,
                 "by name, with commas (default: all that send messages and can be held)")
      ->delimiter(',');
  app.add_option("--sizes", asked->sizes, "with commas; 8:1G and 8:1G:4 are ranges (8,64K,1M,64M,1G)")->delimiter(',');
  app.add_option("--ranks", asked->ranks, "with commas (default: as many as the machine has GPUs, else cores)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostRanks));
  app.add_option_function<std::string>(
         "--place", [asked](const std::string& word) { asked->seating = parse_seating(word); },
         "ranks on block: host by host, interleaved: hosts in turn, random:SEED: shuffled (block)")
      ->type_name("TEXT");
  app.add_flag("--explain", asked->explain, "the critical path, message by message; what repeats is said once");
  app.add_flag("--whole", asked->whole, "simulate all ranks, even where few could stand for all");
  app.add_option("--svg", asked->svg, "curves in this file: over sizes, or over ranks where several are given");
  app.add_flag("--json", asked->as_json, "JSON on standard output");
  app.set_version_flag("--version", std::string(describe_build()));
  app.footer(
      "Where all hosts are alike and full, and all ranks of an algorithm do the same, the first host's ranks stand for "
      "all.");
}

int seats_of(const Machine& machine) {
  size_t gpus = 0, cores = 0;
  for (const Host& host : machine.hosts) {
    gpus += objects_of(host, ObjectKind::kGpu).size();
    cores += objects_of(host, ObjectKind::kCore).size();
  }
  return static_cast<int>(gpus > 0 ? gpus : cores);
}

double parse_size(const std::string& word) {
  try {
    return static_cast<double>(parse_bytes(word));
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("--sizes: '{}' is not {}", word, error.what()));
  }
}

// "64K", "8:1G" (each twice the one before) or "8:1G:4".
void add_sizes(const std::string& word, std::vector<double>* sizes) {
  const size_t colon = word.find(':'), second = word.find(':', colon == word.npos ? colon : colon + 1);
  const double low = parse_size(word.substr(0, colon));
  if (colon == word.npos) return sizes->push_back(low);
  const double high = parse_size(word.substr(colon + 1, second == word.npos ? second : second - colon - 1));
  const double factor = second == word.npos ? 2 : parse_size(word.substr(second + 1));
  if (low < 1 || high < low || factor < 2) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("--sizes: '{}': expected LOW:HIGH or LOW:HIGH:FACTOR, 1 <= LOW <= HIGH, FACTOR >= 2", word));
  }
  for (double size = low; size <= high; size *= factor) sizes->push_back(size);
}

std::vector<double> sizes_of(const Asked& asked) {
  if (asked.sizes.empty()) return {8, 1 << 16, 1 << 20, 1 << 26, 1 << 30};
  std::vector<double> sizes;
  for (const std::string& word : asked.sizes) add_sizes(word, &sizes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<const Algorithm*> algorithms_of(const Asked& asked, Collective collective) {
  std::vector<const Algorithm*> all;
  for (const std::string& name : asked.algorithms) all.push_back(&find_algorithm(collective, name));
  if (!all.empty()) return all;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.collective == collective && algorithm.needs == Needs::kConnections) all.push_back(&algorithm);
  }
  return all;
}

double bus_factor(const Asked& asked, int ranks) {
  const std::string name = asked.collective == "all_to_all" ? "alltoall" : asked.collective;
  const perf::CollectiveCase* one = perf::find_case(name + "_perf");
  return one == nullptr ? 1 : one->bus_factor(ranks);
}

// The best of a few segment sizes: long messages over several hops are cut so that all hops are busy.
Row row_of(Job& job, const Algorithm& algorithm, double bytes, double factor, bool explain) {
  Row row;
  row.algorithm = algorithm.name;
  row.ranks = job.ranks();
  row.bytes = bytes;
  for (const double segment : {0.0, double{64 << 10}, double{1 << 20}, double{16 << 20}}) {
    if (segment >= bytes) continue;
    const Simulated result = job.run(algorithm, bytes, segment);
    if (row.result.ns > 0 && result.ns >= row.result.ns) continue;
    row.result = result;
    row.segment_bytes = segment;
  }
  if (explain) {
    const Simulated traced = job.run(algorithm, bytes, row.segment_bytes, Detail::kPath);
    row.path = folded(traced.path, [&](int from, int to) { return job.passage(from, to); });
  }
  row.simulated_ranks = job.simulated_ranks();
  row.algbw = row.result.ns > 0 ? bytes / row.result.ns : 0;
  row.busbw = row.algbw * factor;
  const auto busiest = std::max_element(row.result.link_ns.begin(), row.result.link_ns.end());
  if (busiest != row.result.link_ns.end() && row.result.ns > 0) {
    row.busiest = job.link_name(static_cast<int>(busiest - row.result.link_ns.begin()));
    row.busiest_share = std::min(1.0, *busiest / row.result.ns);
  }
  return row;
}

int simulate_all(Asked asked) {
  const Collective collective = parse_collective(asked.collective);
  const Machine machine = machine_argument(asked.from);
  for (const Warning& warning : machine.warnings) fmt::print(stderr, "peal-sim: {}\n", to_string(warning));
  const std::vector<double> sizes = sizes_of(asked);
  if (asked.ranks.empty()) asked.ranks = {seats_of(machine)};
  std::vector<Row> rows;
  if (!asked.as_json) {
    fmt::print("# peal-sim {}, {} on {}\n", describe_build(), asked.collective, machine.source);
    print_header();
  }
  for (const int ranks : asked.ranks) {
    Job job(machine, ranks, asked.seating, asked.whole ? Folding::kNever : Folding::kWherePossible);
    for (const Algorithm* algorithm : algorithms_of(asked, collective)) {
      if (algorithm->placing == Placing::kByGroups && !job.placement().grouped()) continue;
      try {
        for (const double bytes : sizes) {
          rows.push_back(row_of(job, *algorithm, bytes, bus_factor(asked, ranks), asked.explain));
          if (!asked.as_json) print_row(rows.back());
        }
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kUnsupported || !asked.algorithms.empty()) throw;
        fmt::print(stderr, "peal-sim: left out: {}\n", error.what());
      }
    }
  }
  if (!asked.svg.empty()) {
    std::ofstream file(asked.svg);
    file << curves_of(fmt::format("{} on {}, simulated", asked.collective, asked.from), asked.ranks.size() > 1, rows);
    file.close();
    if (!file) throw system_error(fmt::format("writing '{}'", asked.svg), errno);
  }
  if (!asked.as_json) return 0;
  nlohmann::json all = nlohmann::json::array();
  for (const Row& row : rows) all.push_back(json_of(row));
  fmt::print("{}\n",
             nlohmann::json{{"collective", asked.collective}, {"machine", machine.source}, {"rows", all}}.dump(1));
  return 0;
}

}  // namespace
}  // namespace peal::sim

int main(int argc, char** argv) {
  using namespace peal::sim;
  CLI::App app("Simulates collectives on any machine: their time, bandwidth, critical path and busiest link.");
  Asked asked;
  add_options(app, &asked);
  return peal::run_command(app, "peal-sim", argc, argv, [&] { return simulate_all(asked); });
}
