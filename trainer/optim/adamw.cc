#include "trainer/optim/adamw.h"

#include <cmath>

#include "trainer/math/vector_kernels.h"

namespace peal::trainer {

Adamw::Adamw(const ParameterSet& parameters, const AdamwOptions& options)
    : options_(options), m_(parameters.flat_size()), v_(parameters.flat_size()) {}

void Adamw::update(const Parameter& parameter, uint64_t step, double learning_rate, double divisor) noexcept {
  const auto t = static_cast<double>(step);
  const double decay = parameter.shape.size() >= 2 ? options_.weight_decay : 0;
  AdamwStep constants{};
  constants.divisor = static_cast<float>(divisor);
  constants.beta1 = static_cast<float>(options_.beta1);
  constants.beta2 = static_cast<float>(options_.beta2);
  constants.epsilon = static_cast<float>(options_.epsilon);
  constants.step_size = static_cast<float>(learning_rate / (1 - std::pow(options_.beta1, t)));
  constants.second_root = static_cast<float>(1 / std::sqrt(1 - std::pow(options_.beta2, t)));
  constants.shrink = static_cast<float>(1 - learning_rate * decay);
  vector_kernels().adamw(constants, parameter.gradient, parameter.value, m_.data() + parameter.offset,
                         v_.data() + parameter.offset, parameter.size());
}

}  // namespace peal::trainer
