// The one matrix product of the trainer, over whichever library the build chose (docs/trainer.md has the measurement).
#pragma once

#include <cstddef>
#include <string>

namespace peal::trainer {

enum class Transpose { kNo, kYes };

// c[m, n] = op_a(a) * op_b(b) + beta * c, all row-major and dense: a is [m, k], or [k, m] when transposed; b is [k, n],
// or [n, k] when transposed. beta is 0 (c may hold anything, NaN included) or 1. Zero sizes are legal. Thread-safe;
// uses the threads that set_matmul_threads() gave to the calling thread.
void matmul(Transpose transpose_a, Transpose transpose_b, size_t m, size_t n, size_t k, const float* a, const float* b,
            float beta, float* c) noexcept;

// Threads that products called from this thread use (oneDNN) or that all of this process use (OpenBLAS); >= 1.
void set_matmul_threads(int threads) noexcept;

// Library, version and, where it tells, the kernels it picked: "OpenBLAS 0.3.21 (SkylakeX)".
std::string matmul_library();

// A sentence when the library picked kernels far below what this processor can do, else "".
std::string matmul_warning();

}  // namespace peal::trainer
