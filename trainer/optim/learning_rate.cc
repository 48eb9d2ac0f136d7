#include "trainer/optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace peal::trainer {

double LearningRate::at(uint64_t step) const noexcept {
  if (step < warmup_steps) return peak * static_cast<double>(step) / static_cast<double>(warmup_steps);
  if (schedule == "constant" || total_steps <= warmup_steps) return peak;
  const double progress =
      std::min(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps));
  return peak * (final_fraction + (1 - final_fraction) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

}  // namespace peal::trainer
