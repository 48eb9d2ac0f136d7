#include "topology/cycle_packing.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace peal {
namespace {

constexpr size_t kMostCandidates = 5000;  // all 2,520 cycles of 8 nodes; beyond that the exact search takes too long
constexpr int kMostCycles = 64;
constexpr int64_t kMostSteps = 400'000;  // 10 to 20 ms
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
    if (++steps_ > kMostSteps) return false;
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

// ---- The most undirected cycles: each stands for two rings ----

class UndirectedPacking {
 public:
  UndirectedPacking(const LinkGraph& graph, const std::vector<Cycle>& candidates)
      : rest_(graph), candidates_(candidates), most_(std::min(least_degree(graph) / 2, kMostCycles / 2)) {
    search(0);
  }
  const std::vector<size_t>& best() const { return best_; }
  bool exact() const { return steps_ <= kMostSteps || static_cast<int>(best_.size()) == most_; }

 private:
  bool fits(const Cycle& cycle) const {
    for (size_t i = 0; i < cycle.size(); i++) {
      if (rest_.links(cycle[i], cycle[(i + 1) % cycle.size()]) == 0) return false;
    }
    return true;
  }
  void use(const Cycle& cycle, int change) {
    for (size_t i = 0; i < cycle.size(); i++) {
      const int a = cycle[i], b = cycle[(i + 1) % cycle.size()];
      rest_.links(a, b) += change;
      rest_.links(b, a) += change;
    }
  }
  // True when nothing better is possible or the steps are used up.
  bool search(size_t first) {
    if (chosen_.size() > best_.size()) best_ = chosen_;
    if (static_cast<int>(best_.size()) == most_ || ++steps_ > kMostSteps) return true;
    if (chosen_.size() + static_cast<size_t>(least_degree(rest_) / 2) <= best_.size()) return false;
    for (size_t i = first; i < candidates_.size(); i++) {
      if (!fits(candidates_[i])) continue;
      use(candidates_[i], -1);
      chosen_.push_back(i);
      const bool done = search(i);
      chosen_.pop_back();
      use(candidates_[i], 1);
      if (done) return true;
    }
    return false;
  }

  LinkGraph rest_;
  const std::vector<Cycle>& candidates_;
  int most_;
  int64_t steps_ = 0;
  std::vector<size_t> chosen_, best_;
};

// ---- More directed cycles than twice the undirected ones: where every node has an odd number of links ----

// `target` cycles, one through each link out of node 0: then every one of those is used. Up to 8 nodes with single
// links, so that a cycle is a mask of 64 arcs. Nothing when there are none, or *exact is false and it is not known.
class DirectedPacking {
 public:
  DirectedPacking(const LinkGraph& graph, const std::vector<Cycle>& undirected, int target) : target_(target) {
    by_first_arc_.resize(8);
    for (const Cycle& cycle : undirected) {
      for (const Cycle& way : {cycle, Cycle(cycle.rbegin(), cycle.rend())}) {
        const auto zero = static_cast<size_t>(std::find(way.begin(), way.end(), 0) - way.begin());
        const int next = way[(zero + 1) % way.size()];
        by_first_arc_[static_cast<size_t>(next)].push_back({mask_of(way), way});
      }
    }
    for (int next = 1; next < graph.nodes; next++) {
      if (graph.links(0, next) > 0) firsts_.push_back(next);
    }
    if (static_cast<int>(firsts_.size()) == target_) search(0, 0);
  }
  const std::vector<Cycle>& found() const { return chosen_; }
  bool exact() const { return static_cast<int>(firsts_.size()) == target_ && steps_ <= kMostSteps; }

 private:
  struct Candidate {
    uint64_t arcs;
    Cycle cycle;
  };
  static uint64_t mask_of(const Cycle& cycle) {
    uint64_t mask = 0;
    for (size_t i = 0; i < cycle.size(); i++) mask |= uint64_t{1} << (cycle[i] * 8 + cycle[(i + 1) % cycle.size()]);
    return mask;
  }
  bool search(size_t depth, uint64_t used) {
    if (depth == firsts_.size()) return true;
    for (const Candidate& candidate : by_first_arc_[static_cast<size_t>(firsts_[depth])]) {
      if (++steps_ > kMostSteps) return false;
      if ((candidate.arcs & used) != 0) continue;
      chosen_.push_back(candidate.cycle);
      if (search(depth + 1, used | candidate.arcs)) return true;
      chosen_.pop_back();
      if (steps_ > kMostSteps) return false;
    }
    return false;
  }

  int target_;
  std::vector<std::vector<Candidate>> by_first_arc_;
  std::vector<int> firsts_;
  std::vector<Cycle> chosen_;
  int64_t steps_ = 0;
};

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

void add_both_ways(std::vector<Cycle>& cycles, const Cycle& cycle) {
  cycles.push_back(cycle);
  cycles.emplace_back(cycle.rbegin(), cycle.rend());
}

Packing pack_one_by_one(LinkGraph rest) {
  Packing packing;
  packing.exact = false;
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
  return packing;
}

// Two nodes: the way there and back over the same link are one ring.
Packing pack_pair(const LinkGraph& graph) {
  Packing packing;
  packing.cycles.assign(static_cast<size_t>(std::min(graph.links(0, 1), kMostCycles)), {0, 1});
  return packing;
}

}  // namespace

Packing pack_cycles(const LinkGraph& graph) {
  if (graph.nodes < 2 || least_degree(graph) == 0) return {};
  if (graph.nodes == 2) return pack_pair(graph);
  const Enumeration all(graph);
  if (!all.complete()) return pack_one_by_one(graph);
  const UndirectedPacking undirected(graph, all.cycles());
  Packing packing;
  packing.exact = undirected.exact();
  for (const size_t index : undirected.best()) add_both_ways(packing.cycles, all.cycles()[index]);
  const int bound = least_degree(graph);
  const bool single = *std::max_element(graph.counts.begin(), graph.counts.end()) == 1;
  if (static_cast<int>(packing.cycles.size()) == bound || graph.nodes > 8 || !single) return packing;
  const DirectedPacking directed(graph, all.cycles(), bound);
  if (!directed.found().empty()) {
    packing.cycles = directed.found();
    packing.exact = true;
  } else {  // what lies between the two numbers was not tried
    packing.exact &= directed.exact() && static_cast<int>(packing.cycles.size()) + 1 == bound;
  }
  return packing;
}

}  // namespace peal
