// Every layer against a plain float64 version of itself, and its derivatives against finite differences of that.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "throws_error.h"
#include "trainer/model/gelu.h"
#include "trainer/model/linear.h"
#include "trainer/model/loss.h"
#include "trainer/model/model.h"

namespace peal::trainer {
namespace {

using Doubles = std::vector<double>;

// y = f(x, parameters), all flat, in float64; written without a look at the layers.
using Reference = std::function<Doubles(const Doubles& x, const std::vector<Doubles>& parameters)>;

constexpr size_t kRows = 5;

Doubles linear_reference(const Doubles& x, const std::vector<Doubles>& parameters, size_t inputs, size_t outputs) {
  Doubles y(kRows * outputs);
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t o = 0; o < outputs; ++o) {
      double sum = parameters[1][o];
      for (size_t i = 0; i < inputs; ++i) sum += x[r * inputs + i] * parameters[0][o * inputs + i];
      y[r * outputs + o] = sum;
    }
  }
  return y;
}

Doubles gelu_reference(const Doubles& x) {
  Doubles y;
  for (double value : x) {
    y.push_back(0.5 * value * (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value))));
  }
  return y;
}

Doubles to_doubles(const float* data, size_t count) { return {data, data + count}; }

// A layer with memory bound, random parameters, input and output gradient.
struct Bench {
  explicit Bench(Layer& tested) : layer(tested), set(tested.parameters()), gradients(set.flat_size()) {
    set.bind_gradients(gradients.data());
    const CounterRandom random(11, 5);
    uint64_t counter = 0;
    for (Parameter* parameter : set.all()) {
      for (size_t i = 0; i < parameter->size(); ++i) parameter->value[i] = random.symmetric(counter++);
      parameters.push_back(to_doubles(parameter->value, parameter->size()));
    }
    x.resize(kRows * layer.inputs());
    dy.resize(kRows * layer.outputs());
    for (float& value : x) value = 3 * random.symmetric(counter++);
    for (float& value : dy) value = random.symmetric(counter++);
  }

  ConstMatrix x_matrix() const { return {x.data(), kRows, layer.inputs()}; }
  ConstMatrix dy_matrix() const { return {dy.data(), kRows, layer.outputs()}; }

  // d(sum dy * y) / d(value), by central differences; error about 1e-9 at this width.
  double slope(const Reference& reference, double& value, const Doubles& at_x) const {
    constexpr double kWidth = 1e-5;
    auto weighted = [&](double shift) {
      const double kept = value;
      value += shift;
      const Doubles y = reference(at_x, parameters);
      value = kept;
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
      return sum;
    };
    return (weighted(kWidth) - weighted(-kWidth)) / (2 * kWidth);
  }

  Layer& layer;
  ParameterSet set;
  AlignedFloats gradients;
  std::vector<Doubles> parameters;
  std::vector<float> x, dy;
};

void expect_close(double actual, double expected, const char* what, size_t index) {
  EXPECT_NEAR(actual, expected, 2e-6 + 3e-6 * std::abs(expected)) << what << " " << index;
}

void check_layer(Layer& layer, const Reference& reference) {
  Bench bench(layer);
  Doubles x = to_doubles(bench.x.data(), bench.x.size());

  std::vector<float> y(bench.dy.size(), NAN);
  layer.forward(bench.x_matrix(), {y.data(), kRows, layer.outputs()});
  const Doubles expected = reference(x, bench.parameters);
  for (size_t i = 0; i < y.size(); ++i) expect_close(y[i], expected[i], "output", i);

  std::vector<float> dx(bench.x.size(), NAN);
  layer.backward_input(bench.x_matrix(), bench.dy_matrix(), {dx.data(), kRows, layer.inputs()});
  for (size_t i = 0; i < dx.size(); ++i) expect_close(dx[i], bench.slope(reference, x[i], x), "input gradient", i);

  // Twice: overwriting whatever was there, then adding.
  for (size_t i = 0; i < bench.gradients.size(); ++i) bench.gradients.data()[i] = NAN;
  layer.backward_weight(bench.x_matrix(), bench.dy_matrix(), false);
  layer.backward_weight(bench.x_matrix(), bench.dy_matrix(), true);
  for (size_t p = 0; p < bench.parameters.size(); ++p) {
    for (size_t i = 0; i < bench.parameters[p].size(); ++i) {
      const double slope = bench.slope(reference, bench.parameters[p][i], x);
      expect_close(bench.set.all()[p]->gradient[i], 2 * slope, bench.set.all()[p]->name.c_str(), i);
    }
  }
}

TEST(Layers, LinearMatchesReferenceAndFiniteDifferences) {
  Linear layer("fc", 7, 3);
  check_layer(layer, [](const Doubles& x, const std::vector<Doubles>& parameters) {
    return linear_reference(x, parameters, 7, 3);
  });
}

TEST(Layers, GeluMatchesReferenceAndFiniteDifferences) {
  Gelu layer(37);  // no multiple of any vector width
  check_layer(layer, [](const Doubles& x, const std::vector<Doubles>&) { return gelu_reference(x); });
}

TEST(Layers, SoftmaxCrossEntropyMatchesReferenceAndFiniteDifferences) {
  constexpr size_t kClasses = 6;
  const CounterRandom random(2, 2);
  std::vector<float> outputs(kRows * kClasses), gradient(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = 8 * random.symmetric(i);
  const std::vector<uint8_t> labels = {0, 5, 3, 3, 1};
  auto naive = [&](const Doubles& values) {
    double loss = 0;
    for (size_t r = 0; r < kRows; ++r) {
      double sum = 0;
      for (size_t c = 0; c < kClasses; ++c) sum += std::exp(values[r * kClasses + c]);
      loss -= std::log(std::exp(values[r * kClasses + labels[r]]) / sum);
    }
    return loss;
  };
  Doubles values = to_doubles(outputs.data(), outputs.size());
  const SoftmaxCrossEntropy loss;
  const ConstMatrix matrix{outputs.data(), kRows, kClasses};
  EXPECT_NEAR(loss.forward_backward(matrix, labels, {gradient.data(), kRows, kClasses}), naive(values), 1e-6);
  EXPECT_NEAR(loss.forward(matrix, labels), naive(values), 1e-6);
  for (size_t i = 0; i < values.size(); ++i) {
    constexpr double kWidth = 1e-5;
    const double kept = values[i];
    values[i] = kept + kWidth;
    const double above = naive(values);
    values[i] = kept - kWidth;
    expect_close(gradient[i], (above - naive(values)) / (2 * kWidth), "logit gradient", i);
    values[i] = kept;
  }
}

TEST(Layers, SoftmaxCrossEntropyOfHugeLogitsIsFinite) {
  const std::vector<float> outputs = {3e38F, -3e38F, 0, -1000, 1000, 999};
  std::vector<float> gradient(6);
  const double loss = SoftmaxCrossEntropy().forward_backward({outputs.data(), 2, 3}, std::vector<uint8_t>{0, 2},
                                                             {gradient.data(), 2, 3});
  EXPECT_NEAR(loss, std::log(1 + std::exp(1.0)), 1e-6);
  for (float slope : gradient) EXPECT_TRUE(std::isfinite(slope));
}

TEST(Layers, CountCorrectTakesTheFirstOfEquals) {
  const std::vector<float> outputs = {1, 1, 0, 0, 1, 1, 0, 0, 2};
  EXPECT_EQ(count_correct({outputs.data(), 3, 3}, std::vector<uint8_t>{0, 2, 2}), 2U);
}

TEST(Model, RefusesLayersThatDoNotFit) {
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(std::make_unique<Linear>("a", 4, 3));
  layers.push_back(std::make_unique<Gelu>(2));
  expect_error([&] { Model model(std::move(layers)); }, ErrorCode::kInvalidArgument,
               {"layer 1 (gelu) takes 2 values, but layer 0 (linear) gives 3"});
}

TEST(Model, NamesShapesAndLayout) {
  Model model = make_mlp(std::vector<size_t>{784, 512, 256, 10});
  std::vector<std::string> names;
  for (const Parameter* parameter : model.parameters().all()) {
    names.push_back(parameter->name);
    EXPECT_EQ(parameter->offset % 16, 0U) << parameter->name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}));
  EXPECT_EQ(model.parameter_count(), 784U * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10);
  EXPECT_EQ(model.layers().size(), 5U);
}

TEST(Model, FirstValuesDependOnTheSeedAlone) {
  const std::vector<size_t> widths = {9, 8, 3};
  Model one = make_mlp(widths), same = make_mlp(widths), other = make_mlp(widths);
  one.initialise(1);
  same.initialise(1);
  other.initialise(2);
  auto hash = [](Model& model) { return hash_of(model.parameters().values(), model.parameters().flat_size()); };
  EXPECT_EQ(hash(one), hash(same));
  EXPECT_NE(hash(one), hash(other));
  EXPECT_NE(one.parameters().all()[0]->value[0], one.parameters().all()[2]->value[0]);
}

}  // namespace
}  // namespace peal::trainer
