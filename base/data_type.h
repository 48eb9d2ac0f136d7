// Element types of buffers, and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/api.h"

namespace peal {

// Values are part of the C API (peal.h) and of the wire's fingerprint; they never change.
enum class DataType : uint8_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt16 = 2,
  kUint16 = 3,
  kInt32 = 4,
  kUint32 = 5,
  kInt64 = 6,
  kUint64 = 7,
  kFloat16 = 8,   // IEEE binary16
  kBfloat16 = 9,  // upper half of a binary32
  kFloat32 = 10,
  kFloat64 = 11,
  kFloat8E4m3 = 12,  // OCP 8-bit formats (E4M3FN: no infinities; E5M2: IEEE-like)
  kFloat8E5m2 = 13,
};
inline constexpr int kDataTypes = 14;

// Every type, in the order above.
PEAL_API std::span<const DataType> all_data_types() noexcept;

// Bytes of one element: 1, 2, 4 or 8.
PEAL_API size_t size_of(DataType type) noexcept;

// Name as nccl-tests prints it: int8 uint8 int16 uint16 int32 uint32 int64 uint64 half bfloat16 float double f8e4m3
// f8e5m2.
PEAL_API std::string_view name_of(DataType type) noexcept;

// Accepts name_of()'s names and the aliases float16, float32, float64, bf16, fp16, fp32, fp64.
// Throws Error(kInvalidArgument) naming the word and the valid ones.
PEAL_API DataType parse_data_type(std::string_view word);

PEAL_API bool is_floating(DataType type) noexcept;

}  // namespace peal
