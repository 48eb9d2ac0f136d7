// Gather and scatter straight between the root and everybody.
// Reference: none needed.
// Deviation: the root starts at its successor, so that different roots load different ranks first.
// Wins: large blocks, and v-variants where only the root knows all counts.
// Limits: the root handles n-1 messages.
#include "collectives/algorithms/catalog.h"
#include "collectives/plan_builder.h"

namespace peal {

Plan linear_gather(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kGather, request, n);
  if (rank != request.root) {
    plan.send(request.root, in(0));
    return std::move(plan).finish();
  }
  plan.copy(out(rank), in(0));
  for (int step = 1; step < n; step++) plan.recv(wrap(rank + step, n), out(wrap(rank + step, n)));
  return std::move(plan).finish();
}

Plan linear_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kScatter, request, n);
  if (rank != request.root) {
    plan.recv(request.root, out(0));
    return std::move(plan).finish();
  }
  for (int step = 1; step < n; step++) plan.send(wrap(rank + step, n), in(wrap(rank + step, n)));
  plan.copy(out(0), in(rank));
  return std::move(plan).finish();
}

}  // namespace peal
