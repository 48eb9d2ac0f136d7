// Elementwise loops of the trainer, by the widest vector unit that this processor has (AVX-512, AVX2, portable), chosen
// once at run time. One source, vector_kernels.inc, compiled once for each.
#pragma once

#include <cstddef>
#include <string_view>

namespace peal::trainer {

// What one AdamW update of a run of elements needs beside the arrays.
struct AdamwStep {
  float divisor;  // gradients are sums over the global batch; this is its size
  float beta1, beta2, epsilon;
  float step_size;    // learning rate / (1 - beta1^t)
  float second_root;  // 1 / sqrt(1 - beta2^t)
  float shrink;       // 1 - learning rate * weight decay
};

// Outputs overlap no inputs, unless said.
struct VectorKernels {
  std::string_view name;
  // y = GELU(x), tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
  void (*gelu)(const float* x, float* y, size_t count) noexcept;
  // dx = dy * GELU'(x).
  void (*gelu_backward)(const float* x, const float* dy, float* dx, size_t count) noexcept;
  // value, m and v are updated in place.
  void (*adamw)(const AdamwStep& step, const float* gradient, float* value, float* m, float* v, size_t count) noexcept;
  // sums[c] += sum over rows of matrix[r, c], in row order.
  void (*add_column_sums)(const float* matrix, size_t rows, size_t cols, float* sums) noexcept;
  // y[i] = (x[i] - offset) * factor.
  void (*normalise)(const unsigned char* x, float offset, float factor, float* y, size_t count) noexcept;
};

const VectorKernels& vector_kernels() noexcept;

// Every set of kernels that this processor can run, the best first: for tests.
size_t runnable_vector_kernels(const VectorKernels* (&sets)[3]) noexcept;

}  // namespace peal::trainer
