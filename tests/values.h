// Element values for tests: small whole numbers, written to and read from buffers of any type through double, by
// conversions that are this file's own.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/data_type.h"

namespace peal::testing {

// A float of 1 sign, `exponent` and `mantissa` bits decoded by the definition.
inline double decode_small(uint32_t bits, int exponent, int mantissa, bool finite) {
  const int bias = (1 << (exponent - 1)) - 1, all = (1 << exponent) - 1;
  const double sign = (bits >> (exponent + mantissa)) & 1U ? -1 : 1;
  const int e = static_cast<int>(bits >> mantissa) & all;
  const uint32_t m = bits & ((1U << mantissa) - 1);
  if (e == all && !finite) return m == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  if (e == all && m == (1U << mantissa) - 1) return std::nan("");
  if (e == 0) return sign * std::ldexp(m, 1 - bias - mantissa);
  return sign * std::ldexp(1 + std::ldexp(m, -mantissa), e - bias);
}

inline double decode(DataType type, const void* at) {
  const auto as = [at](auto value) {
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  };
  const auto bits16 = [&] { return static_cast<uint32_t>(as(uint16_t{})); };
  const auto bits8 = [&] { return static_cast<uint32_t>(as(uint8_t{})); };
  switch (type) {
    case DataType::kInt8:
      return as(int8_t{});
    case DataType::kUint8:
      return as(uint8_t{});
    case DataType::kInt16:
      return as(int16_t{});
    case DataType::kUint16:
      return as(uint16_t{});
    case DataType::kInt32:
      return as(int32_t{});
    case DataType::kUint32:
      return as(uint32_t{});
    case DataType::kInt64:
      return as(int64_t{});
    case DataType::kUint64:
      return as(uint64_t{});
    case DataType::kFloat32:
      return as(float{});
    case DataType::kFloat64:
      return as(double{});
    case DataType::kFloat16:
      return decode_small(bits16(), 5, 10, false);
    case DataType::kBfloat16:
      return decode_small(bits16(), 8, 7, false);
    case DataType::kFloat8E4m3:
      return decode_small(bits8(), 4, 3, true);
    case DataType::kFloat8E5m2:
      return decode_small(bits8(), 5, 2, false);
  }
  return 0;
}

// The bits of a small float whose value is nearest to `value` (ties to even), found by search: slow and plain.
inline uint32_t encode_small(double value, int exponent, int mantissa, bool finite) {
  const uint32_t sign = std::signbit(value) ? 1U << (exponent + mantissa) : 0;
  const uint32_t count = 1U << (exponent + mantissa);
  uint32_t low = 0, high = count - 1;
  while (low + 1 < high) {  // positive values are ordered like their bits
    const uint32_t middle = (low + high) / 2;
    const double at = decode_small(middle, exponent, mantissa, finite);
    (at <= std::fabs(value) ? low : high) = middle;
  }
  const double below = decode_small(low, exponent, mantissa, finite),
               above = decode_small(low + 1, exponent, mantissa, finite);
  const double down = std::fabs(value) - below, up = above - std::fabs(value);
  const bool round_up = up < down || (up == down && low % 2 == 1);
  return sign | (round_up ? low + 1 : low);
}

inline void encode(DataType type, double value, void* at) {
  const auto put = [at](auto stored) { std::memcpy(at, &stored, sizeof(stored)); };
  switch (type) {
    case DataType::kInt8:
      return put(static_cast<int8_t>(value));
    case DataType::kUint8:
      return put(static_cast<uint8_t>(value));
    case DataType::kInt16:
      return put(static_cast<int16_t>(value));
    case DataType::kUint16:
      return put(static_cast<uint16_t>(value));
    case DataType::kInt32:
      return put(static_cast<int32_t>(value));
    case DataType::kUint32:
      return put(static_cast<uint32_t>(value));
    case DataType::kInt64:
      return put(static_cast<int64_t>(value));
    case DataType::kUint64:
      return put(static_cast<uint64_t>(value));
    case DataType::kFloat32:
      return put(static_cast<float>(value));
    case DataType::kFloat64:
      return put(value);
    case DataType::kFloat16:
      return put(static_cast<uint16_t>(encode_small(value, 5, 10, false)));
    case DataType::kBfloat16:
      return put(static_cast<uint16_t>(encode_small(value, 8, 7, false)));
    case DataType::kFloat8E4m3:
      return put(static_cast<uint8_t>(encode_small(value, 4, 3, true)));
    case DataType::kFloat8E5m2:
      return put(static_cast<uint8_t>(encode_small(value, 5, 2, false)));
  }
}

// `value` as the type holds it: what an average must round or truncate to.
inline double as_held(DataType type, double value) {
  unsigned char bytes[8];
  encode(type, value, bytes);
  return decode(type, bytes);
}

}  // namespace peal::testing
