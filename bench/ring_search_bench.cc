// Time of the searches of topology/rings.h as machines grow.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>

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

void BM_switch(benchmark::State& state) { rings_of(state, "dgx-h100"); }
BENCHMARK(BM_switch)->Unit(benchmark::kMillisecond);

void BM_cluster(benchmark::State& state) {
  const Machine machine = parse_synthetic("host:" + std::to_string(state.range(0)) + " dgx-h100", "bench");
  for (auto unused : state) benchmark::DoNotOptimize(find_cluster_rings(machine));
  state.counters["resident_MiB"] = resident_mib();
}
BENCHMARK(BM_cluster)->RangeMultiplier(4)->Range(1, 1024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace peal

BENCHMARK_MAIN();
