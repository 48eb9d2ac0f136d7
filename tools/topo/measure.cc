#include "tools/topo/measure.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/reduce.h"
#include "base/settings.h"
#include "collectives/algorithms/catalog.h"
#include "collectives/simulate.h"
#include "topology/places.h"
#include "topology/read.h"

namespace peal::topo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kSmall = 8, kLarge = size_t{4} << 20;
constexpr int kLargeInFlight = 8;  // 32 MiB each side: more than caches hold
constexpr int kRounds = 9;         // medians over these: a neighbour that takes the core spoils one or two
constexpr int kTurns = 50;         // ping-pongs of a round

double ns_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The first call warms up: connections, pages.
double median_ns(int rounds, const std::function<void()>& work) {
  work();
  std::vector<double> times;
  for (int i = 0; i < rounds; i++) {
    const auto begin = Clock::now();
    work();
    times.push_back(ns_since(begin));
  }
  return median(times);
}

// ---- Where the ranks are ----

// Where one rank sits, as it goes over the wire: the host's JSON follows.
struct Seat {
  char host_id[128] = {};
  int object = 0;
};

// The core that holds all processors this rank may use, or the host itself.
int my_object(const Host& host) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof(mask), &mask);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  for (const int core : objects_of(host, ObjectKind::kCore)) {
    const std::vector<int>& inside = host.objects[static_cast<size_t>(core)].cpus;
    if (!cpus.empty() && std::includes(inside.begin(), inside.end(), cpus.begin(), cpus.end())) return core;
  }
  return 0;
}

std::vector<std::string> gather_texts(Communicator& communicator, const std::string& mine) {
  const auto ranks = static_cast<size_t>(communicator.size());
  const uint64_t bytes = mine.size();
  std::vector<uint64_t> sizes(ranks);
  communicator.all_gather(&bytes, sizes.data(), 1, DataType::kUint64);
  std::vector<size_t> counts(sizes.begin(), sizes.end()), at(ranks);
  std::exclusive_scan(counts.begin(), counts.end(), at.begin(), size_t{0});
  std::string all(at.back() + counts.back(), '\0');
  communicator.all_gather_v(mine.data(), mine.size(), all.data(), counts, at, DataType::kUint8);
  std::vector<std::string> texts;
  for (size_t i = 0; i < ranks; i++) texts.push_back(all.substr(at[i], counts[i]));
  return texts;
}

struct Whereabouts {
  Machine machine;                // all hosts
  std::vector<int> host, object;  // by rank
};

Whereabouts join_hosts(Communicator& communicator, const Machine& mine) {
  Seat seat;
  host_id(Settings::from(process_environment())).copy(seat.host_id, sizeof(seat.host_id) - 1);
  seat.object = my_object(mine.hosts[0]);
  Machine one = mine;
  one.hosts.resize(1);
  one.measurements.clear();
  const std::string text = std::string(reinterpret_cast<const char*>(&seat), sizeof(seat)) + to_json(one);
  Whereabouts all;
  std::vector<std::string> ids;
  for (const std::string& theirs : gather_texts(communicator, text)) {
    std::memcpy(&seat, theirs.data(), sizeof(seat));
    const auto known = std::find(ids.begin(), ids.end(), seat.host_id);
    all.host.push_back(static_cast<int>(known - ids.begin()));
    all.object.push_back(seat.object);
    if (known != ids.end()) continue;
    ids.emplace_back(seat.host_id);
    const Machine parsed = parse_json(std::string_view(theirs).substr(sizeof(seat)), "a rank's machine");
    if (all.machine.hosts.empty()) {
      all.machine = parsed;
    } else {
      all.machine.hosts.push_back(parsed.hosts[0]);
    }
  }
  return all;
}

// ---- Messages ----

// Nanoseconds of one direction, on `first`; what `second` returns is for nobody.
double one_way_ns(Communicator& communicator, bool first, int peer, std::span<std::byte> buffer) {
  return median_ns(kRounds,
                   [&] {
                     for (int turn = 0; turn < kTurns; turn++) {
                       if (first) communicator.send(buffer.data(), kSmall, DataType::kUint8, peer);
                       communicator.recv(buffer.data(), kSmall, DataType::kUint8, peer);
                       if (!first) communicator.send(buffer.data(), kSmall, DataType::kUint8, peer);
                     }
                   }) /
         (2 * kTurns);
}

// Bytes per nanosecond from `first` to `second`, until the second has them all.
double stream_bytes_per_ns(Communicator& communicator, bool first, int peer, std::span<std::byte> buffer) {
  const double ns = median_ns(kRounds, [&] {
    std::vector<Work> works;
    for (size_t i = 0; i < kLargeInFlight; i++) {
      std::byte* part = buffer.data() + i * kLarge;
      works.push_back(first ? communicator.send_async(part, kLarge, DataType::kUint8, peer)
                            : communicator.recv_async(part, kLarge, DataType::kUint8, peer));
    }
    for (Work& work : works) work.wait();
    std::byte done{};
    if (first) communicator.recv(&done, 1, DataType::kUint8, peer);
    if (!first) communicator.send(&done, 1, DataType::kUint8, peer);
  });
  return static_cast<double>(kLarge * kLargeInFlight) / ns;
}

std::vector<std::pair<int, int>> pairs_of(int ranks) {
  std::vector<std::pair<int, int>> pairs;
  for (int a = 0; a < ranks; a++) {
    for (int b = a + 1; b < ranks; b++) pairs.emplace_back(a, b);
  }
  if (pairs.size() > kMostPairs) {
    std::mt19937 same_on_all_ranks(1);
    std::shuffle(pairs.begin(), pairs.end(), same_on_all_ranks);
    pairs.resize(kMostPairs);
  }
  return pairs;
}

// What the pair's first rank saw: latency, then bandwidth there and back.
std::array<double, 3> measure_pair(Communicator& communicator, int a, int b, std::span<std::byte> buffer) {
  std::array<double, 3> seen{};
  const int me = communicator.rank();
  if (me == a || me == b) {
    const bool first = me == a;
    const int peer = first ? b : a;
    seen = {one_way_ns(communicator, first, peer, buffer), stream_bytes_per_ns(communicator, first, peer, buffer),
            stream_bytes_per_ns(communicator, !first, peer, buffer)};
  }
  communicator.broadcast(seen.data(), seen.data(), seen.size(), DataType::kFloat64, a);
  return seen;
}

void measure_paths(Communicator& communicator, Whereabouts& all) {
  std::vector<std::byte> buffer(kLarge * kLargeInFlight);
  for (const auto& [a, b] : pairs_of(communicator.size())) {
    const auto [latency, there, back] = measure_pair(communicator, a, b, buffer);
    const std::string transport = gather_texts(
        communicator, communicator.rank() == a ? communicator.transport_to(b) : "")[static_cast<size_t>(a)];
    const auto from = static_cast<size_t>(a), to = static_cast<size_t>(b);
    all.machine.measurements.push_back(
        {transport, all.host[from], all.host[to], all.object[from], all.object[to], latency, there});
    all.machine.measurements.push_back(
        {transport, all.host[to], all.host[from], all.object[to], all.object[from], latency, back});
  }
}

// ---- What a core does ----

double worst(Communicator& communicator, double value, ReduceOp op) {
  communicator.all_reduce(&value, &value, 1, DataType::kFloat64, {op});
  return value;
}

void measure_processor(Communicator& communicator, Processor& processor) {
  std::vector<float> from(kLarge * kLargeInFlight / sizeof(float), 1), to(from.size(), 1);
  const auto bytes = static_cast<double>(from.size() * sizeof(float));
  communicator.barrier();
  const double copy =
      bytes / median_ns(kRounds, [&] { std::memcpy(to.data(), from.data(), from.size() * sizeof(float)); });
  communicator.barrier();
  const void* const sources[] = {to.data(), from.data()};
  const double reducing =
      bytes / median_ns(kRounds, [&] { reduce(DataType::kFloat32, ReduceOp::kSum, to.data(), sources, to.size()); });
  processor.copy = {worst(communicator, copy, ReduceOp::kMin), Source::kMeasured};
  processor.reduce = {worst(communicator, reducing, ReduceOp::kMin), Source::kMeasured};
}

double simulated_ns(const Algorithm& algorithm, int ranks, const MachineCosts& costs) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < ranks; rank++) plans.push_back(build_plan(algorithm, {rank, ranks, 0, false}));
  return simulate(plans, costs, {kSmall, 1, 0});
}

// The time of the smallest all-reduce is linear in the latency of mapped memory where its algorithm uses that: two
// simulations give the line, the measured time the latency.
void measure_mapped_latency(Communicator& communicator, Processor& processor) {
  const Algorithm& algorithm = find_algorithm(Collective::kAllReduce, communicator.algorithm_for("all_reduce", kSmall));
  if (algorithm.needs == Needs::kConnections) return;
  double value = 0;
  const double ns = worst(communicator,
                          median_ns(kRounds,
                                    [&] {
                                      for (int turn = 0; turn < kTurns; turn++) {
                                        communicator.all_reduce(&value, &value, 1, DataType::kFloat64);
                                      }
                                    }) /
                              kTurns,
                          ReduceOp::kMax);
  MachineCosts costs;
  costs.path = [](int, int) { return PathCost{}; };
  costs.mapped_latency_ns = 0;
  const double without = simulated_ns(algorithm, communicator.size(), costs);
  costs.mapped_latency_ns = 1;
  const double each = simulated_ns(algorithm, communicator.size(), costs) - without;
  if (each > 0 && ns > without) processor.mapped_latency = {(ns - without) / each, Source::kMeasured};
}

}  // namespace

Machine measure(Communicator& communicator, const Machine& mine) {
  if (communicator.size() < 2) throw Error(ErrorCode::kInvalidArgument, "--measure: expected 2 ranks or more, found 1");
  Whereabouts all = join_hosts(communicator, mine);
  measure_processor(communicator, all.machine.processor);
  measure_mapped_latency(communicator, all.machine.processor);
  measure_paths(communicator, all);
  all.machine.source = fmt::format("{}, measured by {} ranks", mine.source, communicator.size());
  return all.machine;
}

}  // namespace peal::topo
