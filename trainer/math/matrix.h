// Views of dense row-major matrices; whoever made the memory owns it.
#pragma once

#include <cstddef>

namespace peal::trainer {

struct ConstMatrix {
  const float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t size() const noexcept { return rows * cols; }
  const float* row(size_t r) const noexcept { return data + r * cols; }
};

struct Matrix {
  float* data = nullptr;
  size_t rows = 0;
  size_t cols = 0;
  size_t size() const noexcept { return rows * cols; }
  float* row(size_t r) const noexcept { return data + r * cols; }
  operator ConstMatrix() const noexcept { return {data, rows, cols}; }  // NOLINT: implicit, as T* to const T*
};

}  // namespace peal::trainer
