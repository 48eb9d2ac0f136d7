// A model: layers in a row, and their parameters. Knows nothing of ranks, schedules, data or optimizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/model/layer.h"
#include "trainer/model/parameter.h"

namespace peal::trainer {

class Model {
 public:
  // At least one layer; each takes what the one before gives, else Error(kInvalidArgument).
  explicit Model(std::vector<std::unique_ptr<Layer>> layers);

  std::span<const std::unique_ptr<Layer>> layers() const noexcept { return layers_; }
  size_t inputs() const noexcept { return layers_.front()->inputs(); }
  size_t outputs() const noexcept { return layers_.back()->outputs(); }
  ParameterSet& parameters() noexcept { return parameters_; }
  size_t parameter_count() const noexcept;  // elements, gaps not counted

  // First values as a function of the seed and each layer's place alone.
  void initialise(uint64_t seed);

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
  ParameterSet parameters_;
};

// The outputs of every layer for one micro-batch of at most `max_rows` rows, and the two matrices between which
// gradients go back and forth. One allocation for each, at the start.
class Activations {
 public:
  Activations(const Model& model, size_t max_rows);

  size_t max_rows() const noexcept { return max_rows_; }
  // Input of layer `index` (0: the batch itself), and at index = number of layers the model's outputs.
  Matrix at(size_t index, size_t rows) noexcept { return {buffers_[index].data(), rows, widths_[index]}; }
  // Gradient of at(index, rows); at index and at index + 1 it is different memory.
  Matrix gradient(size_t index, size_t rows) noexcept { return {gradients_[index % 2].data(), rows, widths_[index]}; }

 private:
  size_t max_rows_;
  std::vector<size_t> widths_;
  std::vector<AlignedFloats> buffers_;
  AlignedFloats gradients_[2];
};

// Runs all layers on at(0); returns the outputs.
Matrix forward(const Model& model, Activations& activations, size_t rows) noexcept;

// The perceptron: linear layers "fc1", "fc2", ... of the given widths with a GELU between each two. widths.size() >= 2.
Model make_mlp(std::span<const size_t> widths);

}  // namespace peal::trainer
