#define PEAL_ISA portable
#include "trainer/math/vector_kernels.inc"
