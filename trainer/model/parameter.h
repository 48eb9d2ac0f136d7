// Learnable tensors, and the flat arrays in which they lie side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainer/math/aligned_floats.h"

namespace peal::trainer {

// A named tensor, row-major. Its layer owns it; the memory is its ParameterSet's.
struct Parameter {
  std::string name;
  std::vector<size_t> shape;
  float* value = nullptr;
  float* gradient = nullptr;
  size_t offset = 0;  // in elements, from the start of the set's flat arrays

  size_t size() const noexcept {
    size_t size = 1;
    for (size_t extent : shape) size *= extent;
    return size;
  }
};

// The parameters of a model, laid out in forward order in one flat array of values and one of gradients, so that a
// bucket of gradients is one run of memory and all values are one broadcast. Each starts on a cache line; the gaps
// between are zero and stay so.
class ParameterSet {
 public:
  // Allocates the values (zeroed) and points every parameter's `value` into them.
  explicit ParameterSet(std::vector<Parameter*> parameters);

  std::span<Parameter* const> all() const noexcept { return parameters_; }
  float* values() const noexcept { return values_.data(); }
  size_t flat_size() const noexcept { return values_.size(); }  // elements, gaps included

  // Points every parameter's `gradient` into `flat`, which has flat_size() zeroed elements and outlives this.
  void bind_gradients(float* flat) noexcept;

 private:
  std::vector<Parameter*> parameters_;
  AlignedFloats values_;
};

// 64 bits that depend on every bit of `count` floats and on their order.
uint64_t hash_of(const float* data, size_t count) noexcept;

}  // namespace peal::trainer
