// Reduction on the host: n sources in one pass, by the widest vector unit that this processor has (AVX-512, AVX2,
// portable; chosen once at run time). 16- and 8-bit floats accumulate in float32 and round once per call, to nearest
// even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/api.h"
#include "base/data_type.h"

namespace peal {

// Values are part of the C API (peal.h) and of the wire's fingerprint; they never change.
enum class ReduceOp : uint8_t {
  kSum = 0,
  kProd = 1,
  kMin = 2,
  kMax = 3,
  kAvg = 4,       // sum, then divided by the number of ranks (integers truncate toward zero)
  kPremulSum = 5  // each rank's input times that rank's own factor, then sum
};
inline constexpr int kReduceOps = 6;

PEAL_API std::span<const ReduceOp> all_reduce_ops() noexcept;
PEAL_API std::string_view name_of(ReduceOp op) noexcept;   // sum prod min max avg mulsum
PEAL_API ReduceOp parse_reduce_op(std::string_view word);  // throws Error(kInvalidArgument) naming the valid ones

// dst[i] = sources[0][i] (op) sources[1][i] (op) ... for i < count, folded in the order given, so that results depend
// on that order alone. `sources.size()` >= 1; dst may be exactly one of the sources, no other overlap is allowed. kAvg
// and kPremulSum combine as kSum here: the factor is applied by scale(). Integer sums and products wrap. min and max of
// floats: a NaN in any source gives NaN. Pointers need no alignment. Thread-safe, allocates nothing.
PEAL_API void reduce(DataType type, ReduceOp op, void* dst, std::span<const void* const> sources,
                     size_t count) noexcept;

// dst[i] = src[i] * factor, in float32 arithmetic for 8-, 16- and 32-bit floats, in double for float64 and integers
// (truncated toward zero; 64-bit integers go through long double, which holds them exactly; a product beyond 64 bits
// becomes the nearest end, one beyond a smaller type wraps). dst == src is allowed.
PEAL_API void scale(DataType type, void* dst, const void* src, double factor, size_t count) noexcept;

// dst[i] = src[i] / divisor: what kAvg needs. Floats divide in float32 (float64: double), integers exactly, toward
// zero.
PEAL_API void divide(DataType type, void* dst, const void* src, int64_t divisor, size_t count) noexcept;

// The instruction set in use: "avx512", "avx2" or "portable"; PEAL_SIMD (settings) may lower it.
PEAL_API std::string_view simd_in_use() noexcept;

}  // namespace peal
