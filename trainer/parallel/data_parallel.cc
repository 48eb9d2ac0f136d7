#include "trainer/parallel/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace peal::trainer {

namespace {

std::vector<uint64_t> gather_numbers(Communicator& communicator, uint64_t mine) {
  std::vector<uint64_t> all(static_cast<size_t>(communicator.size()));
  communicator.all_gather(&mine, all.data(), 1, DataType::kUint64);
  return all;
}

}  // namespace

DataParallel::DataParallel(Communicator& communicator, ParameterSet& parameters, size_t first_bucket_bytes,
                           size_t bucket_bytes)
    : communicator_(communicator),
      parameters_(parameters),
      gradients_(communicator.allocate(parameters.flat_size() * sizeof(float))) {
  parameters_.bind_gradients(static_cast<float*>(gradients_.data()));
  for (Bucket& bucket : make_buckets(parameters_, first_bucket_bytes, bucket_bytes)) {
    const size_t count = bucket.parameters.size();
    buckets_.push_back({std::move(bucket), count, Work()});
  }
}

void DataParallel::replicate() {
  communicator_.broadcast(parameters_.values(), parameters_.values(), parameters_.flat_size(), DataType::kFloat32, 0);
  const auto hashes = gather_numbers(communicator_, hash_of(parameters_.values(), parameters_.flat_size()));
  for (size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    throw Error(ErrorCode::kInternal,
                fmt::format("parameters differ after the broadcast: hash {:016x} on rank 0, {:016x} on rank {}",
                            hashes[0], hashes[rank], rank),
                {communicator_.rank(), static_cast<int>(rank)});
  }
}

void DataParallel::gradient_ready(const Parameter& parameter) {
  const auto state = std::find_if(buckets_.begin(), buckets_.end(),
                                  [&](const State& candidate) { return candidate.bucket.begin <= parameter.offset; });
  if (--state->missing > 0) return;
  state->missing = state->bucket.parameters.size();
  float* run = static_cast<float*>(gradients_.data()) + state->bucket.begin;
  state->work = communicator_.all_reduce_async(run, run, state->bucket.end - state->bucket.begin, DataType::kFloat32);
}

const std::vector<const Parameter*>& DataParallel::wait(size_t index) {
  const auto begin = std::chrono::steady_clock::now();
  buckets_[index].work.wait();
  waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return buckets_[index].bucket.parameters;
}

double DataParallel::take_waited_seconds() noexcept { return std::exchange(waited_seconds_, 0); }

}  // namespace peal::trainer
