// Which sample comes when. Training reads one endless stream of samples: epoch after epoch, each a fresh permutation of
// the data set. The stream is a function of the seed alone; step t with global batch B takes positions [t B, (t + 1)
// B), so the order knows nothing of ranks, and where training stands is one integer. Batches may straddle two epochs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace peal::trainer {

class Sampler {
 public:
  // samples >= 1.
  Sampler(uint64_t seed, size_t samples);

  // out[i] = the sample at position `first + i` of the stream. Any order of calls is legal; going on forward is cheap
  // (one shuffle for each epoch, about 0.5 ms for 60,000 samples).
  void read(uint64_t first, std::span<size_t> out);

 private:
  void shuffle(uint64_t epoch);

  uint64_t seed_;
  uint64_t epoch_;
  std::vector<size_t> order_;  // of epoch_
};

}  // namespace peal::trainer
