#include "trainer/model/gelu.h"

#include "trainer/math/vector_kernels.h"

namespace peal::trainer {

void Gelu::forward(ConstMatrix x, Matrix y) const noexcept { vector_kernels().gelu(x.data, y.data, x.size()); }

void Gelu::backward_input(ConstMatrix x, ConstMatrix dy, Matrix dx) const noexcept {
  vector_kernels().gelu_backward(x.data, dy.data, dx.data, x.size());
}

}  // namespace peal::trainer
