// The reduction kernels, written once and compiled once per instruction set: reduce_portable.cc, reduce_avx2.cc and
// reduce_avx512.cc include this with their own flags. All of it is in an unnamed namespace and calls nothing of the
// standard library, so that no code for a newer processor can be linked where an older one runs.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "base/float_formats.h"
#include "base/reduce_table.h"

#if defined(__clang__)
#define PEAL_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define PEAL_VECTORIZE _Pragma("GCC ivdep")
#endif

namespace peal {
namespace {

// Elements per block of formats that are converted: their float32 values stay in the L1 cache.
constexpr size_t kBlock = 512;

template <class T>
struct Unaligned {
  typedef T type __attribute__((aligned(1), may_alias));
};

// ---- Formats: what is stored, and what it is computed in. ----

template <class T>
struct Native {
  using Stored = T;
  using Value = T;
};

struct Half {
  using Stored = uint16_t;
  using Value = float;
  static PEAL_INLINE void load(float* values, const void* from, size_t count) {
    const auto* bits = static_cast<const typename Unaligned<uint16_t>::type*>(from);
    size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
      _mm256_storeu_ps(values + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bits + i))));
    }
#endif
    for (; i < count; i++) values[i] = Float16::to_float(bits[i]);
  }
  static PEAL_INLINE void store(void* to, const float* values, size_t count) {
    auto* bits = static_cast<typename Unaligned<uint16_t>::type*>(to);
    size_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(bits + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < count; i++) bits[i] = static_cast<uint16_t>(Float16::of_float(values[i]));
  }
};

struct Bfloat16 {
  using Stored = uint16_t;
  using Value = float;
  static PEAL_INLINE void load(float* values, const void* from, size_t count) {
    const auto* bits = static_cast<const typename Unaligned<uint16_t>::type*>(from);
    PEAL_VECTORIZE
    for (size_t i = 0; i < count; i++) values[i] = float_of_bfloat16(bits[i]);
  }
  static PEAL_INLINE void store(void* to, const float* values, size_t count) {
    auto* bits = static_cast<typename Unaligned<uint16_t>::type*>(to);
    PEAL_VECTORIZE
    for (size_t i = 0; i < count; i++) bits[i] = bfloat16_of_float(values[i]);
  }
};

template <class Format>
struct Quarter {
  using Stored = uint8_t;
  using Value = float;
  static PEAL_INLINE void load(float* values, const void* from, size_t count) {
    const auto* bits = static_cast<const uint8_t*>(from);
    for (size_t i = 0; i < count; i++) values[i] = Format::to_float(bits[i]);
  }
  static PEAL_INLINE void store(void* to, const float* values, size_t count) {
    auto* bits = static_cast<uint8_t*>(to);
    for (size_t i = 0; i < count; i++) bits[i] = static_cast<uint8_t>(Format::of_float(values[i]));
  }
};

// ---- Operations. Signed integers are added and multiplied as unsigned ones of at least 32 bits: they wrap. ----

template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<int8_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<uint8_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int16_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<uint16_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int32_t> {
  using type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using type = uint64_t;
};

struct Sum {
  template <class T>
  static PEAL_INLINE T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};
struct Prod {
  template <class T>
  static PEAL_INLINE T apply(T a, T b) {
    using W = typename Wrapping<T>::type;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};
struct Min {  // of a NaN and anything: the NaN
  template <class T>
  static PEAL_INLINE T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};
struct Max {
  template <class T>
  static PEAL_INLINE T apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};

// ---- Folding ----

// kSources known: the fold stays in registers, and memory is read and written once.
template <class T, class Op, int kSources>
PEAL_INLINE void fold_native(void* dst, const void* const* sources, size_t count) {
  using U = typename Unaligned<T>::type;
  auto* to = static_cast<U*>(dst);
  const auto* a = static_cast<const U*>(sources[0]);
  const auto* b = static_cast<const U*>(sources[1]);
  const auto* c = static_cast<const U*>(sources[kSources > 2 ? 2 : 0]);
  const auto* d = static_cast<const U*>(sources[kSources > 3 ? 3 : 0]);
  PEAL_VECTORIZE
  for (size_t i = 0; i < count; i++) {
    T value = Op::template apply<T>(a[i], b[i]);
    if constexpr (kSources > 2) value = Op::template apply<T>(value, c[i]);
    if constexpr (kSources > 3) value = Op::template apply<T>(value, d[i]);
    to[i] = value;
  }
}

template <class Format>
PEAL_INLINE void load(typename Format::Value* values, const void* from, size_t count) {
  if constexpr (sizeof(typename Format::Stored) == sizeof(typename Format::Value)) {
    __builtin_memcpy(values, from, count * sizeof(typename Format::Value));
  } else {
    Format::load(values, from, count);
  }
}

template <class Format>
PEAL_INLINE void store(void* to, const typename Format::Value* values, size_t count) {
  if constexpr (sizeof(typename Format::Stored) == sizeof(typename Format::Value)) {
    __builtin_memcpy(to, values, count * sizeof(typename Format::Value));
  } else {
    Format::store(to, values, count);
  }
}

template <class Value, class Op>
PEAL_INLINE void accumulate(Value* values, const Value* more, size_t count) {
  PEAL_VECTORIZE
  for (size_t i = 0; i < count; i++) values[i] = Op::template apply<Value>(values[i], more[i]);
}

// Any number of sources, block by block; each block of dst is written after all sources' blocks were read.
template <class Format, class Op>
PEAL_INLINE void fold_blocks(void* dst, const void* const* sources, size_t n, size_t count) {
  using Value = typename Format::Value;
  constexpr size_t kBytes = sizeof(typename Format::Stored);
  alignas(64) Value sum[kBlock];
  alignas(64) Value more[kBlock];
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t length = count - at < kBlock ? count - at : kBlock;
    load<Format>(sum, static_cast<const char*>(sources[0]) + at * kBytes, length);
    for (size_t s = 1; s < n; s++) {
      load<Format>(more, static_cast<const char*>(sources[s]) + at * kBytes, length);
      accumulate<Value, Op>(sum, more, length);
    }
    store<Format>(static_cast<char*>(dst) + at * kBytes, sum, length);
  }
}

template <class Format, class Op>
void fold(void* dst, const void* const* sources, size_t n, size_t count) {
  using T = typename Format::Stored;
  if constexpr (sizeof(T) == sizeof(typename Format::Value)) {
    if (n == 2) return fold_native<T, Op, 2>(dst, sources, count);
    if (n == 3) return fold_native<T, Op, 3>(dst, sources, count);
    if (n == 4) return fold_native<T, Op, 4>(dst, sources, count);
  }
  fold_blocks<Format, Op>(dst, sources, n, count);
}

// ---- One source: scale and divide ----

template <class Format, class Each>
PEAL_INLINE void map_blocks(void* dst, const void* src, size_t count, Each each) {
  using Value = typename Format::Value;
  constexpr size_t kBytes = sizeof(typename Format::Stored);
  alignas(64) Value values[kBlock];
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t length = count - at < kBlock ? count - at : kBlock;
    load<Format>(values, static_cast<const char*>(src) + at * kBytes, length);
    for (size_t i = 0; i < length; i++) values[i] = each(values[i]);
    store<Format>(static_cast<char*>(dst) + at * kBytes, values, length);
  }
}

template <class Format>
void scale_by(void* dst, const void* src, double factor, size_t count) {
  using Value = typename Format::Value;
  map_blocks<Format>(dst, src, count, [factor](Value value) {
    if constexpr (static_cast<Value>(0.5) != Value{0}) {  // floating
      return value * static_cast<Value>(factor);
    } else if constexpr (sizeof(Value) == 8) {
      return static_cast<Value>(static_cast<long double>(value) * static_cast<long double>(factor));
    } else {
      // Through 64 bits: a product that doesn't fit wraps instead of being undefined.
      return static_cast<Value>(static_cast<int64_t>(static_cast<double>(value) * factor));
    }
  });
}

template <class Format>
void divide_by(void* dst, const void* src, int64_t divisor, size_t count) {
  using Value = typename Format::Value;
  map_blocks<Format>(dst, src, count, [divisor](Value value) {
    if constexpr (sizeof(Value) < 8 && static_cast<Value>(0.5) == Value{0}) {
      return static_cast<Value>(static_cast<int64_t>(value) / divisor);  // a divisor beyond a small type is legal
    } else {
      return static_cast<Value>(value / static_cast<Value>(divisor));
    }
  });
}

template <class Format>
constexpr TypeKernels kernels_of() {
  return {{fold<Format, Sum>, fold<Format, Prod>, fold<Format, Min>, fold<Format, Max>},
          scale_by<Format>,
          divide_by<Format>};
}

// In the order of DataType.
constexpr ReduceTable kTable = {{kernels_of<Native<int8_t>>(), kernels_of<Native<uint8_t>>(),
                                 kernels_of<Native<int16_t>>(), kernels_of<Native<uint16_t>>(),
                                 kernels_of<Native<int32_t>>(), kernels_of<Native<uint32_t>>(),
                                 kernels_of<Native<int64_t>>(), kernels_of<Native<uint64_t>>(), kernels_of<Half>(),
                                 kernels_of<Bfloat16>(), kernels_of<Native<float>>(), kernels_of<Native<double>>(),
                                 kernels_of<Quarter<Float8E4m3>>(), kernels_of<Quarter<Float8E5m2>>()}};

}  // namespace
}  // namespace peal
