#include "collectives/phases.h"

#include <algorithm>

namespace peal {

std::vector<size_t> phase_ends(const Plan& plan) {
  std::vector<size_t> ends;
  int waited_for = -1;
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const Step& step = plan.steps[i];
    if (!step.waits_for_publish() || step.stage <= waited_for) continue;
    waited_for = step.stage;
    if (i > 0) ends.push_back(i);
  }
  ends.push_back(plan.steps.size());
  // More phases than turns would have a rank wait for a slot that it has yet to finish with itself.
  if (ends.size() > kWindowTurns) ends = {plan.steps.size()};
  return ends;
}

}  // namespace peal
