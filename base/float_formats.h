// 16- and 8-bit floats as bit patterns, converted to and from float32: exact upwards, rounded to nearest even
// downwards. Formats: IEEE 754 binary16; bfloat16; OCP 8-bit E4M3 (no infinities: overflow and infinity become NaN) and
// E5M2.
//
// decode() and encode() have no branches and take a number or a vector of numbers (reduce_lanes.h): written once, they
// serve a test's constant and a vector register. Everything here is forced inline: the reduction kernels are compiled
// once per instruction set, and no copy of a function compiled for a newer one may be linked into code for an older
// one.
#pragma once

#include <cstdint>

#define PEAL_INLINE inline __attribute__((always_inline))

namespace peal {

constexpr PEAL_INLINE float float_of_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
constexpr PEAL_INLINE uint32_t bits_of_float(float value) { return __builtin_bit_cast(uint32_t, value); }

// bfloat16: the upper half of a float32.
struct Bfloat16 {
  template <class Float, class Bits>
  static constexpr PEAL_INLINE Float decode(Bits small) {
    return __builtin_bit_cast(Float, small << 16);
  }
  template <class Float, class Bits>
  static constexpr PEAL_INLINE Bits encode(Float value) {
    const Bits bits = __builtin_bit_cast(Bits, value);
    const Bits rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const Bits quiet = (bits >> 16) | 0x40U;  // rounding could carry a NaN into infinity
    return value != value ? quiet : rounded;
  }
  static constexpr PEAL_INLINE float to_float(uint32_t small) { return decode<float>(small); }
  static constexpr PEAL_INLINE uint32_t of_float(float value) { return encode<float, uint32_t>(value); }
};

constexpr PEAL_INLINE float float_of_bfloat16(uint16_t bits) { return Bfloat16::to_float(bits); }
constexpr PEAL_INLINE uint16_t bfloat16_of_float(float value) {
  return static_cast<uint16_t>(Bfloat16::of_float(value));
}

// A small IEEE-like format: sign, kExponentBits, kMantissaBits. kFinite: the all-ones exponent holds numbers, and only
// the all-ones mantissa in it is NaN (E4M3); otherwise it holds infinity and NaNs.
template <int kExponentBits, int kMantissaBits, bool kFinite>
struct SmallFloat {
  static constexpr int kDropped = 23 - kMantissaBits;  // mantissa bits that only float32 has
  static constexpr int kSignShift = kExponentBits + kMantissaBits;
  static constexpr uint32_t kMagnitude = (1U << kSignShift) - 1;
  static constexpr uint32_t kInfinity = ((1U << kExponentBits) - 1) << kMantissaBits;
  static constexpr uint32_t kNan = kFinite ? kMagnitude : kInfinity | (1U << (kMantissaBits - 1));
  static constexpr uint32_t kBeyond = kFinite ? kNan : kInfinity;  // the pattern after the largest number
  // Added to a pattern that was shifted into place, this makes the exponent float32's; `kOne` is one exponent more.
  static constexpr uint32_t kOne = 1U << 23;
  static constexpr uint32_t kRebias = (128U - (1U << (kExponentBits - 1))) << 23;
  static constexpr uint32_t kSmallestNormal = kRebias + kOne;

  // Comparisons are of floats that are normal numbers: AVX2 has no unsigned comparison, and a subnormal float32 costs
  // a microcode assist of some 150 cycles.
  template <class Float, class Bits>
  static constexpr PEAL_INLINE Float decode(Bits small) {
    const Bits widened = (small & kMagnitude) << kDropped, raised_bits = widened + kSmallestNormal;
    const Float raised = __builtin_bit_cast(Float, raised_bits);  // one exponent too large, so that none is 0
    const Bits normal = raised_bits - kOne;
    const Bits subnormal = __builtin_bit_cast(Bits, raised - float_of_bits(kSmallestNormal));  // the mantissa alone
    const Bits number = raised < float_of_bits(kSmallestNormal + kOne) ? subnormal : normal;
    const Bits special = widened | 0x7f800000U;  // infinity or a NaN
    const Bits result = raised < float_of_bits(kSmallestNormal + (kBeyond << kDropped)) ? number : special;
    return __builtin_bit_cast(Float, result | ((small >> kSignShift) << 31));
  }

  template <class Float, class Bits>
  static constexpr PEAL_INLINE Bits encode(Float value) {
    const Bits value_bits = __builtin_bit_cast(Bits, value);
    const Float magnitude = __builtin_bit_cast(Float, value_bits & 0x7fffffffU);
    const Float most = Float{} + float_of_bits(kRebias + (kBeyond << kDropped));
    const Float cut = magnitude < most ? magnitude : most;  // a NaN, too, becomes `most`
    const Bits bits = __builtin_bit_cast(Bits, cut);
    // Adding the power of two whose last place is the smallest subnormal lets float32's own rounding do the work.
    constexpr uint32_t kShift = kSmallestNormal + (static_cast<uint32_t>(kDropped) << 23);
    const Bits subnormal = __builtin_bit_cast(Bits, cut + float_of_bits(kShift)) - kShift;
    const Bits normal = (bits + ((1U << (kDropped - 1)) - 1 - kRebias) + ((bits >> kDropped) & 1U)) >> kDropped;
    const Bits number = cut < float_of_bits(kSmallestNormal) ? subnormal : normal;
    const Bits result = value != value ? Bits{} + kNan : number;
    return result | ((value_bits >> 31) << kSignShift);
  }

  static constexpr PEAL_INLINE float to_float(uint32_t small) { return decode<float>(small); }
  static constexpr PEAL_INLINE uint32_t of_float(float value) { return encode<float, uint32_t>(value); }
};

using Float16 = SmallFloat<5, 10, false>;
using Float8E4m3 = SmallFloat<4, 3, true>;
using Float8E5m2 = SmallFloat<5, 2, false>;

}  // namespace peal
