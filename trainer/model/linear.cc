#include "trainer/model/linear.h"

#include <algorithm>
#include <cmath>

#include "trainer/math/matmul.h"
#include "trainer/math/vector_kernels.h"

namespace peal::trainer {

Linear::Linear(const std::string& name, size_t inputs, size_t outputs)
    : weight_{name + ".weight", {outputs, inputs}}, bias_{name + ".bias", {outputs}} {}

void Linear::initialise(const CounterRandom& random) {
  const float bound = 1.0F / std::sqrt(static_cast<float>(inputs()));
  uint64_t counter = 0;
  for (Parameter* parameter : parameters()) {
    for (size_t i = 0; i < parameter->size(); ++i) parameter->value[i] = bound * random.symmetric(counter++);
  }
}

void Linear::forward(ConstMatrix x, Matrix y) const noexcept {
  for (size_t r = 0; r < y.rows; ++r) std::copy_n(bias_.value, y.cols, y.row(r));
  matmul(Transpose::kNo, Transpose::kYes, x.rows, outputs(), inputs(), x.data, weight_.value, 1, y.data);
}

void Linear::backward_input(ConstMatrix, ConstMatrix dy, Matrix dx) const noexcept {
  matmul(Transpose::kNo, Transpose::kNo, dy.rows, inputs(), outputs(), dy.data, weight_.value, 0, dx.data);
}

void Linear::backward_weight(ConstMatrix x, ConstMatrix dy, bool accumulate) noexcept {
  matmul(Transpose::kYes, Transpose::kNo, outputs(), inputs(), x.rows, dy.data, x.data, accumulate ? 1 : 0,
         weight_.gradient);
  if (!accumulate) std::fill_n(bias_.gradient, outputs(), 0.0F);
  vector_kernels().add_column_sums(dy.data, dy.rows, dy.cols, bias_.gradient);
}

}  // namespace peal::trainer
