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

// As many cycles as fit with no link used above its count in its direction, at most 64. Where few cycles exist, as on 8
// nodes, by search among all of them; else one cycle after the other.
// `two_way`: for each cycle also the opposite one, which trees need; `exact` is then about such pairs.
Packing pack_cycles(const LinkGraph& graph, bool two_way = false);

}  // namespace peal
