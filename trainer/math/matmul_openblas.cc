#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "trainer/math/matmul.h"

namespace peal::trainer {

void matmul(Transpose transpose_a, Transpose transpose_b, size_t m, size_t n, size_t k, const float* a, const float* b,
            float beta, float* c) noexcept {
  if (m == 0 || n == 0) return;
  const bool ta = transpose_a == Transpose::kYes, tb = transpose_b == Transpose::kYes;
  auto dim = [](size_t size) { return static_cast<blasint>(std::max<size_t>(size, 1)); };  // strides are >= 1
  cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
              static_cast<blasint>(n), static_cast<blasint>(k), 1.0F, a, dim(ta ? m : k), b, dim(tb ? k : n), beta, c,
              dim(n));
}

void set_matmul_threads(int threads) noexcept { openblas_set_num_threads(std::max(threads, 1)); }

std::string matmul_library() {
  const std::string_view config = openblas_get_config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ..."
  const size_t name_end = config.find(' ');
  const std::string_view version = config.substr(0, config.find(' ', name_end + 1));
  return fmt::format("{} ({})", version, openblas_get_corename());
}

// 0.3.21 does not know the newest Xeons by number and falls back to SSE kernels: 34 GFLOP/s instead of 150.
std::vector<std::pair<std::string, std::string>> matmul_environment() {
#if defined(__x86_64__)
  if (std::string_view(openblas_get_corename()) == "Prescott" && __builtin_cpu_supports("avx2")) {
    return {{"OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512f") ? "SkylakeX" : "Haswell"}};
  }
#endif
  return {};
}

}  // namespace peal::trainer
