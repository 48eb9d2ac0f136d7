// A training run's state as one safetensors file: parameters by name, AdamW's moments as adamw.m.NAME and adamw.v.NAME,
// and where the run stands as metadata. Independent of ranks and buckets. One file, so that one rename replaces all of
// it; the parameters load elsewhere as they are.
#pragma once

#include <cstdint>
#include <string>

#include "trainer/model/parameter.h"
#include "trainer/optim/adamw.h"

namespace peal::trainer {

// Where a run stands. The next step is step + 1; the sample stream goes on at step * batch.
struct Progress {
  uint64_t step = 0;  // steps done
  uint64_t seed = 0;
  uint64_t batch = 0;
};

// DIRECTORY/checkpoint.safetensors.
std::string checkpoint_path(const std::string& directory);

// Makes `directory` if it must; atomic. Throws Error(kSystem), and then the checkpoint from before is intact.
void save_checkpoint(const std::string& directory, const ParameterSet& parameters, const Adamw& optimizer,
                     const Progress& progress);

// Throws Error(kSystem) when the file can't be read, Error(kInvalidArgument) when it is damaged or of another model
// (the first tensor that is missing or differs, with both shapes); then nothing was changed. A null `optimizer` asks
// for the parameters alone.
Progress load_checkpoint(const std::string& directory, ParameterSet& parameters, Adamw* optimizer);

}  // namespace peal::trainer
