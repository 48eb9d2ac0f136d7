// Two binary trees, each for half of the data, such that a rank is inner in at most one of them.
// Reference: Sanders, Speck & Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
// Deviation: the trees span the ranks other than the root, which feeds both; the second tree is the first shifted by
// one rank (odd number of ranks) or mirrored (even). Colouring of edges is left to the transports' back-pressure.
// Wins: medium messages on many ranks: full bandwidth like the ring, but about 2 log2(n) hops.
// Limits: no gain below 4 ranks.
#include "collectives/algorithms/catalog.h"
#include "collectives/algorithms/tree_steps.h"

namespace peal {
namespace {

constexpr int kTrees = 2;

// In-order binary tree over 1..m: odd numbers are leaves; a node with lowest set bit b has children at distance b/2.
int lowest_bit(int x) { return x & -x; }

int in_order_parent(int node, int m) {  // 0: node is the top
  int bit = lowest_bit(node);
  for (;;) {
    const int up = (node & ~bit) | (bit * 2);  // the parent, were the tree complete
    if (bit > m) return 0;
    if (up <= m) return up;
    bit = lowest_bit(up);
    node = up;
  }
}

// Tree number `tree` over nodes 1..m; the top's parent is 0, which stands for the root rank.
int parent_of(int node, int m, int tree) {
  if (tree == 0) return in_order_parent(node, m);
  const bool mirror = m % 2 == 0;
  const int twin = mirror ? m + 1 - node : node % m + 1;
  const int up = in_order_parent(twin, m);
  if (up == 0) return 0;
  return mirror ? m + 1 - up : (up + m - 2) % m + 1;
}

TreePlace place_in(int tree, int rank, int ranks, int root) {
  const int m = ranks - 1, self = wrap(rank - root, ranks);
  TreePlace place;
  if (self != 0) place.parent = wrap(parent_of(self, m, tree) + root, ranks);
  for (int node = 1; node <= m; node++) {
    if (parent_of(node, m, tree) == self) place.children.push_back(wrap(node + root, ranks));
  }
  return place;
}

}  // namespace

Plan double_tree_all_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kAllReduce, request, kTrees);
  TreePlace places[kTrees];
  for (int tree = 0; tree < kTrees; tree++) places[tree] = place_in(tree, request.rank, request.ranks, 0);
  for (int tree = 0; tree < kTrees; tree++) reduce_up(plan, places[tree], out(tree), in(tree));
  for (int tree = 0; tree < kTrees; tree++) broadcast_down(plan, places[tree], out(tree));
  return std::move(plan).finish();
}

Plan double_tree_broadcast(const PlanRequest& request) {
  PlanBuilder plan(Collective::kBroadcast, request, kTrees);
  if (request.rank == request.root) plan.copy(out(0, kTrees), in(0, kTrees));
  for (int tree = 0; tree < kTrees; tree++) {
    broadcast_down(plan, place_in(tree, request.rank, request.ranks, request.root), out(tree));
  }
  return std::move(plan).finish();
}

Plan double_tree_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kReduce, request, kTrees);
  for (int tree = 0; tree < kTrees; tree++) {
    reduce_up(plan, place_in(tree, request.rank, request.ranks, request.root),
              request.rank == request.root ? out(tree) : scratch(tree, tree), in(tree));
  }
  return std::move(plan).finish();
}

}  // namespace peal
