// Every set of vector kernels that this processor can run, against float64.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trainer/math/matmul.h"
#include "trainer/math/random.h"
#include "trainer/math/vector_kernels.h"

namespace peal::trainer {
namespace {

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

class Kernels : public ::testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    const VectorKernels* sets[3];
    if (GetParam() >= runnable_vector_kernels(sets)) {
      GTEST_SKIP() << "this processor runs only " << runnable_vector_kernels(sets) << " of 3 sets of kernels";
    }
    kernels = sets[GetParam()];
  }
  const VectorKernels* kernels = nullptr;
};

TEST_P(Kernels, GeluOverItsWholeRange) {
  std::vector<float> x;
  for (float value = -12; value <= 12; value += 1.0F / 128) x.push_back(value);
  for (float value : {-1e30F, -100.0F, 100.0F, 1e12F, 0.0F}) x.push_back(value);
  std::vector<float> y(x.size());
  kernels->gelu(x.data(), y.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = gelu(x[i]);
    EXPECT_NEAR(y[i], expected, 2e-7 + 1e-6 * std::abs(expected)) << kernels->name << " at " << x[i];
  }
}

TEST_P(Kernels, GeluKeepsNan) {
  const std::vector<float> x(19, NAN);
  const std::vector<float> dy(19, 1);
  std::vector<float> y(19, 0), dx(19, 0);
  kernels->gelu(x.data(), y.data(), x.size());
  kernels->gelu_backward(x.data(), dy.data(), dx.data(), x.size());
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(std::isnan(y[i]));
    EXPECT_TRUE(std::isnan(dx[i]));
  }
}

TEST_P(Kernels, GeluBackwardIsTheSlope) {
  std::vector<float> x, dy;
  for (int i = 0; i < 77; ++i) {
    x.push_back(static_cast<float>(i - 38) / 3);
    dy.push_back(static_cast<float>(i % 5) - 2);
  }
  std::vector<float> dx(x.size());
  kernels->gelu_backward(x.data(), dy.data(), dx.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double slope = (gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5;
    EXPECT_NEAR(dx[i], dy[i] * slope, 2e-6) << kernels->name << " at " << x[i];
  }
}

TEST_P(Kernels, ColumnSumsAndNormalise) {
  constexpr size_t kRows = 9, kCols = 35;
  std::vector<float> matrix(kRows * kCols), sums(kCols, 2);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 11);
  kernels->add_column_sums(matrix.data(), kRows, kCols, sums.data());
  for (size_t c = 0; c < kCols; ++c) {
    float expected = 2;
    for (size_t r = 0; r < kRows; ++r) expected += matrix[r * kCols + c];
    EXPECT_EQ(sums[c], expected);
  }
  std::vector<unsigned char> pixels;
  for (int i = 0; i < 256; ++i) pixels.push_back(static_cast<unsigned char>(i));
  std::vector<float> scaled(256);
  kernels->normalise(pixels.data(), 100, 0.5F, scaled.data(), 256);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(scaled[static_cast<size_t>(i)], static_cast<float>(i - 100) * 0.5F);
}

INSTANTIATE_TEST_SUITE_P(Sets, Kernels, ::testing::Values(0, 1, 2));

struct Product {
  Transpose a, b;
  size_t m, n, k;
};

// Integers small enough that float32 is exact, whatever the order of the sum.
void check_product(const Product& p, float beta) {
  const CounterRandom random(1, 1);
  auto integer = [&](uint64_t i) { return static_cast<float>(random.below(i, 9)) - 4; };
  std::vector<float> a(p.m * p.k), b(p.k * p.n), c(p.m * p.n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = integer(i);
  for (size_t i = 0; i < b.size(); ++i) b[i] = integer(100000 + i);
  for (size_t i = 0; i < c.size(); ++i) c[i] = beta == 0 ? NAN : integer(200000 + i);
  const std::vector<float> before = c;
  matmul(p.a, p.b, p.m, p.n, p.k, a.data(), b.data(), beta, c.data());
  for (size_t r = 0; r < p.m; ++r) {
    for (size_t col = 0; col < p.n; ++col) {
      float expected = beta == 0 ? 0 : before[r * p.n + col];
      for (size_t i = 0; i < p.k; ++i) {
        expected += (p.a == Transpose::kYes ? a[i * p.m + r] : a[r * p.k + i]) *
                    (p.b == Transpose::kYes ? b[col * p.k + i] : b[i * p.n + col]);
      }
      ASSERT_EQ(c[r * p.n + col], expected) << p.m << " x " << p.n << " x " << p.k;
    }
  }
}

TEST(Matmul, EveryTranspositionAndOddSizes) {
  for (Transpose a : {Transpose::kNo, Transpose::kYes}) {
    for (Transpose b : {Transpose::kNo, Transpose::kYes}) {
      for (size_t m : {1, 5, 33}) {
        for (size_t n : {1, 10, 17}) {
          for (size_t k : {1, 12, 65}) {
            check_product({a, b, m, n, k}, 0);
            check_product({a, b, m, n, k}, 1);
          }
        }
      }
    }
  }
  check_product({Transpose::kNo, Transpose::kYes, 0, 3, 4}, 0);
  EXPECT_FALSE(matmul_library().empty());
}

TEST(CounterRandom, StreamsDifferAndBelowIsEven) {
  const CounterRandom one(1, 0), two(1, 1), three(2, 0);
  EXPECT_NE(one.bits(0), two.bits(0));
  EXPECT_NE(one.bits(0), three.bits(0));
  size_t counts[10] = {};
  for (uint64_t i = 0; i < 100000; ++i) ++counts[one.below(i, 10)];
  for (size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 10000, 400);  // 4 standard deviations: 380
}

}  // namespace
}  // namespace peal::trainer
