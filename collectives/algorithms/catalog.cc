#include "collectives/algorithms/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/settings.h"
#include "collectives/relabel.h"

namespace peal {
namespace {

using C = Collective;
using P = Placing;
constexpr std::array kAlgorithms = {
    Algorithm{C::kAllReduce, "ring", Needs::kConnections, P::kByPosition, ring_all_reduce},
    Algorithm{C::kAllReduce, "recursive_doubling", Needs::kConnections, P::kByPosition, recursive_doubling_all_reduce},
    Algorithm{C::kAllReduce, "halving_doubling", Needs::kConnections, P::kByPosition, halving_doubling_all_reduce},
    Algorithm{C::kAllReduce, "binomial", Needs::kConnections, P::kByPosition, binomial_all_reduce},
    Algorithm{C::kAllReduce, "double_tree", Needs::kConnections, P::kByPosition, double_tree_all_reduce},
    Algorithm{C::kAllReduce, "pairwise", Needs::kConnections, P::kByPosition, pairwise_all_reduce},
    Algorithm{C::kAllReduce, "hierarchical", Needs::kConnections, P::kByGroups, hierarchical_ring_all_reduce},
    Algorithm{C::kAllReduce, "hierarchical_doubling", Needs::kConnections, P::kByGroups,
              hierarchical_doubling_all_reduce},
    Algorithm{C::kAllReduce, "one_shot", Needs::kWindow, P::kByRank, one_shot_all_reduce},
    Algorithm{C::kAllReduce, "two_shot", Needs::kWindow, P::kByRank, two_shot_all_reduce},
    Algorithm{C::kAllReduce, "two_shot_return", Needs::kWindow, P::kByRank, return_all_reduce},
    Algorithm{C::kAllReduce, "pull", Needs::kReadable, P::kByRank, pull_all_reduce},
    Algorithm{C::kAllReduce, "push", Needs::kSymmetric, P::kByRank, push_all_reduce},
    Algorithm{C::kReduceScatter, "ring", Needs::kConnections, P::kByPosition, ring_reduce_scatter},
    Algorithm{C::kReduceScatter, "pairwise", Needs::kConnections, P::kByPosition, pairwise_reduce_scatter},
    Algorithm{C::kReduceScatter, "hierarchical", Needs::kConnections, P::kByGroups, hierarchical_reduce_scatter},
    Algorithm{C::kReduceScatter, "direct", Needs::kWindow, P::kByRank, direct_reduce_scatter},
    Algorithm{C::kReduceScatter, "pull", Needs::kReadable, P::kByRank, pull_reduce_scatter},
    Algorithm{C::kAllGather, "ring", Needs::kConnections, P::kByPosition, ring_all_gather},
    Algorithm{C::kAllGather, "bruck", Needs::kConnections, P::kByRank, bruck_all_gather},
    Algorithm{C::kAllGather, "hierarchical", Needs::kConnections, P::kByGroups, hierarchical_all_gather},
    Algorithm{C::kAllGather, "direct", Needs::kWindow, P::kByRank, direct_all_gather},
    Algorithm{C::kAllGather, "pull", Needs::kReadable, P::kByRank, pull_all_gather},
    Algorithm{C::kBroadcast, "ring", Needs::kConnections, P::kByPosition, ring_broadcast},
    Algorithm{C::kBroadcast, "binomial", Needs::kConnections, P::kByPosition, binomial_broadcast},
    Algorithm{C::kBroadcast, "double_tree", Needs::kConnections, P::kByPosition, double_tree_broadcast},
    Algorithm{C::kBroadcast, "hierarchical", Needs::kConnections, P::kByGroups, hierarchical_broadcast},
    Algorithm{C::kBroadcast, "direct", Needs::kWindow, P::kByRank, direct_broadcast},
    Algorithm{C::kBroadcast, "pull", Needs::kReadable, P::kByRank, pull_broadcast},
    Algorithm{C::kReduce, "ring", Needs::kConnections, P::kByPosition, ring_reduce},
    Algorithm{C::kReduce, "binomial", Needs::kConnections, P::kByPosition, binomial_reduce},
    Algorithm{C::kReduce, "double_tree", Needs::kConnections, P::kByPosition, double_tree_reduce},
    Algorithm{C::kReduce, "hierarchical", Needs::kConnections, P::kByGroups, hierarchical_reduce},
    Algorithm{C::kReduce, "direct", Needs::kWindow, P::kByRank, direct_reduce},
    Algorithm{C::kReduce, "pull", Needs::kReadable, P::kByRank, pull_reduce},
    Algorithm{C::kGather, "linear", Needs::kConnections, P::kByPosition, linear_gather},
    Algorithm{C::kGather, "direct", Needs::kWindow, P::kByRank, direct_gather},
    Algorithm{C::kGather, "pull", Needs::kReadable, P::kByRank, pull_gather},
    Algorithm{C::kScatter, "linear", Needs::kConnections, P::kByPosition, linear_scatter},
    Algorithm{C::kScatter, "direct", Needs::kWindow, P::kByRank, direct_scatter},
    Algorithm{C::kScatter, "pull", Needs::kReadable, P::kByRank, pull_scatter},
    Algorithm{C::kAllToAll, "pairwise", Needs::kConnections, P::kByPosition, pairwise_all_to_all},
    Algorithm{C::kAllToAll, "direct", Needs::kWindow, P::kByRank, direct_all_to_all},
    Algorithm{C::kAllToAll, "pull", Needs::kReadable, P::kByRank, pull_all_to_all},
    Algorithm{C::kBarrier, "dissemination", Needs::kConnections, P::kByPosition, dissemination_barrier},
    Algorithm{C::kBarrier, "direct", Needs::kWindow, P::kByRank, direct_barrier},
};

Plan plan_by_position(const Algorithm& algorithm, const PlanRequest& request) {
  const std::vector<int>& ring = request.placement->ring;
  const auto position = [&](int rank) {
    return static_cast<int>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
  };
  PlanRequest placed = request;
  placed.rank = position(request.rank);
  placed.root = position(request.root);
  return relabel(algorithm.build(placed), ring);
}

}  // namespace

std::span<const Algorithm> algorithms() noexcept { return kAlgorithms; }

const Algorithm& find_algorithm(Collective collective, std::string_view name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.collective != collective) continue;
    if (algorithm.name == name) return algorithm;
    names.emplace_back(algorithm.name);
  }
  const std::string near = nearest(name, names);
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("unknown algorithm '{}' for {}; valid: {}{}", name, name_of(collective),
                          fmt::join(names, " "), near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

Plan build_plan(const Algorithm& algorithm, const PlanRequest& request) {
  const bool positions = algorithm.placing == Placing::kByPosition && request.placement != nullptr;
  Plan plan = positions ? plan_by_position(algorithm, request) : algorithm.build(request);
  plan.algorithm = algorithm.name;
  return plan;
}

}  // namespace peal
