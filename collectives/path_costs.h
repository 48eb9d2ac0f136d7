// What messages and steps cost, by how far two ranks are apart: the worst that any rank's transports say, or what
// `peal-topo --measure` saw, agreed on by all, so that every rank's selection starts from the same figures.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/endpoint.h"
#include "collectives/simulate.h"
#include "topology/machine.h"
#include "topology/places.h"

namespace peal {

struct PathCosts {
  std::array<PathCost, kLevels> by_level;  // by Level: what separates the two ranks
  // 0: not measured.
  double copy_bytes_per_ns = 0, reduce_bytes_per_ns = 0, step_ns = 0, mapped_latency_ns = 0;
  bool reaches_buffers = false;  // all ranks get at all others' buffers (Window::Reach)

  // What was measured of the processor, and no paths yet.
  explicit PathCosts(const Machine& machine);
  // This rank's view.
  static PathCosts of(const Endpoint& endpoint, const Machine& machine);

  // One more path: what was measured of it, else what its transport says. `transport`: its name, with wrappers or not.
  void add(const Machine& machine, Level level, std::string_view transport, const TransportProperties& properties);
  void worsen(const PathCosts& other);
  std::string encode() const;
  static PathCosts decode(std::string_view bytes);  // throws Error(kPeerFailed) for the wrong size
};

// The machine as simulate() wants it. `places`: by rank; `ranks_per_core`: on the fullest host.
MachineCosts machine_costs(std::vector<Place> places, const PathCosts& paths, double ranks_per_core);

}  // namespace peal
