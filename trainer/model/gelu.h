// GELU in its tanh form, the one GPT-2 uses (Hendrycks and Gimpel, "Gaussian error linear units", 2016).
#pragma once

#include "trainer/model/layer.h"

namespace peal::trainer {

class Gelu : public Layer {
 public:
  explicit Gelu(size_t width) : width_(width) {}

  std::string_view kind() const noexcept override { return "gelu"; }
  size_t inputs() const noexcept override { return width_; }
  size_t outputs() const noexcept override { return width_; }

  void forward(ConstMatrix x, Matrix y) const noexcept override;
  void backward_input(ConstMatrix x, ConstMatrix dy, Matrix dx) const noexcept override;

 private:
  size_t width_;
};

}  // namespace peal::trainer
