// Rings on plain graphs: as many cycles through all nodes as links allow. Deterministic, bounded by steps and never by
// clocks.
#pragma once

#include <cstddef>
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

}  // namespace peal
