// Dissemination barrier: in round k every rank tells the one 2^k further on.
// Reference: Hensgen, Finkel & Manber, "Two algorithms for barrier synchronization", 1988.
// Deviation: a barrier is written as an all-reduce of one byte under an operation that may count a rank twice (max), so
// that the checker proves it like every other plan: who has the byte of everybody knows that everybody came. Wins:
// ceil(log2 n) rounds for any n. Limits: n ceil(log2 n) messages in all.
#include "collectives/algorithms/catalog.h"
#include "collectives/plan_builder.h"

namespace peal {

Plan dissemination_barrier(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kBarrier, request, 1);
  plan.copy(out(0), in(0));
  for (int distance = 1; distance < n; distance *= 2) {
    plan.send(wrap(rank + distance, n), out(0));
    plan.recv(wrap(rank - distance, n), scratch(0, 0));
    plan.reduce(out(0), scratch(0, 0));
  }
  return std::move(plan).finish();
}

}  // namespace peal
