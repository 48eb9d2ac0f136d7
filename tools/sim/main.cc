// peal-sim: what collectives would cost on a machine, be it there or not.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "base/version.h"
#include "tools/command_line.h"
#include "tools/perf/collective_case.h"
#include "tools/plot/curves_svg.h"
#include "tools/sim/job.h"
#include "topology/read.h"

namespace peal::sim {
namespace {

constexpr int kMostRanks = 1 << 17;

struct Asked {
  std::string from = "host:8 dgx-h100", collective = "all_reduce", svg;
  std::vector<std::string> algorithms, sizes;
  std::vector<int> ranks;
  bool interleaved = false, as_json = false;
};

struct Row {
  std::string algorithm;
  int ranks = 0, simulated_ranks = 0;
  double bytes = 0, segment_bytes = 0, algbw = 0, busbw = 0;
  Simulated result;
  std::string busiest;       // link
  double busiest_share = 0;  // of the time
};

void add_options(CLI::App& app, Asked* asked) {
  app.add_option("--from", asked->from,
                 "the machine: a file that peal-topo reads, or a line such as \"host:2048 dgx-h100\"")
      ->capture_default_str();
  app.add_option("--collective", asked->collective, "all_reduce, all_gather, ...")->capture_default_str();
  app.add_option("--algorithms", asked->algorithms,
                 "by name, with commas (default: all that send messages and can be held)")
      ->delimiter(',');
  app.add_option("--sizes", asked->sizes, "with commas (8,64K,1M,64M,1G)")->delimiter(',');
  app.add_option("--ranks", asked->ranks, "with commas (default: as many as the machine has GPUs, else cores)")
      ->delimiter(',')
      ->check(CLI::Range(1, kMostRanks));
  app.add_flag("--interleaved", asked->interleaved, "neighbouring ranks on different hosts, instead of host by host");
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

std::vector<double> sizes_of(const Asked& asked) {
  std::vector<std::string> words = asked.sizes;
  if (words.empty()) words = {"8", "64K", "1M", "64M", "1G"};
  std::vector<double> sizes;
  for (const std::string& word : words) {
    try {
      sizes.push_back(static_cast<double>(parse_bytes(word)));
    } catch (const Error& error) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("--sizes: '{}' is not {}", word, error.what()));
    }
  }
  std::sort(sizes.begin(), sizes.end());
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
Row row_of(Job& job, const Algorithm& algorithm, double bytes, double factor) {
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

std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"", "K", "M", "G", "T"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); unit++) bytes /= 1024;
  return fmt::format("{:g}{}", bytes, kUnits[unit]);
}

void print_header() {
  fmt::print("# {:<21} {:>7} {:>7} {:>13} {:>9} {:>9}  {:<42} {}\n", "algorithm", "ranks", "size", "time", "algbw",
             "busbw", "critical path", "busiest link");
  fmt::print("# {:<21} {:>7} {:>7} {:>13} {:>9} {:>9}  {:<42}\n", "", "", "(B)", "(us)", "(GB/s)", "(GB/s)",
             "messages: latency, transfer, queue, core");
}

void print_row(const Row& row) {
  const CriticalPath& path = row.result.critical;
  const double all = std::max(1e-9, path.latency_ns + path.transfer_ns + path.queue_ns + path.core_ns);
  const auto share = [&](double ns) { return fmt::format("{:.0f}%", 100 * ns / all); };
  fmt::print("  {:<21} {:>7} {:>7} {:>13.2f} {:>9.3f} {:>9.3f}  {:<42} {} ({:.0f}%)\n", row.algorithm, row.ranks,
             size_text(row.bytes), row.result.ns / 1e3, row.algbw, row.busbw,
             fmt::format("{}: {}, {}, {}, {}", path.messages, share(path.latency_ns), share(path.transfer_ns),
                         share(path.queue_ns), share(path.core_ns)),
             row.busiest.empty() ? "none" : row.busiest, 100 * row.busiest_share);
}

nlohmann::json json_of(const Row& row) {
  const CriticalPath& path = row.result.critical;
  return {{"algorithm", row.algorithm},
          {"ranks", row.ranks},
          {"simulated_ranks", row.simulated_ranks},
          {"size", row.bytes},
          {"segment_bytes", row.segment_bytes},
          {"time_us", row.result.ns / 1e3},
          {"algbw", row.algbw},
          {"busbw", row.busbw},
          {"busiest_link", row.busiest},
          {"busiest_share", row.busiest_share},
          {"critical_path",
           {{"messages", path.messages},
            {"latency_ns", path.latency_ns},
            {"transfer_ns", path.transfer_ns},
            {"queue_ns", path.queue_ns},
            {"core_ns", path.core_ns}}}};
}

// Over ranks where there are several numbers of them, else over sizes.
std::string curves_of(const Asked& asked, const std::vector<Row>& rows, const std::string& machine) {
  const bool over_ranks = asked.ranks.size() > 1;
  std::vector<plot::Curve> curves;
  for (const Row& row : rows) {
    const bool several_sizes =
        std::any_of(rows.begin(), rows.end(), [&](const Row& other) { return other.bytes != row.bytes; });
    const std::string name =
        over_ranks && several_sizes ? fmt::format("{}, {}B", row.algorithm, size_text(row.bytes)) : row.algorithm;
    auto found = std::find_if(curves.begin(), curves.end(), [&](const auto& curve) { return curve.name == name; });
    if (found == curves.end()) found = curves.insert(curves.end(), {name, {}});
    found->points.push_back({over_ranks ? row.ranks : row.bytes, {row.busbw, row.result.ns / 1e3}});
  }
  const char* over = over_ranks ? "ranks" : "size (bytes)";
  return plot::curves_svg(
      fmt::format("{} on {}, simulated", asked.collective, machine),
      {{{fmt::format("bus bandwidth (GB/s) over {}", over), true}, {fmt::format("time (us) over {}", over), true}}},
      over_ranks ? plot::AxisUnit::kCount : plot::AxisUnit::kBytes, curves);
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
    Job job(machine, ranks, asked.interleaved ? Spread::kInterleaved : Spread::kBlock);
    for (const Algorithm* algorithm : algorithms_of(asked, collective)) {
      if (algorithm->placing == Placing::kByGroups && !job.placement().grouped()) continue;
      try {
        for (const double bytes : sizes) {
          rows.push_back(row_of(job, *algorithm, bytes, bus_factor(asked, ranks)));
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
    file << curves_of(asked, rows, asked.from);
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
