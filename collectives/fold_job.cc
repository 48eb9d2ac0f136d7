#include "collectives/fold_job.h"

#include <vector>

namespace peal {

bool is_moved(const Plan& plan, const Plan& of) {
  if (plan.steps.size() != of.steps.size() || plan.chunks != of.chunks || plan.ranks != of.ranks) return false;
  const int distance = (plan.rank - of.rank + plan.ranks) % plan.ranks;
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const Step &a = plan.steps[i], &b = of.steps[i];
    const bool alike = a.kind == b.kind && a.after == b.after && a.stage == b.stage && a.dst.count == b.dst.count &&
                       a.src.count == b.src.count;
    if (!alike || (a.peer < 0) != (b.peer < 0)) return false;
    if (a.peer >= 0 && a.peer != (b.peer + distance) % plan.ranks) return false;
  }
  return true;
}

bool folds(const Algorithm& algorithm, int ranks, int period, const Placement* placement) {
  if (period < 1 || ranks % period != 0) return false;
  for (int rank = 0; rank < period; rank++) {
    const Plan first = build_plan(algorithm, {rank, ranks, 0, false, placement});
    if (first.needs_window()) return false;
    for (const int other : {period + rank, ranks - period + rank}) {
      if (other >= ranks || other == rank) continue;
      if (!is_moved(build_plan(algorithm, {other, ranks, 0, false, placement}), first)) return false;
    }
  }
  return true;
}

}  // namespace peal
