// The one matrix product of the trainer, over whichever library the build chose (docs/trainer.md has the measurement).
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

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

// Environment variables, name and value, that the library reads once, while it is loaded, and that serve it better than
// what it does by itself. A program sets those that its user has not, and starts itself again.
std::vector<std::pair<std::string, std::string>> matmul_environment();

}  // namespace peal::trainer
