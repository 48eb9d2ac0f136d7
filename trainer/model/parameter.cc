#include "trainer/model/parameter.h"

#include <cstring>
#include <utility>

#include "trainer/math/random.h"

namespace peal::trainer {

namespace {

constexpr size_t kFloatsPerLine = 16;

size_t lay_out(std::span<Parameter* const> parameters) noexcept {
  size_t end = 0;
  for (Parameter* parameter : parameters) {
    parameter->offset = end;
    end += (parameter->size() + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
  }
  return end;
}

}  // namespace

ParameterSet::ParameterSet(std::vector<Parameter*> parameters)
    : parameters_(std::move(parameters)), values_(lay_out(parameters_)) {
  for (Parameter* parameter : parameters_) parameter->value = values_.data() + parameter->offset;
}

void ParameterSet::bind_gradients(float* flat) noexcept {
  for (Parameter* parameter : parameters_) parameter->gradient = flat + parameter->offset;
}

uint64_t hash_of(const float* data, size_t count) noexcept {
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, data + i, sizeof bits);
    hash = mix_bits((hash + 0x9E3779B97F4A7C15U) ^ bits);
  }
  return hash;
}

}  // namespace peal::trainer
