// What a model's outputs are judged by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "trainer/math/matrix.h"

namespace peal::trainer {

class Loss {
 public:
  virtual ~Loss() = default;

  // Returns the sum (not the mean) of the rows' losses, and stores its derivative in `gradient` (same shape as
  // `outputs`; may be the same memory). labels[r] < outputs.cols.
  virtual double forward_backward(ConstMatrix outputs, std::span<const uint8_t> labels,
                                  Matrix gradient) const noexcept = 0;
  // The sum alone.
  virtual double forward(ConstMatrix outputs, std::span<const uint8_t> labels) const noexcept = 0;
};

// -log softmax(outputs)[label].
class SoftmaxCrossEntropy : public Loss {
 public:
  double forward_backward(ConstMatrix outputs, std::span<const uint8_t> labels,
                          Matrix gradient) const noexcept override;
  double forward(ConstMatrix outputs, std::span<const uint8_t> labels) const noexcept override;
};

// Rows whose largest output (the first of equals) is at the label.
size_t count_correct(ConstMatrix outputs, std::span<const uint8_t> labels) noexcept;

}  // namespace peal::trainer
