// 16- and 8-bit floats as bit patterns, converted to and from float32: exact upwards, rounded to nearest even
// downwards. Formats: IEEE 754 binary16; bfloat16; OCP 8-bit E4M3 (no infinities: overflow and infinity become NaN) and
// E5M2.
//
// Everything here is forced inline: the reduction kernels are compiled once per instruction set, and no copy of a
// function compiled for a newer one may be linked into code for an older one.
#pragma once

#include <cstdint>

#define PEAL_INLINE inline __attribute__((always_inline))

namespace peal {

PEAL_INLINE float float_of_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

PEAL_INLINE uint32_t bits_of_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

PEAL_INLINE float float_of_bfloat16(uint16_t bits) { return float_of_bits(static_cast<uint32_t>(bits) << 16); }

PEAL_INLINE uint16_t bfloat16_of_float(float value) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40U;  // rounding could carry a NaN into infinity
  return static_cast<uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded);
}

// A small IEEE-like format: sign, kExponentBits, kMantissaBits. kFinite: the all-ones exponent holds numbers, and only
// the all-ones mantissa in it is NaN (E4M3); otherwise it holds infinity and NaNs.
template <int kExponentBits, int kMantissaBits, bool kFinite>
struct SmallFloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr uint32_t kMaxExponent = (1U << kExponentBits) - 1;
  static constexpr uint32_t kMantissa = (1U << kMantissaBits) - 1;
  static constexpr uint32_t kSignShift = kExponentBits + kMantissaBits;
  static constexpr uint32_t kInfinity = kMaxExponent << kMantissaBits;
  static constexpr uint32_t kNan = kFinite ? (kInfinity | kMantissa) : (kInfinity | (1U << (kMantissaBits - 1)));
  static constexpr uint32_t kOverflow = kFinite ? kNan : kInfinity;

  static PEAL_INLINE float to_float(uint32_t small) {
    const uint32_t sign = (small >> kSignShift) << 31;
    const uint32_t exponent = (small >> kMantissaBits) & kMaxExponent, mantissa = small & kMantissa;
    if (exponent == 0) {  // subnormal: mantissa * 2^(1 - bias - mantissa bits), exact in float32
      const float unit = float_of_bits(static_cast<uint32_t>(127 + 1 - kBias - kMantissaBits) << 23);
      const float magnitude = static_cast<float>(mantissa) * unit;
      return float_of_bits(bits_of_float(magnitude) | sign);
    }
    if (exponent == kMaxExponent && (!kFinite || mantissa == kMantissa)) {
      return float_of_bits(sign | 0x7f800000U | (mantissa != 0 ? 0x400000U | mantissa << (23 - kMantissaBits) : 0U));
    }
    return float_of_bits(sign | (exponent + 127 - kBias) << 23 | mantissa << (23 - kMantissaBits));
  }

  static PEAL_INLINE uint32_t of_float(float value) {
    const uint32_t bits = bits_of_float(value), sign = (bits >> 31) << kSignShift, magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) return sign | kNan;
    constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(127 + 1 - kBias) << 23;
    uint32_t small;
    if (magnitude < kSmallestNormal) {
      // Adding the power of two whose last place is the smallest subnormal lets float32's own rounding do the work.
      const float shift = float_of_bits(static_cast<uint32_t>(127 + 1 - kBias - kMantissaBits + 23) << 23);
      small = bits_of_float(float_of_bits(magnitude) + shift) - bits_of_float(shift);
    } else {
      constexpr int kDropped = 23 - kMantissaBits;
      const uint32_t rounded = magnitude + ((1U << (kDropped - 1)) - 1) + ((magnitude >> kDropped) & 1U);
      small = (rounded >> kDropped) - (static_cast<uint32_t>(127 - kBias) << kMantissaBits);
    }
    constexpr uint32_t kLargest = kFinite ? kNan - 1 : kInfinity - 1;
    return sign | (small > kLargest ? kOverflow : small);
  }
};

using Float16 = SmallFloat<5, 10, false>;
using Float8E4m3 = SmallFloat<4, 3, true>;
using Float8E5m2 = SmallFloat<5, 2, false>;

}  // namespace peal
