// y = x W^T + b, with W [outputs, inputs] as PyTorch stores it.
#pragma once

#include <string>

#include "trainer/model/layer.h"

namespace peal::trainer {

class Linear : public Layer {
 public:
  // Parameters `name`.weight and `name`.bias.
  Linear(const std::string& name, size_t inputs, size_t outputs);

  std::string_view kind() const noexcept override { return "linear"; }
  size_t inputs() const noexcept override { return weight_.shape[1]; }
  size_t outputs() const noexcept override { return weight_.shape[0]; }
  std::vector<Parameter*> parameters() override { return {&weight_, &bias_}; }
  // Uniform in +-1 / sqrt(inputs), weight and bias: PyTorch's default for this layer.
  void initialise(const CounterRandom& random) override;

  void forward(ConstMatrix x, Matrix y) const noexcept override;
  void backward_input(ConstMatrix x, ConstMatrix dy, Matrix dx) const noexcept override;
  void backward_weight(ConstMatrix x, ConstMatrix dy, bool accumulate) noexcept override;

 private:
  Parameter weight_;
  Parameter bias_;
};

}  // namespace peal::trainer
