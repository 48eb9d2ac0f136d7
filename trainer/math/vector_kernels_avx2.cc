#define PEAL_ISA avx2
#include "trainer/math/vector_kernels.inc"
