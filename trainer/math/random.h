// Random numbers as a pure function of (seed, stream, counter): any rank computes any of them, in any order.
#pragma once

#include <cstdint>

namespace peal::trainer {

// SplitMix64's output function (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
constexpr uint64_t mix_bits(uint64_t x) noexcept {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

class CounterRandom {
 public:
  // `stream` keeps uses apart: two streams of one seed share no numbers.
  constexpr CounterRandom(uint64_t seed, uint64_t stream) noexcept
      : key_(mix_bits(mix_bits(seed + kGolden) + kGolden * (stream + 1))) {}

  constexpr uint64_t bits(uint64_t counter) const noexcept { return mix_bits(key_ + kGolden * (counter + 1)); }

  // Uniform in [0, limit), limit >= 1; off from uniform by at most limit / 2^64.
  constexpr uint64_t below(uint64_t counter, uint64_t limit) const noexcept {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(bits(counter)) * limit) >> 64U);
  }

  // Uniform in [-1, 1), a multiple of 2^-23.
  constexpr float symmetric(uint64_t counter) const noexcept {
    return static_cast<float>(bits(counter) >> 40U) * 0x1p-23F - 1.0F;
  }

 private:
  static constexpr uint64_t kGolden = 0x9E3779B97F4A7C15U;
  uint64_t key_;
};

}  // namespace peal::trainer
