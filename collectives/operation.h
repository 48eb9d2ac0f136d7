// One collective call under way: a plan, and the memory and arithmetic that this call gives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/data_type.h"
#include "base/reduce.h"
#include "collectives/block_map.h"
#include "collectives/fingerprint.h"
#include "collectives/plan.h"
#include "collectives/select.h"

namespace peal {

// Symmetric memory as an operation sees it: where each rank's mappings of what holds its input and its output start
// here.
struct SymmetricView {
  std::span<std::byte*const> input, output;  // by rank; empty: the operation uses none

  bool used() const noexcept { return !output.empty(); }
  std::span<std::byte* const> of(Space space) const noexcept { return space == Space::kInput ? input : output; }
};

struct Operation {
  // What is asked for.
  Collective collective = Collective::kBarrier;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  BlockMap input_map, output_map;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  double factor = 1;  // kPremulSum
  SymmetricView symmetric;
  Fingerprint fingerprint;
  bool small = false;  // by SmallExchange, without a plan
  bool in_place = false;
  bool whole_buffer = true;  // the maps cut one buffer of fingerprint.count elements into the plan's chunks
  size_t bytes = 0;          // of the larger buffer, as ranks know it alike
  Circumstances circumstances;
  // How it is done: filled in when it starts (planner.h).
  const Plan* plan = nullptr;
  int channels = 1;
  size_t segment_bytes = 0;  // of all chunks together; 0: everything in one segment
  Streaming streaming = Streaming::kNever;
  uint32_t slot = 0;  // whom to tell (Communicator's table of Works)

  // The map that gives scratch and shared slots their lengths: that of the side with plan->chunks chunks.
  const BlockMap& block_map() const noexcept { return input_chunks(*plan) == plan->chunks ? input_map : output_map; }
  size_t element() const noexcept { return size_of(type); }

  // kPremulSum multiplies what is read from the input. In place the own contribution may never be read again, so it is
  // multiplied where it lies before the plan starts, and not on reading.
  bool multiplies_on_reading(const Chunks& chunks) const noexcept {
    if (op != ReduceOp::kPremulSum || chunks.space != Space::kInput) return false;
    return !(plan->in_place && chunks.first == plan->rank);
  }
};

}  // namespace peal
