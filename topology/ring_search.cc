#include "topology/ring_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace peal {
namespace {

constexpr size_t kMostCandidates = 5000;  // all 2,520 cycles of 8 nodes; beyond that the exact search takes too long
constexpr int kMostCycles = 64;
constexpr int64_t kMostSteps = 400'000;  // 10 to 20 ms
constexpr int64_t kMostStepsOfOneCycle = 50'000;
constexpr int kExactNodes = 12;  // 2^12 x 12 x 12 steps: 2 ms

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

namespace {

int64_t cost_of(const Cycle& cycle, const std::function<int64_t(int, int)>& cost) {
  int64_t sum = 0;
  for (size_t i = 0; i < cycle.size(); i++) sum += cost(cycle[i], cycle[(i + 1) % cycle.size()]);
  return sum;
}

// Held and Karp, 1962: the cheapest path over each set of nodes to each last node.
Cycle exact_cycle(int nodes, const std::function<int64_t(int, int)>& cost) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 2;
  const auto n = static_cast<size_t>(nodes);
  std::vector<int64_t> cheapest((size_t{1} << n) * n, kNever);
  std::vector<int8_t> before(cheapest.size(), -1);
  cheapest[n] = 0;  // the set of node 0 alone, ending there
  for (size_t set = 1; set < size_t{1} << n; set += 2) {
    for (size_t last = 0; last < n; last++) {
      const int64_t so_far = cheapest[set * n + last];
      if (so_far >= kNever) continue;
      for (size_t next = 1; next < n; next++) {
        if ((set >> next & 1) != 0) continue;
        const size_t at = (set | size_t{1} << next) * n + next;
        const int64_t longer = so_far + cost(static_cast<int>(last), static_cast<int>(next));
        if (longer >= cheapest[at]) continue;
        cheapest[at] = longer;
        before[at] = static_cast<int8_t>(last);
      }
    }
  }
  size_t set = (size_t{1} << n) - 1, last = 1;
  for (size_t end = 2; end < n; end++) {
    const auto closed = [&](size_t node) { return cheapest[set * n + node] + cost(static_cast<int>(node), 0); };
    if (closed(end) < closed(last)) last = end;
  }
  Cycle cycle;
  while (set != 0) {
    cycle.push_back(static_cast<int>(last));
    const int8_t previous = before[set * n + last];
    set &= ~(size_t{1} << last);
    last = static_cast<size_t>(std::max<int8_t>(previous, 0));
  }
  return {cycle.rbegin(), cycle.rend()};
}

Cycle nearest_neighbours(int nodes, int first, const std::function<int64_t(int, int)>& cost) {
  Cycle cycle{first};
  std::vector<bool> used(static_cast<size_t>(nodes));
  used[static_cast<size_t>(first)] = true;
  while (static_cast<int>(cycle.size()) < nodes) {
    int best = -1;
    for (int next = 0; next < nodes; next++) {
      if (used[static_cast<size_t>(next)]) continue;
      if (best < 0 || cost(cycle.back(), next) < cost(cycle.back(), best)) best = next;
    }
    used[static_cast<size_t>(best)] = true;
    cycle.push_back(best);
  }
  return cycle;
}

// Turns pieces around for as long as that helps (2-opt). A round is n^2 / 2 trials; n rounds are the limit.
void improve(Cycle& cycle, const std::function<int64_t(int, int)>& cost) {
  const size_t n = cycle.size();
  for (size_t round = 0; round < n; round++) {
    bool better = false;
    for (size_t i = 0; i + 1 < n; i++) {
      for (size_t j = i + 2; j < n; j++) {
        const int a = cycle[i], b = cycle[i + 1], c = cycle[j], d = cycle[(j + 1) % n];
        if (a == d || cost(a, c) + cost(b, d) >= cost(a, b) + cost(c, d)) continue;
        std::reverse(cycle.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     cycle.begin() + static_cast<std::ptrdiff_t>(j) + 1);
        better = true;
      }
    }
    if (!better) return;
  }
}

}  // namespace

Cycle cheapest_cycle(int nodes, const std::function<int64_t(int, int)>& cost, Cycle start, bool* exact) {
  *exact = nodes <= kExactNodes;
  if (nodes < 3) return start;
  if (*exact) return exact_cycle(nodes, cost);
  Cycle best = std::move(start);
  improve(best, cost);
  for (int first = 0; first < nodes; first++) {
    Cycle other = nearest_neighbours(nodes, first, cost);
    improve(other, cost);
    if (cost_of(other, cost) < cost_of(best, cost)) best = other;
  }
  return best;
}

std::vector<int> canonical_order(int nodes, const std::function<int64_t(int, int)>& color) {
  std::vector<int64_t> own(static_cast<size_t>(nodes), 0);  // the node's color: its rank among all
  const auto refine = [&] {
    for (int round = 0; round < nodes; round++) {
      std::vector<std::vector<std::pair<int64_t, int64_t>>> signatures(own.size());
      for (int a = 0; a < nodes; a++) {
        auto& signature = signatures[static_cast<size_t>(a)];
        for (int b = 0; b < nodes; b++) {
          if (a != b) signature.emplace_back(own[static_cast<size_t>(b)], color(a, b));
        }
        std::sort(signature.begin(), signature.end());
        signature.insert(signature.begin(), {own[static_cast<size_t>(a)], 0});
      }
      std::map<std::vector<std::pair<int64_t, int64_t>>, int64_t> ranks;
      for (const auto& signature : signatures) ranks[signature] = 0;
      int64_t rank = 0;
      for (auto& [signature, number] : ranks) number = rank++;
      std::vector<int64_t> finer;
      for (const auto& signature : signatures) finer.push_back(ranks[signature]);
      if (finer == own) return;
      own = finer;
    }
  };
  refine();
  // Nodes that are still alike: one of them is singled out, which tells others apart.
  for (int round = 0; round < nodes; round++) {
    int alike = -1;
    for (int a = 0; a < nodes && alike < 0; a++) {
      if (std::count(own.begin(), own.end(), own[static_cast<size_t>(a)]) > 1) alike = a;
    }
    // The first class in the order of colors, not of numbers.
    for (int a = 0; a < nodes && alike >= 0; a++) {
      const int64_t mine = own[static_cast<size_t>(a)];
      if (std::count(own.begin(), own.end(), mine) > 1 && mine < own[static_cast<size_t>(alike)]) alike = a;
    }
    if (alike < 0) break;
    for (int64_t& each : own) each = each * 2 + 1;
    own[static_cast<size_t>(alike)]--;
    refine();
  }
  std::vector<int> order(own.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return own[static_cast<size_t>(a)] < own[static_cast<size_t>(b)]; });
  return order;
}

}  // namespace peal
