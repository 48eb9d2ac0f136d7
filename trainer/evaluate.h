// How good a model is on a data set, over all ranks.
#pragma once

#include "collectives/communicator.h"
#include "trainer/data/image_dataset.h"
#include "trainer/metrics/json_log.h"
#include "trainer/model/loss.h"
#include "trainer/model/model.h"

namespace peal::trainer {

// Collective. Each rank takes an equal share of the samples (the first ranks one more where it does not divide); every
// sample counts exactly once. Uses `activations` in pieces of at most its max_rows().
Evaluation evaluate(Communicator& communicator, const Model& model, const Loss& loss, Activations& activations,
                    const ImageDataset& dataset, const Normalisation& normalisation);

}  // namespace peal::trainer
