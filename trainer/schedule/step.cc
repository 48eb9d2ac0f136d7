#include "trainer/schedule/step.h"

namespace peal::trainer {

namespace {

// Each layer's forward, with a chance for what is under way to move on after each.
void forward_pass(StepParts& parts, size_t rows) {
  const auto layers = parts.model.layers();
  for (size_t i = 0; i < layers.size(); ++i) {
    layers[i]->forward(parts.activations.at(i, rows), parts.activations.at(i + 1, rows));
    parts.communicator.progress();
  }
}

// Weight gradients before input gradients: the reduction of a bucket starts while the rest is computed.
void backward_pass(StepParts& parts, size_t rows) {
  const auto layers = parts.model.layers();
  for (size_t i = layers.size(); i-- > 0;) {
    const ConstMatrix x = parts.activations.at(i, rows), dy = parts.activations.gradient(i + 1, rows);
    layers[i]->backward_weight(x, dy, false);
    const auto parameters = layers[i]->parameters();
    for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
      parts.parallel.gradient_ready(**parameter);
    }
    if (i > 0) layers[i]->backward_input(x, dy, parts.activations.gradient(i, rows));
    parts.communicator.progress();
  }
}

// A bucket's parameters are updated while later buckets are still under way.
void update(StepParts& parts, const StepRule& rule) {
  for (size_t bucket = 0; bucket < parts.parallel.buckets(); ++bucket) {
    for (const Parameter* parameter : parts.parallel.wait(bucket)) {
      parts.optimizer.update(*parameter, rule.step, rule.learning_rate, rule.global_batch);
    }
  }
}

}  // namespace

double run_step(StepParts& parts, std::span<const uint8_t> labels, const StepRule& rule) {
  const size_t rows = labels.size(), layers = parts.model.layers().size();
  forward_pass(parts, rows);
  const Matrix outputs = parts.activations.at(layers, rows);
  double loss = parts.loss.forward_backward(outputs, labels, parts.activations.gradient(layers, rows));
  Work loss_sum = parts.communicator.all_reduce_async(&loss, &loss, 1, DataType::kFloat64);
  backward_pass(parts, rows);
  update(parts, rule);
  loss_sum.wait();
  return loss / rule.global_batch;
}

}  // namespace peal::trainer
