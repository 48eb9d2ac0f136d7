// The shortest way round: a ring where every ring would pass the same narrow links. Deterministic, bounded by steps.
#pragma once

#include <cstdint>
#include <functional>

#include "topology/cycle_packing.h"

namespace peal {

// The cycle of least cost, the sum of cost(from, to) over its hops (symmetric costs). Exact up to 12 nodes; beyond, the
// best of improved starts: `start` and nearest neighbours. `exact` says which.
Cycle cheapest_cycle(int nodes, const std::function<int64_t(int, int)>& cost, Cycle start, bool* exact);

}  // namespace peal
