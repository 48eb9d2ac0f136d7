// The training run: puts the parts together and goes through the steps.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/communicator.h"
#include "trainer/config.h"
#include "trainer/data/image_dataset.h"
#include "trainer/metrics/json_log.h"
#include "trainer/model/model.h"

namespace peal::trainer {

struct TrainData {
  ImageDataset train;
  ImageDataset test;
};

struct TrainOptions {
  std::string log_file;              // JSONL, written by rank 0; empty: none
  std::string checkpoint_directory;  // written by rank 0 after each epoch; empty: none
  bool resume = false;               // go on from the checkpoint
  bool quiet = false;                // no progress line
};

struct TrainSummary {
  uint64_t steps = 0;  // over the whole run, resumed ones counted
  Evaluation evaluation;
  double seconds = 0;             // of this process's part of the run
  double samples_per_second = 0;  // in training steps alone
  double wait_fraction = 0;       // of the time in training steps, spent waiting for communication
  bool checkpoint_saved = false;  // the last one asked for
};

// Reads the files that `config` names. Throws as ImageDataset::read() does.
TrainData read_data(const Config& config);

// The model that `config` describes, for inputs of `features` values.
Model make_model(const Config& config, size_t features);

// Collective; `data` is equal on all ranks. Throws Error(kInvalidArgument) for a batch that can't be split, a
// checkpoint of another run, or a loss that is no longer finite (naming the step), and the communicator's errors. A
// checkpoint that can't be written is said on stderr and training goes on.
TrainSummary train(Communicator& communicator, const Config& config, const TrainData& data,
                   const TrainOptions& options);

// Collective: rank 0 reads the checkpoint, all evaluate it on the test set.
Evaluation evaluate_checkpoint(Communicator& communicator, const Config& config, const TrainData& data,
                               const std::string& directory);

}  // namespace peal::trainer
