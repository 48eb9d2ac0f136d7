// Every algorithm, as a list one can read. An algorithm is a pure function from a request to a plan.
#pragma once

#include <span>
#include <string_view>

#include "collectives/plan.h"

namespace peal {

// What an algorithm needs beyond connections between any two ranks.
enum class Needs : uint8_t {
  kConnections,  // nothing
  kWindow,       // memory that all ranks map (staged through shared slots)
  kReadable,     // buffers that peers can read where they are (Window::Reach), or in symmetric memory
  kSymmetric,    // the caller's buffers lie in symmetric memory
};

// How an algorithm follows the placement of ranks (topology/places.h).
enum class Placing : uint8_t {
  kByPosition,  // written for positions on a ring, which build_plan() makes ranks (relabel.h)
  kByRank,      // not at all
  kByGroups,    // it reads the groups itself, and is of no use without several
};

struct Algorithm {
  Collective collective;
  std::string_view name;
  Needs needs;
  Placing placing;
  Plan (*build)(const PlanRequest& request);
};

// In no order of merit: selection (select.h) compares costs.
PEAL_API std::span<const Algorithm> algorithms() noexcept;

// Throws Error(kInvalidArgument) listing the collective's algorithms and the nearest name.
PEAL_API const Algorithm& find_algorithm(Collective collective, std::string_view name);

// The plan, placed, with its algorithm's name filled in.
PEAL_API Plan build_plan(const Algorithm& algorithm, const PlanRequest& request);

// ring.cc
Plan ring_all_reduce(const PlanRequest& request);
Plan ring_reduce_scatter(const PlanRequest& request);
Plan ring_all_gather(const PlanRequest& request);
Plan ring_broadcast(const PlanRequest& request);
Plan ring_reduce(const PlanRequest& request);
// recursive_doubling.cc
Plan recursive_doubling_all_reduce(const PlanRequest& request);
Plan bruck_all_gather(const PlanRequest& request);
// halving_doubling.cc
Plan halving_doubling_all_reduce(const PlanRequest& request);
// binomial.cc
Plan binomial_all_reduce(const PlanRequest& request);
Plan binomial_broadcast(const PlanRequest& request);
Plan binomial_reduce(const PlanRequest& request);
// double_tree.cc
Plan double_tree_all_reduce(const PlanRequest& request);
Plan double_tree_broadcast(const PlanRequest& request);
Plan double_tree_reduce(const PlanRequest& request);
// direct.cc
Plan one_shot_all_reduce(const PlanRequest& request);
Plan two_shot_all_reduce(const PlanRequest& request);
Plan return_all_reduce(const PlanRequest& request);
Plan direct_reduce_scatter(const PlanRequest& request);
Plan direct_all_gather(const PlanRequest& request);
Plan direct_broadcast(const PlanRequest& request);
Plan direct_reduce(const PlanRequest& request);
Plan direct_gather(const PlanRequest& request);
Plan direct_scatter(const PlanRequest& request);
Plan direct_all_to_all(const PlanRequest& request);
Plan direct_barrier(const PlanRequest& request);
// pull.cc
Plan pull_all_reduce(const PlanRequest& request);
Plan push_all_reduce(const PlanRequest& request);
Plan pull_reduce_scatter(const PlanRequest& request);
Plan pull_all_gather(const PlanRequest& request);
Plan pull_broadcast(const PlanRequest& request);
Plan pull_reduce(const PlanRequest& request);
Plan pull_gather(const PlanRequest& request);
Plan pull_scatter(const PlanRequest& request);
Plan pull_all_to_all(const PlanRequest& request);
// pairwise.cc
Plan pairwise_all_reduce(const PlanRequest& request);
Plan pairwise_all_to_all(const PlanRequest& request);
Plan pairwise_reduce_scatter(const PlanRequest& request);
// linear.cc
Plan linear_gather(const PlanRequest& request);
Plan linear_scatter(const PlanRequest& request);
// hierarchical.cc
Plan hierarchical_ring_all_reduce(const PlanRequest& request);
Plan hierarchical_doubling_all_reduce(const PlanRequest& request);
Plan hierarchical_reduce_scatter(const PlanRequest& request);
Plan hierarchical_all_gather(const PlanRequest& request);
Plan hierarchical_broadcast(const PlanRequest& request);
Plan hierarchical_reduce(const PlanRequest& request);
// dissemination.cc
Plan dissemination_barrier(const PlanRequest& request);

}  // namespace peal
