#include "collectives/algorithms/catalog.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "base/settings.h"

namespace peal {
namespace {

using C = Collective;
constexpr std::array kAlgorithms = {
    Algorithm{C::kAllReduce, "ring", Needs::kConnections, ring_all_reduce},
    Algorithm{C::kAllReduce, "recursive_doubling", Needs::kConnections, recursive_doubling_all_reduce},
    Algorithm{C::kAllReduce, "halving_doubling", Needs::kConnections, halving_doubling_all_reduce},
    Algorithm{C::kAllReduce, "binomial", Needs::kConnections, binomial_all_reduce},
    Algorithm{C::kAllReduce, "double_tree", Needs::kConnections, double_tree_all_reduce},
    Algorithm{C::kAllReduce, "one_shot", Needs::kWindow, one_shot_all_reduce},
    Algorithm{C::kAllReduce, "two_shot", Needs::kWindow, two_shot_all_reduce},
    Algorithm{C::kAllReduce, "symmetric", Needs::kSymmetric, symmetric_all_reduce},
    Algorithm{C::kReduceScatter, "ring", Needs::kConnections, ring_reduce_scatter},
    Algorithm{C::kReduceScatter, "pairwise", Needs::kConnections, pairwise_reduce_scatter},
    Algorithm{C::kReduceScatter, "direct", Needs::kWindow, direct_reduce_scatter},
    Algorithm{C::kAllGather, "ring", Needs::kConnections, ring_all_gather},
    Algorithm{C::kAllGather, "bruck", Needs::kConnections, bruck_all_gather},
    Algorithm{C::kAllGather, "direct", Needs::kWindow, direct_all_gather},
    Algorithm{C::kBroadcast, "ring", Needs::kConnections, ring_broadcast},
    Algorithm{C::kBroadcast, "binomial", Needs::kConnections, binomial_broadcast},
    Algorithm{C::kBroadcast, "double_tree", Needs::kConnections, double_tree_broadcast},
    Algorithm{C::kBroadcast, "direct", Needs::kWindow, direct_broadcast},
    Algorithm{C::kReduce, "ring", Needs::kConnections, ring_reduce},
    Algorithm{C::kReduce, "binomial", Needs::kConnections, binomial_reduce},
    Algorithm{C::kReduce, "double_tree", Needs::kConnections, double_tree_reduce},
    Algorithm{C::kReduce, "direct", Needs::kWindow, direct_reduce},
    Algorithm{C::kGather, "linear", Needs::kConnections, linear_gather},
    Algorithm{C::kGather, "direct", Needs::kWindow, direct_gather},
    Algorithm{C::kScatter, "linear", Needs::kConnections, linear_scatter},
    Algorithm{C::kScatter, "direct", Needs::kWindow, direct_scatter},
    Algorithm{C::kAllToAll, "pairwise", Needs::kConnections, pairwise_all_to_all},
    Algorithm{C::kAllToAll, "direct", Needs::kWindow, direct_all_to_all},
    Algorithm{C::kBarrier, "dissemination", Needs::kConnections, dissemination_barrier},
    Algorithm{C::kBarrier, "direct", Needs::kWindow, direct_barrier},
};

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
  Plan plan = algorithm.build(request);
  plan.algorithm = algorithm.name;
  return plan;
}

}  // namespace peal
