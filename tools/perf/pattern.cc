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

bool is_unsigned(DataType type) {
  return type == DataType::kUint8 || type == DataType::kUint16 || type == DataType::kUint32 ||
         type == DataType::kUint64;
}

// A bijection of 64-bit words whose output looks random (the finalizer of splitmix64; Steele, Lea, Flood 2014).
uint64_t mixed(uint64_t word) {
  word += 0x9e3779b97f4a7c15;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

uint64_t element_bits(size_t block, size_t i) { return mixed(block * Tile::kPeriod + i); }

}  // namespace

Tile::Tile(DataType type, const std::function<void(size_t, void*)>& put_element) : type_(type) {
  const size_t element = size_of(type), bytes = kPeriod * element;
  bytes_.resize(bytes * std::max<size_t>(1, kTileBytes / bytes));
  for (size_t i = 0; i < kPeriod; i++) put_element(i, &bytes_[i * element]);
  for (size_t at = bytes; at < bytes_.size(); at += bytes) std::memcpy(&bytes_[at], bytes_.data(), bytes);
}

Tile Tile::of_numbers(DataType type, const std::function<double(size_t)>& value) {
  return Tile(type, [&](size_t i, void* at) { encode(type, value(i), at); });
}

Tile Tile::of_bits(DataType type, const std::function<uint64_t(size_t)>& bits) {
  return Tile(type, [&](size_t i, void* at) {
    const uint64_t word = bits(i);
    std::memcpy(at, &word, size_of(type));
  });
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

// A term of a sum. Where a type counts far enough every rank has one, of 1 to 8. The narrow types (e5m2 counts to 8,
// int8 to 127) get one of up to 1 from one rank and of up to 3 from another, so that even doubled ones stay below 9.
double Pattern::term(int rank, uint64_t bits) const {
  // Whole averages would all come out near one number without this; four times 31 is still an int8.
  const double unit = op_ == ReduceOp::kAvg && !is_floating(type_) ? 31 : 1;
  const double sign = is_unsigned(type_) || bits % 2 == 0 ? unit : -unit;
  if (size_of(type_) >= 4) return sign * static_cast<double>(1 + mixed(bits + static_cast<uint64_t>(rank)) % 8);
  const uint64_t first = rank == one_rank(bits) ? (bits >> 1) % 2 : 0;
  const uint64_t second = rank == another_rank(bits) ? (bits >> 2) % 4 : 0;
  return first + second == 0 ? 0 : sign * static_cast<double>(first + second);  // no minus zero
}

// A factor of a product: up to 2 from one rank and up to 3 from another.
double Pattern::factor_of_product(int rank, uint64_t bits) const {
  const double sign = is_unsigned(type_) || bits % 2 == 0 ? 1 : -1;
  const double first = rank == one_rank(bits) ? sign * static_cast<double>(1 + (bits >> 1) % 2) : 1;
  return first * (rank == another_rank(bits) ? static_cast<double>(1 + (bits >> 2) % 3) : 1);
}

// For min and max: one rank has the extreme, the others something beyond it or equal, all of -8..8 or 0..16.
double Pattern::level(int rank, uint64_t bits) const {
  const uint64_t extreme = (bits >> 1) % 17, room = op_ == ReduceOp::kMin ? 16 - extreme : extreme;
  const uint64_t away = rank == one_rank(bits) ? 0 : mixed(bits + static_cast<uint64_t>(rank)) % (room + 1);
  const uint64_t level = op_ == ReduceOp::kMin ? extreme + away : extreme - away;
  return static_cast<double>(level) - (is_unsigned(type_) ? 0 : 8);
}

double Pattern::value(int rank, uint64_t bits) const {
  switch (op_) {
    case ReduceOp::kProd:
      return factor_of_product(rank, bits);
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return level(rank, bits);
    default:
      return term(rank, bits);
  }
}

double Pattern::reduced_value(uint64_t bits) const {
  double result = value(0, bits) * (op_ == ReduceOp::kPremulSum ? factor(0) : 1);
  for (int rank = 1; rank < ranks_; rank++) {
    const double next = value(rank, bits);
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
  if (!reduces_) {
    const uint64_t from = mixed(static_cast<uint64_t>(rank));
    return Tile::of_bits(type_, [=](size_t i) { return mixed(from + element_bits(block, i)); });
  }
  return Tile::of_numbers(type_, [=, this](size_t i) { return value(rank, element_bits(block, i)); });
}

Tile Pattern::reduced(size_t block) const {
  return Tile::of_numbers(type_, [=, this](size_t i) { return reduced_value(element_bits(block, i)); });
}

int Pattern::tolerance_ulps() const { return reduces_ && op_ == ReduceOp::kAvg && is_floating(type_) ? 2 : 0; }

}  // namespace peal::perf
