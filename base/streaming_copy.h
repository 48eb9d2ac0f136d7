// Copies that leave the caches alone: the bytes go straight to memory, past the lines that other cores hold.
//
// Ordinary stores to memory that another core has just read must first win every line back from it. Where cores are far
// apart that costs more than the way through memory (a sketch on an AMD EPYC, 16 MiB over slots: 1.75 ms with
// ordinary stores, 0.95 to 1.15 with these); elsewhere it is the other way round (a Xeon: 2.0 and 2.7). So callers try
// both.
#pragma once

#include <cstddef>

#include "base/api.h"

namespace peal {

// As memcpy. The stores are ordered for other cores only by streaming_fence().
PEAL_API void streaming_copy(void* to, const void* from, size_t bytes) noexcept;

// Before a store with which this thread announces what it wrote by streaming_copy().
PEAL_API void streaming_fence() noexcept;

}  // namespace peal
