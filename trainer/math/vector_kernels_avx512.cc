#define PEAL_ISA avx512
#include "trainer/math/vector_kernels.inc"
