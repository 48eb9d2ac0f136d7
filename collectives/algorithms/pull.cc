// Over the callers' own buffers, which peers can read (they lie in symmetric memory, belong to a thread of the same
// process, or the kernel copies from them): nothing is staged, whoever needs bytes takes them from where they are.
// Reference: Hashmi et al., "Designing efficient shared address space reduction collectives for multi-/many-cores",
// 2018 (reduction straight from the peers' buffers); Chakraborty et al., "Contention-aware kernel-assisted MPI
// collectives for multi-/many-core systems", 2017 (single-copy by the kernel).
// Wins: large messages: one copy instead of two, no slots. Limits: a system call per piece where the kernel copies, so
// no use below some 10 KiB; broadcast and scatter load one rank's memory.
#include "collectives/algorithms/catalog.h"
#include "collectives/plan_builder.h"

namespace peal {
namespace {

// Calls each(peer) for all others, every rank beginning with its successor, so that no two ranks read one at a time.
template <class Each>
void for_peers(const PlanRequest& request, Each each) {
  for (int step = 1; step < request.ranks; step++) each(wrap(request.rank + step, request.ranks));
}

}  // namespace

// Each rank reduces its slice from everybody's buffer, then takes the other slices from their owners. A rank's chunk c
// is overwritten only once owner c has published, which means that it has read it.
Plan pull_all_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllReduce, request, n);
  plan.publish(in(0, n), 0);
  plan.read_reduce(out(rank), in(rank), in(rank), 0);
  plan.publish(out(rank), 1);
  for_peers(request, [&](int owner) { plan.read(out(owner), owner, out(owner), 1); });
  return std::move(plan).finish();
}

// The same, but each rank writes its slice into everybody's buffer, where nobody looks before all are done: the bytes
// are in this rank's cache when they leave, and one wait is spared. For memory that is mapped.
Plan push_all_reduce(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllReduce, request, n);
  plan.publish(in(0, n), 0);
  plan.publish(out(0, n), 1);
  plan.read_reduce(out(rank), in(rank), in(rank), 1);
  for_peers(request, [&](int peer) { plan.write(peer, out(rank), out(rank), 1); });
  return std::move(plan).finish();
}

Plan pull_reduce_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kReduceScatter, request, n);
  plan.publish(in(0, n), 0);
  plan.read_reduce(out(0), in(rank), in(rank), 0);
  return std::move(plan).finish();
}

Plan pull_all_gather(const PlanRequest& request) {
  PlanBuilder plan(Collective::kAllGather, request, request.ranks);
  plan.publish(in(0), 0);
  plan.copy(out(request.rank), in(0));
  for_peers(request, [&](int owner) { plan.read(out(owner), owner, in(0), 0); });
  return std::move(plan).finish();
}

Plan pull_broadcast(const PlanRequest& request) {
  PlanBuilder plan(Collective::kBroadcast, request, 1);
  if (request.rank == request.root) {
    plan.publish(in(0), 0);
    plan.copy(out(0), in(0));
  } else {
    plan.read(out(0), request.root, in(0), 0);
  }
  return std::move(plan).finish();
}

Plan pull_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kReduce, request, 1);
  if (request.rank == request.root) {
    plan.read_reduce(out(0), in(0), in(0), 0);
  } else {
    plan.publish(in(0), 0);
  }
  return std::move(plan).finish();
}

Plan pull_gather(const PlanRequest& request) {
  PlanBuilder plan(Collective::kGather, request, request.ranks);
  if (request.rank != request.root) {
    plan.publish(in(0), 0);
    return std::move(plan).finish();
  }
  plan.copy(out(request.rank), in(0));
  for_peers(request, [&](int owner) { plan.read(out(owner), owner, in(0), 0); });
  return std::move(plan).finish();
}

Plan pull_scatter(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kScatter, request, n);
  if (rank != request.root) {
    plan.read(out(0), request.root, in(rank), 0);
    return std::move(plan).finish();
  }
  plan.publish(in(0, n), 0);
  plan.copy(out(0), in(rank));
  return std::move(plan).finish();
}

// In place, what peers still want to read can't be overwritten: blocks wait in scratch until everybody has read.
Plan pull_all_to_all(const PlanRequest& request) {
  const int n = request.ranks, rank = request.rank;
  PlanBuilder plan(Collective::kAllToAll, request, n);
  plan.publish(in(0, n), 0);
  plan.copy(out(rank), in(rank));
  for_peers(request,
            [&](int owner) { plan.read(request.in_place ? scratch(owner, owner) : out(owner), owner, in(rank), 0); });
  plan.publish(in(rank), 1);
  if (request.in_place) for_peers(request, [&](int owner) { plan.take(out(owner), owner, scratch(owner, owner), 1); });
  return std::move(plan).finish();
}

}  // namespace peal
