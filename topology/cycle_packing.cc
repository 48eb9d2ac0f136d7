#include "topology/cycle_packing.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "topology/set_packing.h"

namespace peal {
namespace {

constexpr size_t kMostCandidates = 5000;  // all 2,520 cycles of 8 nodes; beyond that the exact search takes too long
constexpr int kMostCycles = 64;
constexpr int64_t kMostSteps = 100'000;  // of a search among sets: 1 ms. Four can fail
constexpr int64_t kMostStepsOfListing = 400'000;
constexpr int64_t kMostStepsOfOneCycle = 50'000;

int least_degree(const LinkGraph& graph) {
  int least = std::numeric_limits<int>::max();
  for (int a = 0; a < graph.nodes; a++) {
    int degree = 0;
    for (int b = 0; b < graph.nodes; b++) degree += graph.links(a, b);
    least = std::min(least, degree);
  }
  return least;
}

// ---- All cycles of a small graph, each once, whatever the direction ----

class Enumeration {
 public:
  explicit Enumeration(const LinkGraph& graph) : graph_(graph), used_(static_cast<size_t>(graph.nodes)) {
    cycle_ = {0};
    used_[0] = true;
    complete_ = extend();
  }
  const std::vector<Cycle>& cycles() const { return cycles_; }
  bool complete() const { return complete_; }

 private:
  bool extend() {
    if (static_cast<int>(cycle_.size()) == graph_.nodes) {
      if (graph_.links(cycle_.back(), 0) > 0 && cycle_[1] < cycle_.back()) cycles_.push_back(cycle_);
      return cycles_.size() <= kMostCandidates;
    }
    if (++steps_ > kMostStepsOfListing) return false;
    for (int next = 1; next < graph_.nodes; next++) {
      if (used_[static_cast<size_t>(next)] || graph_.links(cycle_.back(), next) == 0) continue;
      used_[static_cast<size_t>(next)] = true;
      cycle_.push_back(next);
      const bool go_on = extend();
      cycle_.pop_back();
      used_[static_cast<size_t>(next)] = false;
      if (!go_on) return false;
    }
    return true;
  }

  const LinkGraph& graph_;
  std::vector<bool> used_;
  Cycle cycle_;
  std::vector<Cycle> cycles_;
  int64_t steps_ = 0;
  bool complete_ = false;
};

// ---- As many of them as fit ----

// The links of a graph, or both directions of each, as the wires that cycles hold.
class Wires {
 public:
  Wires(const LinkGraph& graph, bool directed)
      : nodes_(graph.nodes), directed_(directed), number_(graph.counts.size(), -1) {
    for (int a = 0; a < nodes_; a++) {
      for (int b = directed ? 0 : a + 1; b < nodes_; b++) {
        if (graph.links(a, b) == 0) continue;
        at(a, b) = static_cast<int>(room_.size());
        if (!directed) at(b, a) = at(a, b);
        room_.push_back(graph.links(a, b));
      }
    }
  }
  bool fit() const { return room_.size() <= 64; }

  PackingProblem problem(const std::vector<Cycle>& cycles) {
    PackingProblem problem{{}, room_, {}};
    for (const Cycle& cycle : cycles) {
      uint64_t held = 0;
      for (size_t i = 0; i < cycle.size(); i++) held |= bit(cycle[i], cycle[(i + 1) % cycle.size()]);
      problem.candidates.push_back(held);
    }
    for (int node = 0; node < nodes_; node++) {
      uint64_t out = 0, in = 0;
      for (int other = 0; other < nodes_; other++) {
        out |= bit(node, other);
        in |= bit(other, node);
      }
      problem.ports.push_back({out, directed_ ? 1 : 2});
      if (directed_) problem.ports.push_back({in, 1});
    }
    return problem;
  }

 private:
  int& at(int a, int b) { return number_[static_cast<size_t>(a * nodes_ + b)]; }
  uint64_t bit(int a, int b) { return at(a, b) < 0 ? 0 : uint64_t{1} << at(a, b); }

  int nodes_;
  bool directed_;
  std::vector<int> number_;  // of the wire from a to b, -1: none
  std::vector<int> room_;
};

void add_both_ways(std::vector<Cycle>& cycles, const Cycle& cycle) {
  cycles.push_back(cycle);
  cycles.emplace_back(cycle.rbegin(), cycle.rend());
}

// Each undirected cycle is two rings. More than those exist where nodes have an odd number of links, or by luck: the
// search among directed ones, which are twice as many, looks for these and proves that there are none.
Packing pack_listed(const LinkGraph& graph, const std::vector<Cycle>& cycles, int bound, bool two_way) {
  Packing packing;
  Wires links(graph, false), arcs(graph, true);
  const SetPacking pairs = pack_sets(links.problem(cycles), 1, bound / 2, kMostSteps);
  for (const size_t index : pairs.chosen) add_both_ways(packing.cycles, cycles[index]);
  packing.exact = pairs.exact;
  if (two_way) return packing;
  const auto found = static_cast<int>(packing.cycles.size());
  packing.exact = found == bound;
  if (packing.exact || !arcs.fit()) return packing;
  std::vector<Cycle> ways;
  for (const Cycle& cycle : cycles) add_both_ways(ways, cycle);
  const SetPacking more = pack_sets(arcs.problem(ways), found + 1, bound, kMostSteps);
  packing.exact = more.exact;
  if (more.chosen.empty()) return packing;
  packing.cycles.clear();
  for (const size_t index : more.chosen) packing.cycles.push_back(ways[index]);
  return packing;
}

// ---- One cycle after the other, for graphs too large to list all ----

class OneCycle {
 public:
  explicit OneCycle(const LinkGraph& graph) : graph_(graph), used_(static_cast<size_t>(graph.nodes)), cycle_{0} {
    used_[0] = true;
    if (!extend()) cycle_.clear();
  }
  const Cycle& found() const { return cycle_; }

 private:
  int ways_on(int node) const {
    int ways = 0;
    for (int next = 0; next < graph_.nodes; next++) {
      ways += !used_[static_cast<size_t>(next)] && graph_.links(node, next) > 0 ? 1 : 0;
    }
    return ways;
  }
  // To the node with the fewest ways on first, over the link with the most rings left: what is scarce is used early.
  std::vector<int> nexts() const {
    std::vector<std::pair<std::pair<int, int>, int>> ranked;
    for (int next = 0; next < graph_.nodes; next++) {
      const int links = graph_.links(cycle_.back(), next);
      if (!used_[static_cast<size_t>(next)] && links > 0) ranked.push_back({{ways_on(next), -links}, next});
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> nodes;
    for (const auto& one : ranked) nodes.push_back(one.second);
    return nodes;
  }
  bool extend() {
    if (static_cast<int>(cycle_.size()) == graph_.nodes) return graph_.links(cycle_.back(), 0) > 0;
    if (++steps_ > kMostStepsOfOneCycle) return false;
    for (const int next : nexts()) {
      used_[static_cast<size_t>(next)] = true;
      cycle_.push_back(next);
      if (extend()) return true;
      cycle_.pop_back();
      used_[static_cast<size_t>(next)] = false;
    }
    return false;
  }

  const LinkGraph& graph_;
  std::vector<bool> used_;
  Cycle cycle_;
  int64_t steps_ = 0;
};

Packing pack_one_by_one(LinkGraph rest, int bound) {
  Packing packing;
  while (static_cast<int>(packing.cycles.size()) + 2 <= kMostCycles) {
    const OneCycle one(rest);
    const Cycle& cycle = one.found();
    if (cycle.empty()) break;
    add_both_ways(packing.cycles, cycle);
    for (size_t i = 0; i < cycle.size(); i++) {
      const int a = cycle[i], b = cycle[(i + 1) % cycle.size()];
      rest.links(a, b)--;
      rest.links(b, a)--;
    }
  }
  packing.exact = static_cast<int>(packing.cycles.size()) == bound;
  return packing;
}

// Two nodes: the way there and back over the same link are one ring.
Packing pack_pair(const LinkGraph& graph) {
  Packing packing;
  packing.cycles.assign(static_cast<size_t>(std::min(graph.links(0, 1), kMostCycles)), {0, 1});
  return packing;
}

}  // namespace

Packing pack_cycles(const LinkGraph& graph, bool two_way) {
  if (graph.nodes < 2 || least_degree(graph) == 0) return {};
  if (graph.nodes == 2) return pack_pair(graph);
  const int bound = std::min(least_degree(graph), kMostCycles);
  const Enumeration all(graph);
  if (!all.complete() || !Wires(graph, false).fit()) return pack_one_by_one(graph, bound);
  return pack_listed(graph, all.cycles(), bound, two_way);
}

}  // namespace peal
