// Binomial trees.
// Reference: Thakur, Rabenseifner & Gropp, 2005 (see recursive_doubling.cc).
// Deviation: none; children are served deepest subtree first when broadcasting, shallowest first when reducing.
// Wins: broadcast and reduce of small messages: ceil(log2 n) hops.
// Limits: the root sends or receives all bytes log2(n) times.
#include <algorithm>

#include "collectives/algorithms/catalog.h"
#include "collectives/algorithms/tree_steps.h"

namespace peal {
namespace {

// Relative to the root, rank v's parent is v without its lowest set bit; its children set one bit below that.
TreePlace binomial_place(int rank, int ranks, int root) {
  const int v = wrap(rank - root, ranks);
  TreePlace place;
  if (v != 0) place.parent = wrap((v & (v - 1)) + root, ranks);
  for (int bit = 1; (v & bit) == 0 && v + bit < ranks; bit *= 2) place.children.push_back(wrap(v + bit + root, ranks));
  return place;
}

TreePlace deepest_first(TreePlace place) {
  std::reverse(place.children.begin(), place.children.end());
  return place;
}

}  // namespace

Plan binomial_all_reduce(const PlanRequest& request) {
  const TreePlace place = binomial_place(request.rank, request.ranks, 0);
  PlanBuilder plan(Collective::kAllReduce, request, 1);
  reduce_up(plan, place, out(0), in(0));
  broadcast_down(plan, deepest_first(place), out(0));
  return std::move(plan).finish();
}

Plan binomial_broadcast(const PlanRequest& request) {
  PlanBuilder plan(Collective::kBroadcast, request, 1);
  if (request.rank == request.root) plan.copy(out(0), in(0));
  broadcast_down(plan, deepest_first(binomial_place(request.rank, request.ranks, request.root)), out(0));
  return std::move(plan).finish();
}

Plan binomial_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kReduce, request, 1);
  reduce_up(plan, binomial_place(request.rank, request.ranks, request.root),
            request.rank == request.root ? out(0) : scratch(0, 0), in(0));
  return std::move(plan).finish();
}

}  // namespace peal
