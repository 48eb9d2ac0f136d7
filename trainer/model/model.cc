#include "trainer/model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "trainer/model/gelu.h"
#include "trainer/model/linear.h"

namespace peal::trainer {

namespace {

void check_chain(std::span<const std::unique_ptr<Layer>> layers) {
  if (layers.empty()) throw Error(ErrorCode::kInvalidArgument, "a model needs at least one layer");
  for (size_t i = 1; i < layers.size(); ++i) {
    if (layers[i]->inputs() == layers[i - 1]->outputs()) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("layer {} ({}) takes {} values, but layer {} ({}) gives {}", i, layers[i]->kind(),
                            layers[i]->inputs(), i - 1, layers[i - 1]->kind(), layers[i - 1]->outputs()));
  }
}

std::vector<Parameter*> collect(std::span<const std::unique_ptr<Layer>> layers) {
  check_chain(layers);
  std::vector<Parameter*> all;
  for (const auto& layer : layers) {
    for (Parameter* parameter : layer->parameters()) all.push_back(parameter);
  }
  return all;
}

}  // namespace

Model::Model(std::vector<std::unique_ptr<Layer>> layers) : layers_(std::move(layers)), parameters_(collect(layers_)) {}

size_t Model::parameter_count() const noexcept {
  size_t count = 0;
  for (const Parameter* parameter : parameters_.all()) count += parameter->size();
  return count;
}

void Model::initialise(uint64_t seed) {
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i]->initialise(CounterRandom(seed, i));
}

Activations::Activations(const Model& model, size_t max_rows) : max_rows_(max_rows) {
  widths_.push_back(model.inputs());
  for (const auto& layer : model.layers()) widths_.push_back(layer->outputs());
  for (size_t width : widths_) buffers_.emplace_back(width * max_rows);
  const size_t widest = *std::max_element(widths_.begin(), widths_.end());
  for (AlignedFloats& gradient : gradients_) gradient = AlignedFloats(widest * max_rows);
}

Matrix forward(const Model& model, Activations& activations, size_t rows) noexcept {
  const auto layers = model.layers();
  for (size_t i = 0; i < layers.size(); ++i) layers[i]->forward(activations.at(i, rows), activations.at(i + 1, rows));
  return activations.at(layers.size(), rows);
}

Model make_mlp(std::span<const size_t> widths) {
  std::vector<std::unique_ptr<Layer>> layers;
  for (size_t i = 1; i < widths.size(); ++i) {
    if (i > 1) layers.push_back(std::make_unique<Gelu>(widths[i - 1]));
    layers.push_back(std::make_unique<Linear>(fmt::format("fc{}", i), widths[i - 1], widths[i]));
  }
  return Model(std::move(layers));
}

}  // namespace peal::trainer
