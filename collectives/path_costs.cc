#include "collectives/path_costs.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace peal {
namespace {

void worsen_path(PathCost& path, const PathCost& other) {
  path.latency_ns = std::max(path.latency_ns, other.latency_ns);
  path.bytes_per_ns = std::min(path.bytes_per_ns, other.bytes_per_ns);
}

}  // namespace

PathCosts PathCosts::of(const Endpoint& endpoint) {
  PathCosts costs;
  const Roster& roster = endpoint.roster();
  for (int peer = 0; peer < endpoint.ranks(); peer++) {
    if (peer == endpoint.rank()) continue;
    const TransportProperties& properties = endpoint.properties(peer);
    const bool same_host = roster.at(peer).host_id == roster.at(endpoint.rank()).host_id;
    worsen_path(same_host ? costs.inside : costs.between, {properties.latency_ns, properties.bandwidth_bytes_per_ns});
  }
  return costs;
}

void PathCosts::worsen(const PathCosts& other) {
  worsen_path(inside, other.inside);
  worsen_path(between, other.between);
}

std::string PathCosts::encode() const {
  static_assert(std::is_trivially_copyable_v<PathCosts>);
  return std::string(reinterpret_cast<const char*>(this), sizeof(*this));
}

PathCosts PathCosts::decode(std::string_view bytes) {
  PathCosts costs;
  if (bytes.size() != sizeof(costs)) throw Error(ErrorCode::kPeerFailed, "a rank sent path costs of the wrong size");
  std::memcpy(&costs, bytes.data(), sizeof(costs));
  return costs;
}

MachineCosts machine_costs(const Roster& roster, const PathCosts& paths) {
  MachineCosts costs;
  costs.path = [&roster, paths](int from, int to) {
    return roster.at(from).host_id == roster.at(to).host_id ? paths.inside : paths.between;
  };
  for (int rank = 0; rank < roster.ranks(); rank++) {
    costs.ranks_per_core = std::max(costs.ranks_per_core, roster.ranks_per_core(rank));
  }
  return costs;
}

}  // namespace peal
