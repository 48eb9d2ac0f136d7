// Proves plans without any transport: runs all ranks' plans on symbols instead of data. A chunk holds the multiset of
// (segment, rank, input chunk) that was folded into it; what was never written, or is being written, is poison. Steps
// complete in random legal orders, so that a missing wait, wrong peer, wrong chunk or hidden deadlock shows as a fault.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collectives/algorithms/catalog.h"
#include "collectives/plan.h"

namespace peal {

struct CheckOptions {
  uint32_t seed = 0;
  // Eager: a send may complete, and its source be read, at any time after issue. Otherwise rendezvous: it completes
  // only against its posted receive.
  bool eager = false;
  // As if transports took one operation a direction and the executor had one staging buffer: what then still ends can't
  // be deadlocked by any back-pressure.
  bool tight = false;
  // Executions back to back over different parts of the same buffers: scratch and shared slots are used in turn.
  int segments = 3;
  // Slots of shared memory used in turn, less than kWindowTurns only to show that the checker sees the hazard.
  int shared_turns = kWindowTurns;
};

// The first fault in words ("deadlock: rank 3 waits at step 7: recv ..."), or "" when the plans, one for each rank in
// order, do what their collective promises.
PEAL_API std::string check(std::span<const Plan> plans, const CheckOptions& options);

// check() of `algorithm` on `ranks` ranks, `orders` random orders in each mode (eager, rendezvous, tight), for no rank,
// all ranks and every other rank in place; the ranks placed as given, if so. The fault names the case.
PEAL_API std::string check_algorithm(const Algorithm& algorithm, int ranks, int root, int orders,
                                     const Placement* placement = nullptr);

}  // namespace peal
