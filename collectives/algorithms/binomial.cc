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
