#include "topology/ring_entries.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace peal {

void rotate_to(Ring& ring, size_t front) {
  std::rotate(ring.order.begin(), ring.order.begin() + static_cast<std::ptrdiff_t>(front), ring.order.end());
  std::rotate(ring.hops.begin(), ring.hops.begin() + static_cast<std::ptrdiff_t>(std::min(front, ring.hops.size())),
              ring.hops.end());
}

namespace {

// In a ring whose order is free, the GPU that is as near to the NIC as the first one becomes the last.
void reorder_freely(Ring& ring, int front, int back) {
  std::vector<int> order{front};
  for (const int gpu : ring.order) {
    if (gpu != front && gpu != back) order.push_back(gpu);
  }
  if (back != front) order.push_back(back);
  const Hop like = ring.hops[0];
  ring.order = order;
  for (size_t i = 0; i < order.size(); i++) {
    ring.hops[i] = like;
    ring.hops[i].from = order[i];
    ring.hops[i].to = order[(i + 1) % order.size()];
  }
}

}  // namespace

void attach_nics(const Host& host, RingSet& set) {
  const std::vector<int> fit = ring_nics(host), gpus = objects_of(host, ObjectKind::kGpu),
                         nics = objects_of(host, ObjectKind::kNic);
  if (fit.empty()) return;
  std::map<int, int> users, fronts;  // of NICs, by GPU
  for (Ring& ring : set.rings) {
    const auto near = [&](int gpu, int nic) {
      return depth(host, common_ancestor(host, gpus[static_cast<size_t>(gpu)], nics[static_cast<size_t>(nic)]));
    };
    // Unused NICs first, then the nearest first GPU, one that no other ring begins at, then the nearest last GPU.
    std::tuple<int, int, int, int> best;
    int nic = -1, back = -1;
    size_t front = 0;
    for (const int candidate : fit) {
      for (size_t i = 0; i < ring.order.size(); i++) {
        for (size_t j = 0; j < ring.order.size(); j++) {
          const bool before = j == (i + ring.order.size() - 1) % ring.order.size();
          if (!before && (!set.any_order || i == j)) continue;
          const std::tuple<int, int, int, int> rank{-users[candidate], near(ring.order[i], candidate),
                                                    -fronts[ring.order[i]], near(ring.order[j], candidate)};
          if (nic >= 0 && rank <= best) continue;
          best = rank;
          nic = candidate;
          front = i;
          back = ring.order[j];
        }
      }
    }
    users[nic]++;
    fronts[ring.order[front]]++;
    if (set.any_order && ring.order.size() > 1) {
      reorder_freely(ring, ring.order[front], back);
    } else {
      rotate_to(ring, front);
    }
    ring.nic_in = ring.nic_out = nic;
  }
}

}  // namespace peal
