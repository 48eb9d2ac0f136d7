// What messages cost inside a host and between hosts: the worst that any rank's transports say, agreed on by all, so
// that every rank's selection starts from the same figures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "collectives/endpoint.h"
#include "collectives/simulate.h"

namespace peal {

struct PathCosts {
  PathCost inside{0, 1e9};   // between ranks of one host
  PathCost between{0, 1e9};  // between hosts

  static PathCosts of(const Endpoint& endpoint);  // this rank's view
  void worsen(const PathCosts& other);
  std::string encode() const;
  static PathCosts decode(std::string_view bytes);  // throws Error(kPeerFailed) for the wrong size
};

// The machine as simulate() wants it. `roster` must outlive the result.
MachineCosts machine_costs(const Roster& roster, const PathCosts& paths);

}  // namespace peal
