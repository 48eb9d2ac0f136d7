#include "collectives/path_costs.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "topology/defaults.h"
#include "topology/measured.h"
#include "topology/reconcile.h"

namespace peal {
namespace {

void worsen_path(PathCost& path, const PathCost& other) {
  path.latency_ns = std::max(path.latency_ns, other.latency_ns);
  path.bytes_per_ns = std::min(path.bytes_per_ns, other.bytes_per_ns);
}

// A rate or time of 0 is not known and so not the worst.
void slower(double& rate, double other) {
  if (other > 0) rate = rate > 0 ? std::min(rate, other) : other;
}

PathCost path_of(const TransportProperties& properties, Level level) {
  PathCost path{properties.latency_ns, properties.bandwidth_bytes_per_ns};
  if (level == Level::kPackage) {
    worsen_path(path, {path.latency_ns + kSocketLatencyNs, kSocketBytesPerNs});
  }
  return path;
}

// "traced:tcp" costs what tcp does.
std::string_view innermost(std::string_view label) {
  return label.substr(label.rfind(':') == label.npos ? 0 : label.rfind(':') + 1);
}

// Of the NIC that a rank's messages to other hosts leave by; 0 where the machine does not say.
double wire_bytes_per_ns(const Machine& machine, const Place& place, const std::string& host_name) {
  const Host& host = machine.hosts[static_cast<size_t>(host_named(machine, host_name))];
  const std::vector<int> nics = objects_of(host, ObjectKind::kNic);
  if (place.nic < 0 || static_cast<size_t>(place.nic) >= nics.size()) return 0;
  return host.objects[static_cast<size_t>(nics[static_cast<size_t>(place.nic)])].wire.bandwidth.value;
}

}  // namespace

PathCosts::PathCosts(const Machine& machine)
    : copy_bytes_per_ns(machine.processor.copy.value),
      reduce_bytes_per_ns(machine.processor.reduce.value),
      step_ns(machine.processor.step.value),
      mapped_latency_ns(machine.processor.mapped_latency.value) {
  by_level.fill({0, 1e9});
}

void PathCosts::add(const Machine& machine, Level level, std::string_view transport,
                    const TransportProperties& properties) {
  const MeasuredPath measured = measured_path(machine, innermost(transport), level);
  worsen_path(by_level[static_cast<size_t>(level)],
              measured.pairs > 0 ? PathCost{measured.latency_ns, measured.bytes_per_ns} : path_of(properties, level));
}

PathCosts PathCosts::of(const Endpoint& endpoint, const Machine& machine) {
  PathCosts costs(machine);
  const Roster& roster = endpoint.roster();
  std::set<std::pair<std::string_view, Level>> added;  // few kinds of paths, and each takes a walk over all figures
  for (int peer = 0; peer < endpoint.ranks(); peer++) {
    if (peer == endpoint.rank()) continue;
    const Level level = separation(roster.at(endpoint.rank()).place, roster.at(peer).place);
    const std::string_view transport = endpoint.transport_name(peer);
    if (added.emplace(transport, level).second) costs.add(machine, level, transport, endpoint.properties(peer));
  }
  const RosterEntry& self = roster.at(endpoint.rank());
  slower(costs.by_level[static_cast<size_t>(Level::kHost)].bytes_per_ns,
         wire_bytes_per_ns(machine, self.place, self.host_name));
  return costs;
}

void PathCosts::worsen(const PathCosts& other) {
  for (size_t level = 0; level < by_level.size(); level++) worsen_path(by_level[level], other.by_level[level]);
  slower(copy_bytes_per_ns, other.copy_bytes_per_ns);
  slower(reduce_bytes_per_ns, other.reduce_bytes_per_ns);
  step_ns = std::max(step_ns, other.step_ns);
  reaches_buffers = reaches_buffers && other.reaches_buffers;
  mapped_latency_ns = std::max(mapped_latency_ns, other.mapped_latency_ns);
}

std::string PathCosts::encode() const {
  static_assert(std::is_trivially_copyable_v<PathCosts>);
  return std::string(reinterpret_cast<const char*>(this), sizeof(*this));
}

PathCosts PathCosts::decode(std::string_view bytes) {
  PathCosts costs{Machine{}};
  if (bytes.size() != sizeof(costs)) throw Error(ErrorCode::kPeerFailed, "a rank sent path costs of the wrong size");
  std::memcpy(static_cast<void*>(&costs), bytes.data(), sizeof(costs));
  return costs;
}

MachineCosts machine_costs(std::vector<Place> places, const PathCosts& paths, double ranks_per_core) {
  MachineCosts costs;
  costs.path = [places = std::move(places), paths](int from, int to) {
    const Level level = separation(places[static_cast<size_t>(from)], places[static_cast<size_t>(to)]);
    return paths.by_level[static_cast<size_t>(level)];
  };
  const auto use = [](double measured, double* cost) {
    if (measured > 0) *cost = measured;
  };
  use(paths.copy_bytes_per_ns, &costs.copy_bytes_per_ns);
  use(paths.reduce_bytes_per_ns, &costs.reduce_bytes_per_ns);
  use(paths.step_ns, &costs.step_ns);
  use(paths.mapped_latency_ns, &costs.mapped_latency_ns);
  costs.ranks_per_core = std::max(costs.ranks_per_core, ranks_per_core);
  return costs;
}

}  // namespace peal
