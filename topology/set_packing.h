// The search under ring packings: choose candidates, each a set of wires, so that no wire is held by more of them than
// it has room for. Deterministic, bounded by steps and never by clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace peal {

struct PackingProblem {
  struct Port {
    uint64_t wires = 0;
    int uses = 0;  // every candidate holds so many of these wires
  };
  std::vector<uint64_t> candidates;  // one bit a wire
  std::vector<int> room;             // by wire, at most 64: how many chosen candidates may hold it
  std::vector<Port> ports;           // what tells early that too few wires are left
};

struct SetPacking {
  std::vector<size_t> chosen;  // indices of candidates; one may come several times
  bool exact = true;           // no larger choice exists, `most` apart
};

// A choice of at least `least` and at most `most` candidates (>= 1), as many as possible; empty where there is none so
// large. Each of the searches that can fail takes at most `steps`, a step being a candidate looked at.
SetPacking pack_sets(const PackingProblem& problem, int least, int most, int64_t steps);

}  // namespace peal
