#include "trainer/data/sampler.h"

#include <numeric>
#include <utility>

#include "trainer/math/random.h"

namespace peal::trainer {

namespace {

// Layers draw from streams 0, 1, ... (Model::initialise); epochs count from here.
constexpr uint64_t kFirstEpochStream = uint64_t{1} << 32U;

}  // namespace

Sampler::Sampler(uint64_t seed, size_t samples) : seed_(seed), epoch_(0), order_(samples) { shuffle(0); }

void Sampler::read(uint64_t first, std::span<size_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t position = first + i;
    const uint64_t epoch = position / order_.size();
    if (epoch != epoch_) shuffle(epoch);
    out[i] = order_[position % order_.size()];
  }
}

// Fisher and Yates, from the identity each time, so that an epoch's order does not depend on the one before.
void Sampler::shuffle(uint64_t epoch) {
  epoch_ = epoch;
  std::iota(order_.begin(), order_.end(), size_t{0});
  const CounterRandom random(seed_, kFirstEpochStream + epoch);
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i, i)]);
}

}  // namespace peal::trainer
