// Pairwise exchange: in step s every rank trades with one partner.
// Reference: Thakur, Rabenseifner & Gropp, 2005 (see recursive_doubling.cc).
// Deviation: partners of step s are those with a + b = s (mod n), so that partners trade with each other and an
// all-to-all can be done in place through one scratch slot. Wins: large blocks: no byte moves twice. Limits: n steps;
// small blocks would rather travel together (Bruck).
#include "collectives/algorithms/catalog.h"
#include "collectives/plan_builder.h"

namespace peal {

Plan pairwise_all_to_all(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllToAll, request, n);
  plan.copy(out(rank), in(rank));
  for (int step = 0; step < n; step++) {
    const int partner = wrap(step - rank, n);
    if (partner == rank) continue;
    if (request.in_place) {
      // Two slots in turn, so that one exchange may still be leaving while the next begins.
      plan.copy(scratch(step % 2, partner), in(partner));
      plan.send(partner, scratch(step % 2, partner));
    } else {
      plan.send(partner, in(partner));
    }
    plan.recv(partner, out(partner));
  }
  return std::move(plan).finish();
}

Plan pairwise_reduce_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kReduceScatter, request, n);
  plan.copy(out(0), in(rank));
  for (int step = 0; step < n; step++) {
    const int partner = wrap(step - rank, n);
    if (partner == rank) continue;
    plan.send(partner, in(partner));
    plan.recv_reduce(partner, out(0));
  }
  return std::move(plan).finish();
}

// Every rank sums up one chunk, straight from everybody, and hands it to everybody: 2(n-1) messages as in the ring, but
// only two of them one after the other.
Plan pairwise_all_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllReduce, request, n);
  plan.copy(out(rank), in(rank));
  for (int step = 0; step < n; step++) {
    const int partner = wrap(step - rank, n);
    if (partner == rank) continue;
    plan.send(partner, in(partner));
    plan.recv_reduce(partner, out(rank));
  }
  for (int step = 0; step < n; step++) {
    const int partner = wrap(step - rank, n);
    if (partner == rank) continue;
    plan.send(partner, out(rank));
    plan.recv(partner, out(partner));
  }
  return std::move(plan).finish();
}

}  // namespace peal
