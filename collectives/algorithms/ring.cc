// Rings: every rank talks to its two neighbours alone.
// Reference: Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
// Deviation: broadcast and reduce are chains that start at the root; pipelining comes from segments.
// Wins: large messages, since every link carries 2(n-1)/n of the bytes (all-reduce), the least possible.
// Limits: latency grows with n: 2(n-1) hops for all-reduce, n-1 for the others.
#include "collectives/algorithms/catalog.h"
#include "collectives/plan_builder.h"

namespace peal {

Plan ring_all_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  const int next = wrap(rank + 1, n), previous = wrap(rank - 1, n);
  PlanBuilder plan(Collective::kAllReduce, request, n);
  plan.copy(out(0, n), in(0, n));
  for (int step = 0; step < n - 1; step++) {
    plan.send(next, out(wrap(rank - step, n)));
    plan.recv_reduce(previous, out(wrap(rank - step - 1, n)));
  }
  for (int step = 0; step < n - 1; step++) {
    plan.send(next, out(wrap(rank + 1 - step, n)));
    plan.recv(previous, out(wrap(rank - step, n)));
  }
  return std::move(plan).finish();
}

// A partial sum travels n-1 hops and ends at its owner; two scratch slots in turn, so that one is sent while the next
// comes in.
Plan ring_reduce_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  const int next = wrap(rank + 1, n), previous = wrap(rank - 1, n);
  PlanBuilder plan(Collective::kReduceScatter, request, n);
  if (n == 1) plan.copy(out(0), in(0));
  Chunks partial = in(wrap(rank - 1, n));
  for (int step = 0; step < n - 1; step++) {
    const int chunk = wrap(rank - step - 2, n);  // the last one is this rank's own
    const Chunks sum = step == n - 2 ? out(0) : scratch(step % 2, chunk);
    // The copy comes first: a receive that waits for it would, behind the send, wait for the send too, and all ranks
    // sending first without receiving is a deadlock under rendezvous (the checker found it).
    plan.copy(sum, in(chunk));
    plan.send(next, partial);
    plan.recv_reduce(previous, sum);
    partial = sum;
  }
  return std::move(plan).finish();
}

Plan ring_all_gather(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllGather, request, n);
  plan.copy(out(rank), in(0));
  for (int step = 0; step < n - 1; step++) {
    plan.send(wrap(rank + 1, n), out(wrap(rank - step, n)));
    plan.recv(wrap(rank - 1, n), out(wrap(rank - step - 1, n)));
  }
  return std::move(plan).finish();
}

Plan ring_broadcast(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kBroadcast, request, 1);
  if (rank == request.root) {
    plan.copy(out(0), in(0));
  } else {
    plan.recv(wrap(rank - 1, n), out(0));
  }
  if (wrap(rank + 1, n) != request.root) plan.send(wrap(rank + 1, n), out(0));
  return std::move(plan).finish();
}

// The chain ends at the root: the rank after the root starts it.
Plan ring_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kReduce, request, 1);
  const bool first = wrap(rank - 1, n) == request.root;
  const Chunks sum = rank == request.root ? out(0) : scratch(0, 0);
  if (rank == request.root || !first) plan.copy(sum, in(0));
  if (n > 1 && !first) plan.recv_reduce(wrap(rank - 1, n), sum);
  if (rank != request.root) plan.send(wrap(rank + 1, n), first ? in(0) : sum);
  return std::move(plan).finish();
}

}  // namespace peal
