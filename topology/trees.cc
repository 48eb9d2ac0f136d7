#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "topology/rings.h"
#include "topology/two_way_rings.h"

namespace peal {
namespace {

// The parent of each position of a binary tree whose inner nodes are the odd positions (and, where n is odd, none
// else): position p hangs on the one reached by setting the bit above its lowest set bit and clearing that. Sanders,
// Speck, Traeff: Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009. Positions count from 1
// here.
std::vector<int> in_order_tree(int n) {
  std::vector<int> parent(static_cast<size_t>(n), -1);
  for (int position = 1; position <= n; position++) {
    for (int lowest = position & -position;; lowest <<= 1) {
      const int up = ((position & ~lowest) | (lowest << 1)) & ~(lowest - 1);
      if (lowest > n) break;
      if (up <= n) {
        parent[static_cast<size_t>(position - 1)] = up - 1;
        break;
      }
      // Beyond the end: the ancestor on the other side takes its place.
      const int other = (position & ~lowest) & ~(lowest - 1);
      if (other > 0 && other <= n && other != position) {
        parent[static_cast<size_t>(position - 1)] = other - 1;
        break;
      }
    }
  }
  return parent;
}

void fill_hops(const Host& host, Tree& tree, double share) {
  const std::vector<int> objects = objects_of(host, ObjectKind::kGpu);
  tree.bytes_per_ns = tree.gpus.size() > 1 ? std::numeric_limits<double>::max() : 0;
  for (size_t i = 0; i < tree.gpus.size(); i++) {
    if (tree.parent[i] < 0) continue;
    const int from = tree.gpus[i], to = tree.gpus[static_cast<size_t>(tree.parent[i])];
    const Path way = path(host, objects[static_cast<size_t>(from)], objects[static_cast<size_t>(to)]);
    tree.hops.push_back({from, to, way.kind, std::min(way.bytes_per_ns, share)});
    tree.bytes_per_ns = std::min(tree.bytes_per_ns, tree.hops.back().bytes_per_ns);
  }
}

// Inner nodes of the second tree are leaves of the first: it is the first one shifted by a position.
std::vector<Tree> over_switch(const Host& host, const RingSet& rings) {
  std::vector<Tree> trees;
  std::vector<int> gpus = rings.rings[0].order;
  std::sort(gpus.begin(), gpus.end());
  for (int shift = 0; shift < 2; shift++) {
    Tree tree;
    tree.gpus = gpus;
    std::rotate(tree.gpus.begin(), tree.gpus.begin() + shift, tree.gpus.end());
    tree.parent = in_order_tree(static_cast<int>(gpus.size()));
    // A node of both trees sends and receives in each once up and, for two children, twice: half of the links each.
    fill_hops(host, tree, rings.bound / 2);
    trees.push_back(std::move(tree));
  }
  return trees;
}

// The ring without its slowest hop is a chain; its middle is the root.
Tree along(const Host& host, const Ring& ring) {
  const auto farther = [](const Hop& a, const Hop& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.bytes_per_ns > b.bytes_per_ns;
  };
  const auto cut = std::max_element(ring.hops.begin(), ring.hops.end(), farther) - ring.hops.begin();
  Tree tree;
  tree.gpus = ring.order;
  std::rotate(tree.gpus.begin(), tree.gpus.begin() + (cut + 1) % static_cast<std::ptrdiff_t>(tree.gpus.size()),
              tree.gpus.end());
  const auto middle = static_cast<int>(tree.gpus.size() / 2);
  for (int i = 0; i < static_cast<int>(tree.gpus.size()); i++) {
    tree.parent.push_back(i < middle ? i + 1 : i == middle ? -1 : i - 1);
  }
  fill_hops(host, tree, ring.bytes_per_ns);
  return tree;
}

bool runs_the_other_way(const Ring& a, const Ring& b) {
  const size_t n = a.order.size();
  const auto at = static_cast<size_t>(std::find(b.order.begin(), b.order.end(), a.order[0]) - b.order.begin());
  for (size_t i = 0; i < n; i++) {
    if (a.order[i] != b.order[(at + n - i) % n]) return false;
  }
  return true;
}

}  // namespace

std::vector<Tree> find_trees(const Host& host, std::vector<int> gpus) {
  const RingSet rings = find_two_way_rings(host, std::move(gpus));
  if (rings.rings.empty()) return {};
  const size_t count = rings.rings[0].order.size();
  if (count == 1) return {Tree{rings.rings[0].order, {-1}, {}, 0}};
  if (rings.any_order && count > 2) return over_switch(host, rings);
  // A tree uses its hops both ways, so two rings that run opposite ways are one tree.
  std::vector<Tree> trees;
  std::vector<bool> paired(rings.rings.size());
  for (size_t i = 0; i < rings.rings.size(); i++) {
    if (paired[i]) continue;
    for (size_t j = i + 1; j < rings.rings.size() && count > 2; j++) {
      if (paired[j] || !runs_the_other_way(rings.rings[i], rings.rings[j])) continue;
      paired[j] = true;
      break;
    }
    trees.push_back(along(host, rings.rings[i]));
  }
  return trees;
}

}  // namespace peal
