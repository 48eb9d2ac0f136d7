// A layer: a function of its input and its parameters, and the two halves of its derivative.
//
// Layers keep no activations: whoever runs them does, so that several micro-batches can be under way at once. Both
// backward halves need no more than the layer's input. They are apart because a schedule may want one early (weight
// gradients start a reduction; input gradients let the previous stage go on). Gradients are sums over the rows; nobody
// divides before the optimizer.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "trainer/math/matrix.h"
#include "trainer/math/random.h"
#include "trainer/model/parameter.h"

namespace peal::trainer {

class Layer {
 public:
  virtual ~Layer() = default;
  Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  virtual std::string_view kind() const noexcept = 0;
  virtual size_t inputs() const noexcept = 0;   // columns of x and dx
  virtual size_t outputs() const noexcept = 0;  // columns of y and dy

  // In order of their place in the flat arrays; owned by the layer.
  virtual std::vector<Parameter*> parameters() { return {}; }
  // Sets the parameters' first values; `value` is bound already.
  virtual void initialise(const CounterRandom& random) { (void)random; }

  // y = f(x). x [rows, inputs()], y [rows, outputs()], no overlap; likewise below.
  virtual void forward(ConstMatrix x, Matrix y) const noexcept = 0;
  // dx = dy * df/dx.
  virtual void backward_input(ConstMatrix x, ConstMatrix dy, Matrix dx) const noexcept = 0;
  // gradient of each parameter = (or += when `accumulate`) sum over rows of dy * df/dparameter.
  virtual void backward_weight(ConstMatrix x, ConstMatrix dy, bool accumulate) noexcept {
    (void)x, (void)dy, (void)accumulate;
  }
};

}  // namespace peal::trainer
