// Data parallelism: equal parameters on every rank, and gradients summed over ranks while the backward pass runs.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/communicator.h"
#include "trainer/model/parameter.h"
#include "trainer/parallel/buckets.h"

namespace peal::trainer {

class DataParallel {
 public:
  // Collective. Puts the gradients into symmetric memory and binds `parameters` to it. Both arguments outlive this.
  DataParallel(Communicator& communicator, ParameterSet& parameters, size_t first_bucket_bytes, size_t bucket_bytes);

  // Collective: every rank's values become rank 0's, and are then compared by hash. Throws Error(kInternal) naming the
  // ranks that differ.
  void replicate();

  // The gradient of `parameter` is complete on this rank for this step: called once a step for each parameter, in the
  // same order on all ranks. Starts the reduction of its bucket when it was the last one missing.
  void gradient_ready(const Parameter& parameter);

  size_t buckets() const noexcept { return buckets_.size(); }
  // Waits until bucket `index` holds the sums over all ranks; returns its parameters. Every bucket is waited for in
  // every step, in order.
  const std::vector<const Parameter*>& wait(size_t index);

  // Seconds spent in wait() since the last call of this.
  double take_waited_seconds() noexcept;

 private:
  struct State {
    Bucket bucket;
    size_t missing = 0;
    Work work;
  };

  Communicator& communicator_;
  ParameterSet& parameters_;
  SymmetricMemory gradients_;
  std::vector<State> buckets_;  // destroyed, and so waited for, before the memory that they reduce
  double waited_seconds_ = 0;
};

}  // namespace peal::trainer
