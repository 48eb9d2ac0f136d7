// The reduction kernels, written once and compiled once per instruction set: reduce_portable.cc, reduce_avx2.cc and
// reduce_avx512.cc include this with their own flags. All of it is in an unnamed namespace and calls nothing of the
// standard library, so that no code for a newer processor can be linked where an older one runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/reduce_lanes.h"
#include "base/reduce_table.h"

#if defined(__clang__)
#define PEAL_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PEAL_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace peal {
namespace {

// ---- Operations on vectors. ----

struct Sum {
  template <class V>
  static PEAL_INLINE V apply(V a, V b) {
    return a + b;
  }
};
struct Prod {
  template <class V>
  static PEAL_INLINE V apply(V a, V b) {
    return a * b;
  }
};
// Of a NaN and anything: the NaN.
struct Min {
  template <class V>
  static PEAL_INLINE V apply(V a, V b) {
    return a != a ? a : least(a, b);
  }
};
struct Max {
  template <class V>
  static PEAL_INLINE V apply(V a, V b) {
    return a != a ? a : most(a, b);
  }
};

// ---- Folding ----

// Four vectors at byte `at`: the sums stay in registers, and each byte of memory is read or written once. Everything is
// read before anything is written, so dst may be any of the sources.
template <class Format, class Op>
PEAL_INLINE void fold_four(char* dst, const char* const* sources, size_t n, size_t at) {
  constexpr size_t k = Format::kBytes;
  const char* from = sources[0] + at;
  auto a = load_wide<Format>(from), b = load_wide<Format>(from + k);
  auto c = load_wide<Format>(from + 2 * k), d = load_wide<Format>(from + 3 * k);
  for (size_t s = 1; s < n; s++) {
    from = sources[s] + at;
    a = Op::apply(a, load_wide<Format>(from));
    b = Op::apply(b, load_wide<Format>(from + k));
    c = Op::apply(c, load_wide<Format>(from + 2 * k));
    d = Op::apply(d, load_wide<Format>(from + 3 * k));
  }
  store_narrow<Format>(dst + at, a);
  store_narrow<Format>(dst + at + k, b);
  store_narrow<Format>(dst + at + 2 * k, c);
  store_narrow<Format>(dst + at + 3 * k, d);
}

template <class Format, class Op>
PEAL_INLINE void fold_one(char* dst, const char* const* sources, size_t n, size_t at) {
  auto sum = load_wide<Format>(sources[0] + at);
  for (size_t s = 1; s < n; s++) sum = Op::apply(sum, load_wide<Format>(sources[s] + at));
  store_narrow<Format>(dst + at, sum);
}

// Less than a vector. It runs the same instructions as the rest, so an element's result doesn't depend on its place.
template <class Format, class Op>
PEAL_INLINE void fold_rest(char* dst, const char* const* sources, size_t n, size_t at, size_t bytes) {
  auto sum = load_some<Format>(sources[0] + at, bytes);
  for (size_t s = 1; s < n; s++) sum = Op::apply(sum, load_some<Format>(sources[s] + at, bytes));
  store_some<Format>(dst + at, sum, bytes);
}

template <class Format, class Op>
PEAL_INLINE void fold_all(char* dst, const char* const* sources, size_t n, size_t bytes) {
  constexpr size_t k = Format::kBytes;
  size_t at = 0;
  for (; at + 4 * k <= bytes; at += 4 * k) fold_four<Format, Op>(dst, sources, n, at);
  for (; at + k <= bytes; at += k) fold_one<Format, Op>(dst, sources, n, at);
  if (at < bytes) fold_rest<Format, Op>(dst, sources, n, at, bytes - at);
}

template <class Format, class Op>
void fold(void* dst, const void* const* sources, size_t n, size_t count) {
  auto* to = static_cast<char*>(dst);
  const size_t bytes = count * Format::kElement;
  if (n == 2) {  // what a ring does: with n known, both pointers stay in registers
    const char* const two[] = {static_cast<const char*>(sources[0]), static_cast<const char*>(sources[1])};
    return fold_all<Format, Op>(to, two, 2, bytes);
  }
  fold_all<Format, Op>(to, reinterpret_cast<const char* const*>(sources), n, bytes);
}

// ---- One source: scale and divide ----

// `each` of every element of a floating format, by vectors.
template <class Format, class Each>
PEAL_INLINE void map_floats(char* dst, const char* src, size_t count, Each each) {
  constexpr size_t k = Format::kBytes;
  const size_t bytes = count * Format::kElement;
  size_t at = 0;
  for (; at + k <= bytes; at += k) store_narrow<Format>(dst + at, each(load_wide<Format>(src + at)));
  if (at < bytes) store_some<Format>(dst + at, each(load_some<Format>(src + at, bytes - at)), bytes - at);
}

// `each` of every element of an integer type; the compiler makes vectors where there are instructions.
template <class T, class Each>
PEAL_INLINE void map_integers(char* dst, const char* src, size_t count, Each each) {
  PEAL_VECTORIZE
  for (size_t i = 0; i < count; i++) store<T>(dst + i * sizeof(T), each(load<T>(src + i * sizeof(T))));
}

template <class Format, class Scalar>
void scale_floats(void* dst, const void* src, double factor, size_t count) {
  map_floats<Format>(static_cast<char*>(dst), static_cast<const char*>(src), count,
                     [by = static_cast<Scalar>(factor)](auto value) { return value * by; });
}

template <class Format, class Scalar>
void divide_floats(void* dst, const void* src, int64_t divisor, size_t count) {
  map_floats<Format>(static_cast<char*>(dst), static_cast<const char*>(src), count,
                     [by = static_cast<Scalar>(divisor)](auto value) { return value / by; });
}

// Toward zero, to a 64-bit T; what lies beyond becomes T's end, and no number becomes 0.
template <class T, class Real>
PEAL_INLINE T truncated(Real value) {
  constexpr bool kSigned = static_cast<T>(-1) < T{0};
  constexpr T kMost = static_cast<T>(~uint64_t{0} >> (kSigned ? 1 : 0));
  constexpr T kLeast = kSigned ? static_cast<T>(-kMost - 1) : T{0};
  if (value >= static_cast<Real>(kMost)) return kMost;
  if (value > static_cast<Real>(kLeast)) return static_cast<T>(value);
  return value <= static_cast<Real>(kLeast) ? kLeast : T{0};
}

// A product that fits 64 bits but not T wraps, as sums do.
template <class T>
void scale_integers(void* dst, const void* src, double factor, size_t count) {
  map_integers<T>(static_cast<char*>(dst), static_cast<const char*>(src), count, [factor](T value) {
    if constexpr (sizeof(T) == 8) {
      return truncated<T>(static_cast<long double>(value) * static_cast<long double>(factor));
    } else {
      return static_cast<T>(truncated<int64_t>(static_cast<double>(value) * factor));
    }
  });
}

// Processors divide floats by vectors but integers one by one (10 to 18 cycles each). A float quotient truncates to the
// exact integer one where value * divisor fits the mantissa; a divisor too large for that gives 0 both ways.
template <class T>
void divide_integers(void* dst, const void* src, int64_t divisor, size_t count) {
  map_integers<T>(static_cast<char*>(dst), static_cast<const char*>(src), count, [divisor](T value) {
    if constexpr (sizeof(T) == 8) {
      return static_cast<T>(value / static_cast<T>(divisor));
    } else if constexpr (sizeof(T) == 4) {
      return static_cast<T>(static_cast<double>(value) / static_cast<double>(divisor));
    } else {
      return static_cast<T>(static_cast<int32_t>(static_cast<float>(value) / static_cast<float>(divisor)));
    }
  });
}

// ---- The table ----

template <class Format, class Scalar>
constexpr TypeKernels floating() {
  return {{fold<Format, Sum>, fold<Format, Prod>, fold<Format, Min>, fold<Format, Max>},
          scale_floats<Format, Scalar>,
          divide_floats<Format, Scalar>};
}

// Sums and products wrap, so that signed and unsigned ones are the same bits.
template <class T, class Unsigned>
constexpr TypeKernels integer() {
  return {{fold<Native<Unsigned>, Sum>, fold<Native<Unsigned>, Prod>, fold<Native<T>, Min>, fold<Native<T>, Max>},
          scale_integers<T>,
          divide_integers<T>};
}

constexpr ReduceTable table(const char* name) {
  return {name,
          {// In the order of DataType.
           integer<int8_t, uint8_t>(), integer<uint8_t, uint8_t>(), integer<int16_t, uint16_t>(),
           integer<uint16_t, uint16_t>(), integer<int32_t, uint32_t>(), integer<uint32_t, uint32_t>(),
           integer<int64_t, uint64_t>(), integer<uint64_t, uint64_t>(), floating<Half, float>(),
           floating<Brain, float>(), floating<Native<float>, float>(), floating<Native<double>, double>(),
           floating<E4m3, float>(), floating<E5m2, float>()}};
}

}  // namespace
}  // namespace peal
