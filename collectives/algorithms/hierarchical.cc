// Inside groups of near ranks (a host, a package) first, between groups with what is left: what crosses the boundary
// crosses it once.
// Reference: Jia et al., "Highly scalable deep learning training system with mixed-precision", 2018 (hierarchical
// all-reduce); Sistare et al., "Optimization of MPI collectives on clusters of large-scale SMPs", 1999.
// Deviation: groups may differ in size. Slices are as many as the largest group has members, so that all members of all
// groups work between groups at the same time; a member of a smaller group owns several.
// Wins: many hosts with several ranks each: 2(n/s - 1) instead of 2(n - 1) slow hops (ring), or log2 of it (doubling).
// Limits: inside a group, every member trades with every other: groups of tens, not hundreds.
#include "collectives/algorithms/catalog.h"
#include "collectives/algorithms/groups.h"
#include "collectives/algorithms/tree_steps.h"

namespace peal {
namespace {

using Build = Plan (*)(const PlanRequest&);

// Reduce-scatter inside the group, `between` on each slice among its owners, all-gather inside the group.
Plan hierarchical_all_reduce(const PlanRequest& request, Build between) {
  const Groups groups(request);
  const int own = groups.own();
  const Plan across = between({.rank = own, .ranks = groups.count(), .in_place = true});
  const int parts = across.chunks;  // of a slice
  const auto first = [&](int index) { return groups.first_slice(own, index) * parts; };
  const auto count = [&](int index) { return groups.slices(own, index) * parts; };
  const int me = groups.index(), size = groups.size(own);
  const Chunks sum = out(first(me), count(me));

  PlanBuilder plan(Collective::kAllReduce, request, groups.largest() * parts);
  plan.copy(sum, in(first(me), count(me)));
  for (int step = 0; step < size; step++) {
    const int partner = groups.partner(step);
    if (partner == me) continue;
    plan.send(groups.member(own, partner), in(first(partner), count(partner)));
    plan.recv_reduce(groups.member(own, partner), sum);
  }
  for (int slice = groups.first_slice(own, me); slice < groups.first_slice(own, me + 1); slice++) {
    std::vector<int> owners;
    for (int group = 0; group < groups.count(); group++) owners.push_back(groups.owner(group, slice));
    plan.embed(across, owners, slice * parts);
  }
  for (int step = 0; step < size; step++) {
    const int partner = groups.partner(step);
    if (partner == me) continue;
    plan.send(groups.member(own, partner), sum);
    plan.recv(groups.member(own, partner), out(first(partner), count(partner)));
  }
  return std::move(plan).finish();
}

// Two levels of binomial trees: the groups' leaders, and each group below its leader. The root leads its own group.
TreePlace two_level_place(const PlanRequest& request) {
  const Groups groups(request);
  const int own = groups.own(), root_group = groups.group_of(request.root);
  const auto leader = [&](int group) { return group == root_group ? request.root : groups.member(group, 0); };
  const int lead = groups.index_in(own, leader(own));
  TreePlace place;
  const TreePlace inside = binomial_place(groups.index(), groups.size(own), lead);
  if (inside.parent >= 0) place.parent = groups.member(own, inside.parent);
  for (const int child : inside.children) place.children.push_back(groups.member(own, child));
  if (groups.index() != lead) return place;
  const TreePlace among = binomial_place(own, groups.count(), root_group);
  if (among.parent >= 0) place.parent = leader(among.parent);
  for (const int child : among.children) place.children.push_back(leader(child));
  return place;
}

}  // namespace

Plan hierarchical_ring_all_reduce(const PlanRequest& request) {
  return hierarchical_all_reduce(request, ring_all_reduce);
}

Plan hierarchical_doubling_all_reduce(const PlanRequest& request) {
  return hierarchical_all_reduce(request, halving_doubling_all_reduce);
}

// A group sums up every block at one member, which hands it to the block's rank.
Plan hierarchical_reduce_scatter(const PlanRequest& request) {
  const Groups groups(request);
  const int own = groups.own(), rank = request.rank, all = groups.count();
  std::vector<int> mine;  // ranks whose blocks are summed up here, by group, this one's first
  std::vector<std::vector<int>> of_member(static_cast<size_t>(groups.size(own)));
  for (int step = 0; step < all; step++) {
    const int group = (own + step) % all;
    for (size_t i = 0; i < of_member.size(); i++) {
      const std::vector<int> charges = groups.charges(group, groups.member(own, static_cast<int>(i)));
      of_member[i].insert(of_member[i].end(), charges.begin(), charges.end());
    }
  }
  mine = of_member[static_cast<size_t>(groups.index())];

  PlanBuilder plan(Collective::kReduceScatter, request, request.ranks);
  const auto sum = [&](size_t i) { return mine[i] == rank ? out(0) : scratch(static_cast<int>(i), mine[i]); };
  for (size_t i = 0; i < mine.size(); i++) plan.copy(sum(i), in(mine[i]));
  for (int step = 0; step < groups.size(own); step++) {
    const int partner = groups.partner(step);
    if (partner == groups.index()) continue;
    const std::vector<int>& theirs = of_member[static_cast<size_t>(partner)];
    for (size_t i = 0; i < std::max(mine.size(), theirs.size()); i++) {
      if (i < theirs.size()) plan.send(groups.member(own, partner), in(theirs[i]));
      if (i < mine.size()) plan.recv_reduce(groups.member(own, partner), sum(i));
    }
  }
  for (int step = 1; step < all; step++) {
    const int to = (own + step) % all, from = (own - step + all) % all;
    for (size_t i = 0; i < mine.size(); i++) {
      if (groups.group_of(mine[i]) == to) plan.send(mine[i], sum(i));
    }
    plan.recv_reduce(groups.mate(from, rank), out(0));
  }
  return std::move(plan).finish();
}

// A block goes to one member of every other group, which hands it round.
Plan hierarchical_all_gather(const PlanRequest& request) {
  const Groups groups(request);
  const int own = groups.own(), rank = request.rank, all = groups.count();
  PlanBuilder plan(Collective::kAllGather, request, request.ranks);
  plan.copy(out(rank), in(0));
  for (int step = 1; step < all; step++) {
    plan.send(groups.mate((own + step) % all, rank), out(rank));
    for (const int from : groups.charges((own - step + all) % all, rank)) plan.recv(from, out(from));
  }
  const auto held_by = [&](int member) {
    std::vector<int> blocks;
    for (int step = 0; step < all; step++) {
      const std::vector<int> charges = groups.charges((own - step + all) % all, member);
      blocks.insert(blocks.end(), charges.begin(), charges.end());
    }
    return blocks;
  };
  const std::vector<int> mine = held_by(rank);
  for (int step = 0; step < groups.size(own); step++) {
    const int partner = groups.member(own, groups.partner(step));
    if (partner == rank) continue;
    const std::vector<int> theirs = held_by(partner);
    for (size_t i = 0; i < std::max(mine.size(), theirs.size()); i++) {
      if (i < mine.size()) plan.send(partner, out(mine[i]));
      if (i < theirs.size()) plan.recv(partner, out(theirs[i]));
    }
  }
  return std::move(plan).finish();
}

Plan hierarchical_broadcast(const PlanRequest& request) {
  PlanBuilder plan(Collective::kBroadcast, request, 1);
  if (request.rank == request.root) plan.copy(out(0), in(0));
  TreePlace place = two_level_place(request);
  std::reverse(place.children.begin(), place.children.end());  // other groups first, deepest subtrees first
  broadcast_down(plan, place, out(0));
  return std::move(plan).finish();
}

Plan hierarchical_reduce(const PlanRequest& request) {
  PlanBuilder plan(Collective::kReduce, request, 1);
  reduce_up(plan, two_level_place(request), request.rank == request.root ? out(0) : scratch(0, 0), in(0));
  return std::move(plan).finish();
}

}  // namespace peal
