// What a rank believes it is doing, sent ahead of its data, so that mismatched calls are an error with both sides'
// arguments instead of a hang or wrong numbers (field.md: nccl#1417, pytorch#22071).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/data_type.h"
#include "base/error.h"
#include "base/reduce.h"
#include "collectives/plan.h"

namespace peal {

struct Fingerprint {
  uint64_t sequence = 0;          // number of this collective on its communicator
  uint64_t count = 0;             // elements, as the caller said; 0 where ranks may differ (some v-variants)
  uint64_t symmetric_offset = 0;  // offset into symmetric memory + 1, or 0
  int32_t root = -1;
  Collective collective = Collective::kBarrier;
  DataType type = DataType::kUint8;
  ReduceOp op = ReduceOp::kSum;
  uint8_t variant = 0;  // 1: v-variant

  bool operator==(const Fingerprint&) const = default;
  std::array<uint64_t, 4> words() const noexcept {
    std::array<uint64_t, 4> words{};
    static_assert(sizeof(Fingerprint) == sizeof(words));
    std::memcpy(words.data(), this, sizeof(words));
    return words;
  }
  static Fingerprint of(const std::array<uint64_t, 4>& words) noexcept {
    Fingerprint fingerprint;
    std::memcpy(static_cast<void*>(&fingerprint), words.data(), sizeof(words));
    return fingerprint;
  }
};

// "all_reduce number 3, count 1024, float, sum"
std::string to_string(const Fingerprint& fingerprint);

// What `rank` says when its call `mine` met another of `peer`.
Error mismatch(int rank, int peer, const std::array<uint64_t, 4>& mine, const std::array<uint64_t, 4>& theirs);

}  // namespace peal
