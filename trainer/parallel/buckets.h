// How gradients are grouped for reduction: runs of neighbouring parameters, in the order in which the backward pass
// completes them (last layer first).
#pragma once

#include <cstddef>
#include <vector>

#include "trainer/model/parameter.h"

namespace peal::trainer {

struct Bucket {
  size_t begin = 0;  // elements of the flat gradient array
  size_t end = 0;
  std::vector<const Parameter*> parameters;  // in backward order
};

// Every parameter is in exactly one bucket. A bucket closes once it holds `bytes` (the first: `first_bytes`, smaller,
// so that the wire has work as early as can be); a parameter is never split.
std::vector<Bucket> make_buckets(const ParameterSet& parameters, size_t first_bytes, size_t bytes);

}  // namespace peal::trainer
