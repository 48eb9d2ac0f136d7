// Searches on plain graphs for rings: cycles through all nodes. Deterministic, bounded by steps and never by clocks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace peal {

// links(a, b) = links(b, a): how many rings may pass between a and b, each way.
struct LinkGraph {
  int nodes = 0;
  std::vector<int> counts;  // by a * nodes + b
  int links(int a, int b) const { return counts[static_cast<size_t>(a * nodes + b)]; }
  int& links(int a, int b) { return counts[static_cast<size_t>(a * nodes + b)]; }
};

using Cycle = std::vector<int>;  // every node once; the last one's successor is the first

struct Packing {
  std::vector<Cycle> cycles;  // directed
  bool exact = true;          // no more are possible
};

// As many cycles as fit with no link used above its count in its direction. Exact up to 9 nodes while few cycles exist,
// else one cycle after the other, and at most 64.
Packing pack_cycles(const LinkGraph& graph);

// The cycle of least cost, the sum of cost(from, to) over its hops (symmetric costs). Exact up to 12 nodes; beyond, the
// best of improved starts: `start` and nearest neighbours. `exact` says which.
Cycle cheapest_cycle(int nodes, const std::function<int64_t(int, int)>& cost, Cycle start, bool* exact);

// An order of the nodes that depends on `color(a, b)` alone and not on how nodes are numbered, as far as repeated
// refinement of colors can tell them apart (nodes that it can't are alike in all machines known to us).
std::vector<int> canonical_order(int nodes, const std::function<int64_t(int, int)>& color);

}  // namespace peal
