// Measures the matrix product on the trainer's shapes, one thread: median and best of many runs. Built once for each
// library: matmul_rate_onednn, matmul_rate_openblas. docs/trainer.md has its figures.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "trainer/math/matmul.h"

namespace {

using peal::trainer::Transpose;

struct Shape {
  const char* what;
  Transpose transpose_a, transpose_b;
  size_t m, n, k;
};

constexpr auto kN = Transpose::kNo;
constexpr auto kT = Transpose::kYes;
// 128 rows: the share of one of two ranks in a batch of 256.
constexpr Shape kShapes[] = {
    {"fc1 forward", kN, kT, 128, 512, 784}, {"fc1 weight", kT, kN, 512, 784, 128},
    {"fc2 forward", kN, kT, 128, 256, 512}, {"fc2 input", kN, kN, 128, 512, 256},
    {"fc2 weight", kT, kN, 256, 512, 128},  {"fc3 forward", kN, kT, 128, 10, 256},
    {"fc3 input", kN, kN, 128, 256, 10},    {"fc3 weight", kT, kN, 10, 256, 128},
    {"wide NN", kN, kN, 1024, 1536, 384},   {"wide NT", kN, kT, 1024, 1536, 384},
    {"wide TN", kT, kN, 1024, 1536, 384},
};

std::vector<double> run_seconds(const Shape& shape) {
  const std::vector<float> a(shape.m * shape.k, 0.5F), b(shape.k * shape.n, 0.25F);
  std::vector<float> c(shape.m * shape.n);
  std::vector<double> seconds;
  for (int i = 0; i < 60; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    peal::trainer::matmul(shape.transpose_a, shape.transpose_b, shape.m, shape.n, shape.k, a.data(), b.data(), 0,
                          c.data());
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

}  // namespace

int main() {
  peal::trainer::set_matmul_threads(1);
  fmt::print("# {}\n{:<12} {:>5} {:>5} {:>5} {:>12} {:>14}\n", peal::trainer::matmul_library(), "product", "m", "n",
             "k", "GFLOP/s", "best GFLOP/s");
  for (const Shape& shape : kShapes) {
    const auto seconds = run_seconds(shape);
    const double gflop = 2e-9 * static_cast<double>(shape.m * shape.n * shape.k);
    fmt::print("{:<12} {:>5} {:>5} {:>5} {:>12.1f} {:>14.1f}\n", shape.what, shape.m, shape.n, shape.k,
               gflop / seconds[seconds.size() / 2], gflop / seconds[0]);
  }
}
