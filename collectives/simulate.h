// What a collective would cost on a machine: all ranks' plans run against clocks instead of transports. Selection
// compares algorithms with it, tools show it.
//
// Model: a rank owns one core, which copies, reduces, and moves the bytes of its own messages (shared memory and
// sockets are driven by the CPU); a message arrives `latency` after it began to be sent, and ends no earlier than both
// sides have moved it. Lanes of a rank share its core. More ranks than cores share them evenly.
#pragma once

#include <functional>
#include <span>

#include "base/api.h"
#include "collectives/plan.h"

namespace peal {

struct PathCost {
  double latency_ns = 1000;
  double bytes_per_ns = 1;
};

struct MachineCosts {
  std::function<PathCost(int from, int to)> path;
  double copy_bytes_per_ns = 12;
  double reduce_bytes_per_ns = 8;  // of result, for each source
  double mapped_latency_ns = 150;  // from a publish to its sight by a reader
  double step_ns = 40;
  double ranks_per_core = 1;
  double handover_ns = 2000;  // with more ranks than cores: until the peer gets the core
};

struct ExecutionShape {
  double bytes = 0;  // of the larger buffer, all chunks together
  int channels = 1;
  double segment_bytes = 0;  // of all chunks together; 0: one segment
};

// Nanoseconds until the last rank is done. Exact in the model for up to kSimulatedSegments segments a lane; beyond that
// the steady state of the last ones is continued. `plans`: one for each rank, in order.
PEAL_API double simulate(std::span<const Plan> plans, const MachineCosts& costs, const ExecutionShape& shape);

inline constexpr int kSimulatedSegments = 4;

}  // namespace peal
