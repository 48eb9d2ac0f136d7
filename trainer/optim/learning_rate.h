// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <string>

namespace peal::trainer {

struct LearningRate {
  double peak = 1e-3;
  std::string schedule = "cosine";  // or "constant"
  uint64_t warmup_steps = 0;        // linear from peak / warmup_steps to peak
  uint64_t total_steps = 1;
  double final_fraction = 0;  // cosine ends at peak * final_fraction

  // `step` counts from 1.
  double at(uint64_t step) const noexcept;
};

}  // namespace peal::trainer
