// Vectors of the widest register that the including file is compiled for, and how each data type is brought into them
// and back. Part of reduce_kernels.h, under the same rules: unnamed namespace, nothing of the standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "base/float_formats.h"

namespace peal {
namespace {

#if defined(__AVX512F__)
constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif

template <class T, size_t kLanes>
struct Vector {
  typedef T type __attribute__((vector_size(kLanes * sizeof(T))));
};

// memcpy() of constant size is one unaligned load or store.
template <class V>
PEAL_INLINE V load(const char* from) {
  V lanes;
  __builtin_memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}
template <class V>
PEAL_INLINE void store(char* to, V lanes) {
  __builtin_memcpy(to, &lanes, sizeof(lanes));
}

// The smaller and the larger by lane; b where either is a NaN. For floats that is one instruction, but g++ 12
// makes a comparison and a blend of the general form (AVX-512: 90 instead of 125 GB/s; AVX2: 41 instead of 90).
template <class V>
PEAL_INLINE V least(V a, V b) {
  return a < b ? a : b;
}
template <class V>
PEAL_INLINE V most(V a, V b) {
  return a > b ? a : b;
}
using Floats = Vector<float, kVectorBytes / sizeof(float)>::type;
using Doubles = Vector<double, kVectorBytes / sizeof(double)>::type;
#if defined(__AVX512F__)
PEAL_INLINE Floats least(Floats a, Floats b) { return (Floats)_mm512_min_ps((__m512)a, (__m512)b); }
PEAL_INLINE Floats most(Floats a, Floats b) { return (Floats)_mm512_max_ps((__m512)a, (__m512)b); }
PEAL_INLINE Doubles least(Doubles a, Doubles b) { return (Doubles)_mm512_min_pd((__m512d)a, (__m512d)b); }
PEAL_INLINE Doubles most(Doubles a, Doubles b) { return (Doubles)_mm512_max_pd((__m512d)a, (__m512d)b); }
#elif defined(__AVX2__)
PEAL_INLINE Floats least(Floats a, Floats b) { return (Floats)_mm256_min_ps((__m256)a, (__m256)b); }
PEAL_INLINE Floats most(Floats a, Floats b) { return (Floats)_mm256_max_ps((__m256)a, (__m256)b); }
PEAL_INLINE Doubles least(Doubles a, Doubles b) { return (Doubles)_mm256_min_pd((__m256d)a, (__m256d)b); }
PEAL_INLINE Doubles most(Doubles a, Doubles b) { return (Doubles)_mm256_max_pd((__m256d)a, (__m256d)b); }
#elif defined(__SSE2__)
PEAL_INLINE Floats least(Floats a, Floats b) { return (Floats)_mm_min_ps((__m128)a, (__m128)b); }
PEAL_INLINE Floats most(Floats a, Floats b) { return (Floats)_mm_max_ps((__m128)a, (__m128)b); }
PEAL_INLINE Doubles least(Doubles a, Doubles b) { return (Doubles)_mm_min_pd((__m128d)a, (__m128d)b); }
PEAL_INLINE Doubles most(Doubles a, Doubles b) { return (Doubles)_mm_max_pd((__m128d)a, (__m128d)b); }
#endif

// Types that are computed in as they are stored.
template <class T>
struct Native {
  static constexpr size_t kBytes = kVectorBytes;  // of memory, per vector
  static constexpr size_t kElement = sizeof(T);
  using Stored = typename Vector<T, kVectorBytes / sizeof(T)>::type;
  static PEAL_INLINE Stored widen(Stored stored) { return stored; }
  static PEAL_INLINE Stored narrow(Stored value) { return value; }
};

// Between 8- or 16-bit lanes and as many 32-bit ones, whose upper bits are zero. g++ 12 takes such a
// __builtin_convertvector apart lane by lane (bfloat16 ran at a third of this speed), so instructions are named.
#if defined(__AVX512F__)
using Bits32 = Vector<uint32_t, 16>::type;
using Bits16 = Vector<uint16_t, 16>::type;
using Bits8 = Vector<uint8_t, 16>::type;
PEAL_INLINE Bits32 widen_bits(Bits16 bits) { return (Bits32)_mm512_cvtepu16_epi32((__m256i)bits); }
PEAL_INLINE Bits32 widen_bits(Bits8 bits) { return (Bits32)_mm512_cvtepu8_epi32((__m128i)bits); }
PEAL_INLINE void narrow_bits(Bits32 bits, Bits16* to) { *to = (Bits16)_mm512_cvtepi32_epi16((__m512i)bits); }
PEAL_INLINE void narrow_bits(Bits32 bits, Bits8* to) { *to = (Bits8)_mm512_cvtepi32_epi8((__m512i)bits); }
#elif defined(__AVX2__)
using Bits32 = Vector<uint32_t, 8>::type;
using Bits16 = Vector<uint16_t, 8>::type;
using Bits8 = Vector<uint8_t, 8>::type;
PEAL_INLINE Bits32 widen_bits(Bits16 bits) { return (Bits32)_mm256_cvtepu16_epi32((__m128i)bits); }
PEAL_INLINE Bits32 widen_bits(Bits8 bits) {
  return (Bits32)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(int64_t, bits)));
}
PEAL_INLINE void narrow_bits(Bits32 bits, Bits16* to) {
  const __m256i both = (__m256i)bits;
  *to = (Bits16)_mm_packus_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
}
PEAL_INLINE void narrow_bits(Bits32 bits, Bits8* to) {
  Bits16 words;
  narrow_bits(bits, &words);
  *to = __builtin_bit_cast(Bits8, int64_t{_mm_cvtsi128_si64(_mm_packus_epi16((__m128i)words, (__m128i)words))});
}
#else
using Bits32 = Vector<uint32_t, 4>::type;
using Bits16 = Vector<uint16_t, 4>::type;
using Bits8 = Vector<uint8_t, 4>::type;
#if defined(__SSE2__)
PEAL_INLINE Bits32 widen_bits(Bits16 bits) {
  return (Bits32)_mm_unpacklo_epi16(_mm_cvtsi64_si128(__builtin_bit_cast(int64_t, bits)), _mm_setzero_si128());
}
PEAL_INLINE Bits32 widen_bits(Bits8 bits) {
  const __m128i bytes = _mm_cvtsi32_si128(__builtin_bit_cast(int32_t, bits)), zero = _mm_setzero_si128();
  return (Bits32)_mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, zero), zero);
}
PEAL_INLINE void narrow_bits(Bits32 bits, Bits16* to) {  // SSE2 packs signed words only
  const __m128i words = _mm_srai_epi32(_mm_slli_epi32((__m128i)bits, 16), 16);
  *to = __builtin_bit_cast(Bits16, int64_t{_mm_cvtsi128_si64(_mm_packs_epi32(words, words))});
}
PEAL_INLINE void narrow_bits(Bits32 bits, Bits8* to) {
  const __m128i words = _mm_packs_epi32((__m128i)bits, (__m128i)bits);
  *to = __builtin_bit_cast(Bits8, _mm_cvtsi128_si32(_mm_packus_epi16(words, words)));
}
#else
PEAL_INLINE Bits32 widen_bits(Bits16 bits) { return __builtin_convertvector(bits, Bits32); }
PEAL_INLINE Bits32 widen_bits(Bits8 bits) { return __builtin_convertvector(bits, Bits32); }
PEAL_INLINE void narrow_bits(Bits32 bits, Bits16* to) { *to = __builtin_convertvector(bits, Bits16); }
PEAL_INLINE void narrow_bits(Bits32 bits, Bits8* to) { *to = __builtin_convertvector(bits, Bits8); }
#endif
#endif

// Formats that are stored as 8 or 16 bits and computed in float32.
template <class StoredLanes, class Format>
struct Converted {
  using Stored = StoredLanes;
  using Value = Floats;
  static constexpr size_t kBytes = sizeof(Stored);
  static constexpr size_t kElement = kBytes * sizeof(float) / kVectorBytes;
  static PEAL_INLINE Value widen(Stored stored) { return Format::template decode<Value>(widen_bits(stored)); }
  static PEAL_INLINE Stored narrow(Value value) {
    Stored stored;
    narrow_bits(Format::template encode<Value, Bits32>(value), &stored);
    return stored;
  }
};

#if defined(__AVX512F__)
struct Half : Converted<Bits16, Float16> {
  static PEAL_INLINE Value widen(Stored stored) { return (Value)_mm512_cvtph_ps((__m256i)stored); }
  static PEAL_INLINE Stored narrow(Value value) {
    return (Stored)_mm512_cvtps_ph((__m512)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};
#elif defined(__F16C__)
struct Half : Converted<Bits16, Float16> {
  static PEAL_INLINE Value widen(Stored stored) { return (Value)_mm256_cvtph_ps((__m128i)stored); }
  static PEAL_INLINE Stored narrow(Value value) {
    return (Stored)_mm256_cvtps_ph((__m256)value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};
#else
using Half = Converted<Bits16, Float16>;
#endif
using Brain = Converted<Bits16, Bfloat16>;
using E4m3 = Converted<Bits8, Float8E4m3>;
using E5m2 = Converted<Bits8, Float8E5m2>;

template <class Format>
PEAL_INLINE auto load_wide(const char* from) {
  return Format::widen(load<typename Format::Stored>(from));
}

// The first `bytes` of a vector; the other lanes are zeros.
template <class Format>
PEAL_INLINE auto load_some(const char* from, size_t bytes) {
  typename Format::Stored lanes{};
  __builtin_memcpy(&lanes, from, bytes);
  return Format::widen(lanes);
}

template <class Format, class Value>
PEAL_INLINE void store_narrow(char* to, Value value) {
  store<typename Format::Stored>(to, Format::narrow(value));
}

template <class Format, class Value>
PEAL_INLINE void store_some(char* to, Value value, size_t bytes) {
  const typename Format::Stored lanes = Format::narrow(value);
  __builtin_memcpy(to, &lanes, bytes);
}

}  // namespace
}  // namespace peal
