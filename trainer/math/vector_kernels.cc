#include "trainer/math/vector_kernels.h"

namespace peal::trainer {

extern const VectorKernels kernels_portable;
#if defined(__x86_64__)
extern const VectorKernels kernels_avx2;
extern const VectorKernels kernels_avx512;
#endif

size_t runnable_vector_kernels(const VectorKernels* (&sets)[3]) noexcept {
  size_t count = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) sets[count++] = &kernels_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets[count++] = &kernels_avx2;
#endif
  sets[count++] = &kernels_portable;
  return count;
}

const VectorKernels& vector_kernels() noexcept {
  static const VectorKernels* const best = [] {
    const VectorKernels* sets[3];
    runnable_vector_kernels(sets);
    return sets[0];
  }();
  return *best;
}

}  // namespace peal::trainer
