// AdamW against a scalar float64 version of the paper's algorithm; learning rates; buckets.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "trainer/model/model.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/learning_rate.h"
#include "trainer/parallel/buckets.h"

namespace peal::trainer {
namespace {

struct Scalar {
  double value, m = 0, v = 0;
  void step(double gradient, int t, double lr, double decay, const AdamwOptions& o) {
    m = o.beta1 * m + (1 - o.beta1) * gradient;
    v = o.beta2 * v + (1 - o.beta2) * gradient * gradient;
    const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    value -= lr * decay * value + lr * m_hat / (std::sqrt(v_hat) + o.epsilon);
  }
};

TEST(Adamw, MatchesTheScalarAlgorithm) {
  const AdamwOptions options{0.9, 0.99, 1e-6, 0.1};
  constexpr double kDivisor = 8, kRate = 0.02;
  Model model = make_mlp(std::vector<size_t>{5, 7});
  model.initialise(4);
  ParameterSet& set = model.parameters();
  AlignedFloats gradients(set.flat_size());
  set.bind_gradients(gradients.data());
  Adamw optimizer(set, options);
  std::vector<Scalar> expected;
  for (size_t i = 0; i < set.flat_size(); ++i) expected.push_back({set.values()[i]});

  for (int t = 1; t <= 20; ++t) {
    for (const Parameter* parameter : set.all()) {
      const double decay = parameter->shape.size() == 2 ? options.weight_decay : 0;
      for (size_t i = 0; i < parameter->size(); ++i) {
        parameter->gradient[i] = std::sin(static_cast<float>(i) + static_cast<float>(t) * 0.7F) * 5;
        expected[parameter->offset + i].step(parameter->gradient[i] / kDivisor, t, kRate, decay, options);
      }
      optimizer.update(*parameter, static_cast<uint64_t>(t), kRate, kDivisor);
    }
  }
  for (size_t i = 0; i < set.flat_size(); ++i) EXPECT_NEAR(set.values()[i], expected[i].value, 2e-6) << i;
}

TEST(LearningRate, WarmsUpThenFollowsTheCosine) {
  const LearningRate rate{1.0, "cosine", 10, 110, 0.1};
  EXPECT_DOUBLE_EQ(rate.at(1), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(10), 1.0);
  EXPECT_NEAR(rate.at(60), 0.55, 1e-12);
  EXPECT_NEAR(rate.at(110), 0.1, 1e-12);
  EXPECT_NEAR(rate.at(500), 0.1, 1e-12);
  const LearningRate constant{0.5, "constant", 0, 10, 0};
  EXPECT_DOUBLE_EQ(constant.at(1), 0.5);
  EXPECT_DOUBLE_EQ(constant.at(10), 0.5);
}

TEST(Buckets, CoverEveryParameterOnceFromTheEnd) {
  Model model = make_mlp(std::vector<size_t>{784, 512, 256, 10});
  ParameterSet& set = model.parameters();
  for (size_t kib : {1, 64, 512, 1 << 20}) {
    const auto buckets = make_buckets(set, std::min<size_t>(kib, 16) << 10U, kib << 10U);
    size_t end = set.flat_size(), next = set.all().size();
    for (const Bucket& bucket : buckets) {
      EXPECT_EQ(bucket.end, end);
      EXPECT_LT(bucket.begin, bucket.end);
      for (const Parameter* parameter : bucket.parameters) EXPECT_EQ(parameter, set.all()[--next]);
      EXPECT_EQ(bucket.begin, bucket.parameters.back()->offset);
      end = bucket.begin;
    }
    EXPECT_EQ(end, 0U);
    EXPECT_EQ(next, 0U);
  }
}

TEST(Buckets, FirstIsSmall) {
  Model model = make_mlp(std::vector<size_t>{784, 512, 256, 10});
  const auto buckets = make_buckets(model.parameters(), 8 << 10, 256 << 10);
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_EQ(buckets[0].parameters.size(), 2U);  // fc3: 10 KiB
  EXPECT_EQ(buckets[1].parameters.size(), 2U);  // fc2: 513 KiB
  EXPECT_EQ(buckets[2].parameters.size(), 2U);  // fc1: 1,570 KiB
}

}  // namespace
}  // namespace peal::trainer
