// A plan written for positions on a ring, made a plan for ranks: position p is rank ring[p]. So any algorithm follows
// any order of ranks, without knowing of it.
#pragma once

#include <span>

#include "collectives/plan.h"

namespace peal {

// `plan.rank` and `plan.root` are positions. Throws Error(kInternal) for a plan that moves several blocks, which belong
// to ranks, as one run: they would no longer be neighbours (such an algorithm is Placing::kByRank).
PEAL_API Plan relabel(Plan plan, std::span<const int> ring);

}  // namespace peal
