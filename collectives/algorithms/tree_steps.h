// Reduce and broadcast along any tree, given as each rank's parent and children; binomial.cc and double_tree.cc say
// which.
#pragma once

#include <vector>

#include "collectives/plan_builder.h"

namespace peal {

struct TreePlace {
  int parent = -1;  // -1: the tree's root
  std::vector<int> children;
};

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
