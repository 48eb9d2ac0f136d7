// Reduce and broadcast along any tree, given as each rank's parent and children; and the binomial one.
#pragma once

#include <vector>

#include "collectives/plan_builder.h"

namespace peal {

struct TreePlace {
  int parent = -1;  // -1: the tree's root
  std::vector<int> children;
};

// Relative to the root, rank v's parent is v without its lowest set bit; its children set one bit below that, and come
// shallowest subtree first.
inline TreePlace binomial_place(int rank, int ranks, int root) {
  const int v = wrap(rank - root, ranks);
  TreePlace place;
  if (v != 0) place.parent = wrap((v & (v - 1)) + root, ranks);
  for (int bit = 1; (v & bit) == 0 && v + bit < ranks; bit *= 2) place.children.push_back(wrap(v + bit + root, ranks));
  return place;
}

// Where a rank that is not the root may gather its partial sum: the output of an all-reduce, scratch of a reduce.
inline void reduce_up(PlanBuilder& plan, const TreePlace& place, Chunks sum, Chunks input) {
  const bool leaf = place.children.empty();
  if (place.parent < 0 || !leaf) plan.copy(sum, input);
  for (const int child : place.children) plan.recv_reduce(child, sum);
  if (place.parent >= 0) plan.send(place.parent, leaf ? input : sum);
}

inline void broadcast_down(PlanBuilder& plan, const TreePlace& place, Chunks data) {
  if (place.parent >= 0) plan.recv(place.parent, data);
  for (const int child : place.children) plan.send(child, data);
}

}  // namespace peal
