// Algorithms over mapped memory: one pass over n sources instead of n-1 passes over two.
// Reference: the copy-in, reduce, copy-out scheme of shared-memory collectives (Graham & Shipman, 2008); one-shot and
// two-shot are the usual names for reducing everything everywhere and for reducing slices, then sharing them.
// Deviation: results go straight into the shared slot of the owner's slice, which nobody reads before it is published.
// Wins: whenever all ranks share memory. One-shot up to some KiB (one exchange), two-shot above.
// Limits: ranks of one host; one_shot reads n times the bytes.
#include "collectives/algorithms/catalog.h"
#include "collectives/plan_builder.h"

namespace peal {
namespace {

// Chunk c of the input into slot c, for its owner c to read: all but this rank's own.
void publish_others_chunks(PlanBuilder& plan, int n, int rank) {
  if (rank > 0) plan.copy(shared(0, 0, rank), in(0, rank));
  if (rank + 1 < n) plan.copy(shared(rank + 1, rank + 1, n - rank - 1), in(rank + 1, n - rank - 1));
  plan.publish(shared(0, 0, n), 0);
}

// Every other rank's chunk, from the one slot that it published; each rank begins with its successor.
void read_everybodys_slot(PlanBuilder& plan, int n, int rank) {
  for (int step = 1; step < n; step++) {
    const int owner = wrap(rank + step, n);
    plan.read(out(owner), owner, shared(0, owner), 0);
  }
}

}  // namespace

Plan one_shot_all_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kAllReduce, request, 1);
  plan.copy(shared(0, 0), in(0));
  plan.publish(shared(0, 0), 0);
  plan.read_reduce(out(0), in(0), shared(0, 0), 0);
  return std::move(plan).finish();
}

// Slot c of rank r holds r's chunk c for its owner c; slot r, which nobody needs at stage 0, then holds the result.
Plan two_shot_all_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllReduce, request, n);
  publish_others_chunks(plan, n, rank);
  plan.read_reduce(out(rank), in(rank), shared(rank, rank), 0);
  plan.copy(shared(rank, rank), out(rank));
  plan.publish(shared(rank, rank), 1);
  for (int step = 1; step < n; step++) {
    const int owner = wrap(rank + step, n);
    plan.read(out(owner), owner, shared(owner, owner), 1);
  }
  return std::move(plan).finish();
}

// The same, but the owner writes results where the contributions lay, for their ranks to take: every cache line goes
// from one rank to the other and back, where else a slot's owner must win it back from its readers first.
Plan return_all_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllReduce, request, n);
  publish_others_chunks(plan, n, rank);
  plan.read_reduce(out(rank), in(rank), shared(rank, rank), 0);
  for (int step = 1; step < n; step++) plan.write(wrap(rank + step, n), shared(rank, rank), out(rank), 0);
  plan.publish(shared(rank, rank), 1);
  for (int step = 1; step < n; step++) {
    const int owner = wrap(rank + step, n);
    plan.take(out(owner), owner, shared(owner, owner), 1);
  }
  return std::move(plan).finish();
}

Plan direct_reduce_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kReduceScatter, request, n);
  publish_others_chunks(plan, n, rank);
  plan.read_reduce(out(0), in(rank), shared(rank, rank), 0);
  return std::move(plan).finish();
}

Plan direct_all_gather(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllGather, request, n);
  plan.copy(shared(0, rank), in(0));
  plan.publish(shared(0, rank), 0);
  plan.copy(out(rank), in(0));
  read_everybodys_slot(plan, n, rank);
  return std::move(plan).finish();
}

Plan direct_broadcast(const PlanRequest& request) {
  PlanBuilder plan(Collective::kBroadcast, request, 1);
  if (request.rank == request.root) {
    plan.copy(shared(0, 0), in(0));
    plan.publish(shared(0, 0), 0);
    plan.copy(out(0), in(0));
  } else {
    plan.read(out(0), request.root, shared(0, 0), 0);
  }
  return std::move(plan).finish();
}

Plan direct_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kReduce, request, 1);
  if (request.rank == request.root) {
    plan.read_reduce(out(0), in(0), shared(0, 0), 0);
  } else {
    plan.copy(shared(0, 0), in(0));
    plan.publish(shared(0, 0), 0);
  }
  return std::move(plan).finish();
}

Plan direct_gather(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kGather, request, n);
  if (rank != request.root) {
    plan.copy(shared(0, rank), in(0));
    plan.publish(shared(0, rank), 0);
    return std::move(plan).finish();
  }
  plan.copy(out(rank), in(0));
  read_everybodys_slot(plan, n, rank);
  return std::move(plan).finish();
}

Plan direct_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kScatter, request, n);
  plan.use_shared_slots(n);
  if (rank != request.root) {
    plan.read(out(0), request.root, shared(rank, rank), 0);
    return std::move(plan).finish();
  }
  publish_others_chunks(plan, n, rank);
  plan.copy(out(0), in(rank));
  return std::move(plan).finish();
}

Plan direct_all_to_all(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllToAll, request, n);
  publish_others_chunks(plan, n, rank);
  plan.copy(out(rank), in(rank));
  for (int step = 1; step < n; step++) {
    const int owner = wrap(rank + step, n);
    plan.read(out(owner), owner, shared(rank, rank), 0);
  }
  return std::move(plan).finish();
}

// A barrier carries one byte from everybody to everybody (dissemination.cc says why), so it is a one-shot all-reduce.
Plan direct_barrier(const PlanRequest& request) {
  PlanBuilder plan(Collective::kBarrier, request, 1);
  plan.copy(shared(0, 0), in(0));
  plan.publish(shared(0, 0), 0);
  plan.read_reduce(out(0), in(0), shared(0, 0), 0);
  return std::move(plan).finish();
}

}  // namespace peal
