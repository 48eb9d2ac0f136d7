// Recursive doubling: after step k every rank holds what 2^(k+1) ranks contributed.
// Reference: Thakur, Rabenseifner & Gropp, "Optimization of collective communication operations in MPICH", 2005;
// Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997.
// Deviation: ranks beyond the largest power of two fold into a neighbour and get the result from it (all-reduce).
// Wins: small messages: ceil(log2 n) exchanges, plus two for the folded ranks.
// Limits: all-reduce sends all bytes log2(n) times.
#include <algorithm>

#include "collectives/algorithms/catalog.h"
#include "collectives/algorithms/fold.h"
#include "collectives/plan_builder.h"

namespace peal {

Plan recursive_doubling_all_reduce(const PlanRequest& request) {
  const Fold fold = fold_to_power_of_two(request.rank, request.ranks);
  PlanBuilder plan(Collective::kAllReduce, request, 1);
  plan.copy(out(0), in(0));
  if (fold.gives_to >= 0) {
    plan.send(fold.gives_to, out(0));
    plan.recv(fold.gives_to, out(0));
    return std::move(plan).finish();
  }
  if (fold.takes_from >= 0) plan.recv_reduce(fold.takes_from, out(0));
  for (int distance = 1; distance < fold.power; distance *= 2) {
    const int peer = request.rank ^ distance;
    plan.send(peer, out(0));
    plan.recv(peer, scratch(0, 0));
    plan.reduce(out(0), scratch(0, 0));
  }
  if (fold.takes_from >= 0) plan.send(fold.takes_from, out(0));
  return std::move(plan).finish();
}

// Step k: everything held goes 2^k ranks down, so that after it rank r holds blocks r .. r + 2^(k+1) - 1. Blocks go
// straight to their places, in at most two runs, instead of through Bruck's final rotation.
Plan bruck_all_gather(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllGather, request, n);
  plan.copy(out(rank), in(0));
  for (int held = 1; held < n; held *= 2) {
    const int count = std::min(held, n - held);
    const int to = wrap(rank - held, n), from = wrap(rank + held, n);
    const int sent = std::min(count, n - rank), received = std::min(count, n - from);
    plan.send(to, out(rank, sent));
    if (sent < count) plan.send(to, out(0, count - sent));
    plan.recv(from, out(from, received));
    if (received < count) plan.recv(from, out(0, count - received));
  }
  return std::move(plan).finish();
}

}  // namespace peal
