// One training step of a rank that holds the whole model: forward, loss, backward with the reduction of gradients under
// way, update. Another schedule (pipelines) is another file beside this one.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/communicator.h"
#include "trainer/model/loss.h"
#include "trainer/model/model.h"
#include "trainer/optim/adamw.h"
#include "trainer/parallel/data_parallel.h"

namespace peal::trainer {

// What a step works on; all of it belongs to the caller.
struct StepParts {
  Communicator& communicator;
  Model& model;
  const Loss& loss;
  DataParallel& parallel;
  Adamw& optimizer;
  Activations& activations;
};

// What this step is.
struct StepRule {
  uint64_t step = 1;  // counts from 1
  double learning_rate = 0;
  double global_batch = 1;  // samples over all ranks: gradient sums and the loss are divided by it, once
};

// Collective. The rank's labels.size() inputs are in activations.at(0). Returns the mean loss over the global batch,
// equal on all ranks. Afterwards the
// parameters' gradients hold the sums over all ranks, undivided. Throws the communicator's Error.
double run_step(StepParts& parts, std::span<const uint8_t> labels, const StepRule& rule);

}  // namespace peal::trainer
