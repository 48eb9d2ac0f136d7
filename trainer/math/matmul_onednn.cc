#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <cstdlib>

#include "trainer/math/matmul.h"

// Debian's oneDNN runs on GNU OpenMP, whatever compiler this is; GCC's <omp.h> does not compile under clang 14.
extern "C" void omp_set_num_threads(int threads) noexcept;

namespace peal::trainer {

void matmul(Transpose transpose_a, Transpose transpose_b, size_t m, size_t n, size_t k, const float* a, const float* b,
            float beta, float* c) noexcept {
  if (m == 0 || n == 0) return;
  const bool ta = transpose_a == Transpose::kYes, tb = transpose_b == Transpose::kYes;
  auto dim = [](size_t size) { return static_cast<dnnl_dim_t>(std::max<size_t>(size, 1)); };  // strides are >= 1
  const auto status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', static_cast<dnnl_dim_t>(m), static_cast<dnnl_dim_t>(n),
                                 static_cast<dnnl_dim_t>(k), 1.0F, a, dim(ta ? m : k), b, dim(tb ? k : n), beta, c,
                                 static_cast<dnnl_dim_t>(n));
  if (status != dnnl_success) std::abort();  // only arguments that break the contract above get here
}

void set_matmul_threads(int threads) noexcept { omp_set_num_threads(std::max(threads, 1)); }

std::string matmul_library() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

// GNU OpenMP's threads spin for milliseconds at the end of each product. On a busy machine that keeps the very core
// that the last thread waits for: with compilers running beside, 2 threads trained 8,400 images/s spinning, 51,600
// sleeping.
std::vector<std::pair<std::string, std::string>> matmul_environment() { return {{"OMP_WAIT_POLICY", "passive"}}; }

}  // namespace peal::trainer
