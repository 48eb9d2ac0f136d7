// Time of the searches of topology/rings.h as machines grow.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "tests/topology/renumbered.h"
#include "topology/cycle_packing.h"
#include "topology/read.h"
#include "topology/rings.h"

namespace peal {
namespace {

double resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void rings_of(benchmark::State& state, const std::string& description) {
  const Machine machine = parse_synthetic(description, "bench");
  for (auto unused : state) benchmark::DoNotOptimize(find_rings(machine.hosts[0]));
}

void BM_pcie(benchmark::State& state) {
  rings_of(state, "package:2 switch:2 gpu:" + std::to_string(state.range(0) / 4));
}
BENCHMARK(BM_pcie)->Arg(4)->Arg(8)->Arg(12)->Arg(16)->Unit(benchmark::kMillisecond);

void BM_mesh(benchmark::State& state) { rings_of(state, "gpu:" + std::to_string(state.range(0)) + " nvlink:2(mesh)"); }
BENCHMARK(BM_mesh)->Arg(4)->Arg(6)->Arg(8)->Arg(10)->Arg(16)->Unit(benchmark::kMillisecond);

// An odd number of links: the directed search, which may use up all its steps.
void BM_odd_mesh(benchmark::State& state) {
  rings_of(state, "gpu:" + std::to_string(state.range(0)) + " nvlink:1(mesh)");
}
BENCHMARK(BM_odd_mesh)->Arg(4)->Arg(6)->Arg(8)->Unit(benchmark::kMillisecond);

void BM_cube(benchmark::State& state) { rings_of(state, "dgx-1v"); }
BENCHMARK(BM_cube)->Unit(benchmark::kMillisecond);

// 100 graphs, 1 to 4 links between two of three pairs: what one takes on average, and the slowest.
void BM_irregular(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  std::mt19937 random(5);
  std::vector<LinkGraph> graphs(100, LinkGraph{nodes, std::vector<int>(static_cast<size_t>(nodes * nodes))});
  for (LinkGraph& graph : graphs) {
    for (int a = 0; a < nodes; a++) {
      for (int b = a + 1; b < nodes; b++) {
        if (random() % 3 < 2) graph.links(a, b) = graph.links(b, a) = static_cast<int>(1 + random() % 4);
      }
    }
  }
  double worst_ms = 0;
  size_t next = 0;
  for (auto unused : state) {
    const std::clock_t begin = std::clock();
    benchmark::DoNotOptimize(pack_cycles(graphs[next++ % graphs.size()]));
    worst_ms = std::max(worst_ms, 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  state.counters["worst_ms"] = worst_ms;
}
BENCHMARK(BM_irregular)->DenseRange(4, 16, 2)->Iterations(200)->Unit(benchmark::kMillisecond);

void BM_switch(benchmark::State& state) { rings_of(state, "dgx-h100"); }
BENCHMARK(BM_switch)->Unit(benchmark::kMillisecond);

void BM_cluster(benchmark::State& state) {
  const Machine machine = parse_synthetic("host:" + std::to_string(state.range(0)) + " dgx-h100", "bench");
  for (auto unused : state) benchmark::DoNotOptimize(find_cluster_rings(machine));
  state.counters["resident_MiB"] = resident_mib();
}
BENCHMARK(BM_cluster)->RangeMultiplier(4)->Range(1, 1024)->Unit(benchmark::kMillisecond);

// No two hosts alike: each is searched.
void BM_cluster_numbered_differently(benchmark::State& state) {
  std::mt19937 random(3);
  Machine machine = parse_synthetic("host:" + std::to_string(state.range(0)) + " dgx-h100", "bench");
  for (Host& host : machine.hosts) host = renumbered(host, random);
  for (auto unused : state) benchmark::DoNotOptimize(find_cluster_rings(machine));
  state.counters["resident_MiB"] = resident_mib();
}
BENCHMARK(BM_cluster_numbered_differently)->RangeMultiplier(4)->Range(1, 1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace peal

BENCHMARK_MAIN();
