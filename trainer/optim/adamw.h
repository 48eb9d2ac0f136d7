// AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization", 2019), float32.
#pragma once

#include <cstdint>

#include "trainer/math/aligned_floats.h"
#include "trainer/model/parameter.h"

namespace peal::trainer {

struct AdamwOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // of tensors with two or more dimensions; biases and gains don't decay
};

class Adamw {
 public:
  // `parameters` outlives this. State starts at zero.
  Adamw(const ParameterSet& parameters, const AdamwOptions& options);

  // One update of one parameter from its gradient, a sum over `divisor` samples, which is divided here and nowhere
  // else. `step` counts from 1. Parameters may be updated in any order.
  void update(const Parameter& parameter, uint64_t step, double learning_rate, double divisor) noexcept;

  // First and second moments: flat arrays laid out as the parameters' values are.
  float* m() const noexcept { return m_.data(); }
  float* v() const noexcept { return v_.data(); }

 private:
  AdamwOptions options_;
  AlignedFloats m_;
  AlignedFloats v_;
};

}  // namespace peal::trainer
