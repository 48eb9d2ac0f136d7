// Large jobs whose ranks do the same: what stands for all of them when they are simulated (Fold in simulate.h).
#pragma once

#include "collectives/algorithms/catalog.h"
#include "collectives/plan.h"

namespace peal {

// Does rank r do what rank r % period does, with all peers moved by the same whole number of periods? Looked at: the
// ranks of the second and of the last period against the first ones (the tests look at all ranks of small jobs).
// `placement` may be null. False also where `period` does not divide `ranks`, and for plans that map memory.
PEAL_API bool folds(const Algorithm& algorithm, int ranks, int period, const Placement* placement);

// Is `plan` the one of `of`, with peers moved by the distance of the two ranks, around the job's end?
PEAL_API bool is_moved(const Plan& plan, const Plan& of);

}  // namespace peal
