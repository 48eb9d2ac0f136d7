// Recursive halving reduce-scatter, then recursive doubling all-gather.
// Reference: Rabenseifner, "Optimization of collective reduction operations", 2004.
// Deviation: any n: ranks beyond the largest power of two fold into a neighbour.
// Wins: medium messages: 2 log2(n) exchanges, and the ring's 2(n-1)/n bytes when n is a power of two.
// Limits: folded ranks send all their bytes to one neighbour first, which costs up to twice the ring's bytes.
#include "collectives/algorithms/catalog.h"
#include "collectives/algorithms/fold.h"
#include "collectives/plan_builder.h"

namespace peal {

Plan halving_doubling_all_reduce(const PlanRequest& request) {
  const Fold fold = fold_to_power_of_two(request.rank, request.ranks);
  const int rank = request.rank, all = fold.power;
  PlanBuilder plan(Collective::kAllReduce, request, all);
  plan.copy(out(0, all), in(0, all));
  if (fold.gives_to >= 0) {
    plan.send(fold.gives_to, out(0, all));
    plan.recv(fold.gives_to, out(0, all));
    return std::move(plan).finish();
  }
  if (fold.takes_from >= 0) plan.recv_reduce(fold.takes_from, out(0, all));
  int first = 0;
  for (int half = all / 2; half >= 1; half /= 2) {
    const int peer = rank ^ half, keep = first + (rank & half), give = first + (peer & half);
    plan.send(peer, out(give, half));
    plan.recv_reduce(peer, out(keep, half));
    first = keep;
  }
  for (int half = 1; half < all; half *= 2) {
    const int mine = rank & ~(half - 1);
    plan.send(rank ^ half, out(mine, half));
    plan.recv(rank ^ half, out(mine ^ half, half));
  }
  if (fold.takes_from >= 0) plan.send(fold.takes_from, out(0, all));
  return std::move(plan).finish();
}

}  // namespace peal
