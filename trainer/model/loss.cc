#include "trainer/model/loss.h"

#include <algorithm>
#include <cmath>

namespace peal::trainer {

namespace {

// log of the sum of exp(row), without overflow.
double log_sum_exp(const float* row, size_t cols) noexcept {
  const float largest = *std::max_element(row, row + cols);
  double sum = 0;
  for (size_t c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(row[c] - largest));
  return largest + std::log(sum);
}

}  // namespace

double SoftmaxCrossEntropy::forward_backward(ConstMatrix outputs, std::span<const uint8_t> labels,
                                             Matrix gradient) const noexcept {
  double loss = 0;
  for (size_t r = 0; r < outputs.rows; ++r) {
    const float* row = outputs.row(r);
    const double normaliser = log_sum_exp(row, outputs.cols);
    loss += normaliser - row[labels[r]];
    float* slope = gradient.row(r);
    for (size_t c = 0; c < outputs.cols; ++c) slope[c] = static_cast<float>(std::exp(row[c] - normaliser));
    slope[labels[r]] -= 1;
  }
  return loss;
}

double SoftmaxCrossEntropy::forward(ConstMatrix outputs, std::span<const uint8_t> labels) const noexcept {
  double loss = 0;
  for (size_t r = 0; r < outputs.rows; ++r) {
    loss += log_sum_exp(outputs.row(r), outputs.cols) - outputs.row(r)[labels[r]];
  }
  return loss;
}

size_t count_correct(ConstMatrix outputs, std::span<const uint8_t> labels) noexcept {
  size_t correct = 0;
  for (size_t r = 0; r < outputs.rows; ++r) {
    const float* row = outputs.row(r);
    correct += std::max_element(row, row + outputs.cols) - row == labels[r] ? 1 : 0;
  }
  return correct;
}

}  // namespace peal::trainer
