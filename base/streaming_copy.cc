#include "base/streaming_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace peal {

#if defined(__x86_64__)

void streaming_copy(void* to, const void* from, size_t bytes) noexcept {
  constexpr size_t kLine = 64;  // filled as a whole by four stores, so that it leaves as a whole
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  const size_t before = std::min(bytes, -reinterpret_cast<uintptr_t>(target) % kLine);
  std::memcpy(target, source, before);
  size_t at = before;
  for (; at + kLine <= bytes; at += kLine) {
    const auto* lanes = reinterpret_cast<const __m128i*>(source + at);
    auto* line = reinterpret_cast<__m128i*>(target + at);
    const __m128i a = _mm_loadu_si128(lanes), b = _mm_loadu_si128(lanes + 1);
    const __m128i c = _mm_loadu_si128(lanes + 2), d = _mm_loadu_si128(lanes + 3);
    _mm_stream_si128(line, a);
    _mm_stream_si128(line + 1, b);
    _mm_stream_si128(line + 2, c);
    _mm_stream_si128(line + 3, d);
  }
  std::memcpy(target + at, source + at, bytes - at);
}

void streaming_fence() noexcept { _mm_sfence(); }

#else

void streaming_copy(void* to, const void* from, size_t bytes) noexcept { std::memcpy(to, from, bytes); }
void streaming_fence() noexcept {}

#endif

}  // namespace peal
