#include "topology/cheapest_cycle.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace peal {
namespace {

constexpr int kExactNodes = 12;  // 2^12 x 12 x 12 steps: 1 ms

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

}  // namespace peal
