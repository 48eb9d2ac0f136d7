#include "tools/perf/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/float_formats.h"

namespace peal::perf {
namespace {

constexpr size_t kTileBytes = 16 << 10;  // stays in the L1 cache while buffers are compared with it

template <class T>
void put(void* at, T value) {
  std::memcpy(at, &value, sizeof(value));
}

template <class T>
T get(const void* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

void encode(DataType type, double value, void* at) {
  switch (type) {
    case DataType::kInt8:
      return put(at, static_cast<int8_t>(value));
    case DataType::kUint8:
      return put(at, static_cast<uint8_t>(value));
    case DataType::kInt16:
      return put(at, static_cast<int16_t>(value));
    case DataType::kUint16:
      return put(at, static_cast<uint16_t>(value));
    case DataType::kInt32:
      return put(at, static_cast<int32_t>(value));
    case DataType::kUint32:
      return put(at, static_cast<uint32_t>(value));
    case DataType::kInt64:
      return put(at, static_cast<int64_t>(value));
    case DataType::kUint64:
      return put(at, static_cast<uint64_t>(value));
    case DataType::kFloat16:
      return put(at, static_cast<uint16_t>(Float16::of_float(static_cast<float>(value))));
    case DataType::kBfloat16:
      return put(at, bfloat16_of_float(static_cast<float>(value)));
    case DataType::kFloat32:
      return put(at, static_cast<float>(value));
    case DataType::kFloat64:
      return put(at, value);
    case DataType::kFloat8E4m3:
      return put(at, static_cast<uint8_t>(Float8E4m3::of_float(static_cast<float>(value))));
    case DataType::kFloat8E5m2:
      return put(at, static_cast<uint8_t>(Float8E5m2::of_float(static_cast<float>(value))));
  }
}

// The bits as a whole number: neighbours of a non-negative float differ by one.
uint64_t bits_of(DataType type, const void* at) {
  switch (size_of(type)) {
    case 1:
      return get<uint8_t>(at);
    case 2:
      return get<uint16_t>(at);
    case 4:
      return get<uint32_t>(at);
    default:
      return get<uint64_t>(at);
  }
}

}  // namespace

Tile::Tile(DataType type, size_t period, const std::function<double(size_t)>& value) : type_(type) {
  const size_t element = size_of(type), bytes = period * element;
  bytes_.resize(bytes * std::max<size_t>(1, kTileBytes / bytes));
  for (size_t i = 0; i < period; i++) encode(type, value(i), &bytes_[i * element]);
  for (size_t at = bytes; at < bytes_.size(); at += bytes) std::memcpy(&bytes_[at], bytes_.data(), bytes);
}

void Tile::fill(void* buffer, size_t count) const {
  const size_t bytes = count * size_of(type_);
  for (size_t at = 0; at < bytes; at += bytes_.size()) {
    std::memcpy(static_cast<unsigned char*>(buffer) + at, bytes_.data(), std::min(bytes_.size(), bytes - at));
  }
}

size_t Tile::count_wrong(const void* buffer, size_t count, int tolerance_ulps) const {
  const size_t element = size_of(type_), bytes = count * element;
  const auto* got = static_cast<const unsigned char*>(buffer);
  size_t wrong = 0;
  for (size_t at = 0; at < bytes; at += bytes_.size()) {
    const size_t length = std::min(bytes_.size(), bytes - at);
    if (std::memcmp(got + at, bytes_.data(), length) == 0) continue;
    for (size_t i = 0; i < length; i += element) {
      const uint64_t a = bits_of(type_, got + at + i), b = bits_of(type_, &bytes_[i]);
      wrong += (a > b ? a - b : b - a) > static_cast<uint64_t>(tolerance_ulps);
    }
  }
  return wrong;
}

double Pattern::value(int rank, size_t at) const {
  const auto n = static_cast<size_t>(ranks_), r = static_cast<size_t>(rank);
  if (!reduces_) return static_cast<double>((3 * r + at) % 8);
  switch (op_) {
    case ReduceOp::kProd:
      return at % n == r ? 2 : 1;
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return static_cast<double>((5 * r + at) % 8);
    default:
      return at % n == r || (at + 1) % n == r ? 1 : 0;
  }
}

double Pattern::reduced_value(size_t at) const {
  double result = value(0, at) * (op_ == ReduceOp::kPremulSum ? factor(0) : 1);
  for (int rank = 1; rank < ranks_; rank++) {
    const double next = value(rank, at);
    if (op_ == ReduceOp::kProd) result *= next;
    if (op_ == ReduceOp::kMin) result = std::min(result, next);
    if (op_ == ReduceOp::kMax) result = std::max(result, next);
    if (op_ == ReduceOp::kSum || op_ == ReduceOp::kAvg) result += next;
    if (op_ == ReduceOp::kPremulSum) result += next * factor(rank);
  }
  if (op_ != ReduceOp::kAvg) return result;
  return is_floating(type_) ? result / ranks_ : std::trunc(result / ranks_);
}

Tile Pattern::input(int rank, size_t block) const {
  return Tile(type_, period(), [=, this](size_t i) { return value(rank, 7 * block + i); });
}

Tile Pattern::reduced(size_t block) const {
  return Tile(type_, period(), [=, this](size_t i) { return reduced_value(7 * block + i); });
}

}  // namespace peal::perf
