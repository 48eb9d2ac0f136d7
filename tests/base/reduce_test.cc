// The reduction kernels of every instruction set that this machine has, against plain loops.
#include "base/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/float_formats.h"
#include "base/reduce_table.h"
#include "tests/values.h"

namespace peal {
namespace {

using testing::decode;
using testing::encode;

class Kernels : public ::testing::TestWithParam<const ReduceTable*> {
 protected:
  const TypeKernels& of(DataType type) const { return GetParam()->types[static_cast<size_t>(type)]; }
};
INSTANTIATE_TEST_SUITE_P(Sets, Kernels, ::testing::ValuesIn(usable_reduce_tables()),
                         [](const auto& test) { return test.param->name; });

// Arithmetic as the header promises it: 8-, 16- and 32-bit floats in float, the rest in the type itself (small values).
double combine(DataType type, ReduceOp op, double a, double b) {
  const bool in_float = is_floating(type) && type != DataType::kFloat64;
  switch (op) {
    case ReduceOp::kProd:
      return in_float ? static_cast<float>(a) * static_cast<float>(b) : a * b;
    case ReduceOp::kMin:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmin(a, b);
    case ReduceOp::kMax:
      return std::isnan(a) || std::isnan(b) ? std::nan("") : std::fmax(a, b);
    default:
      return in_float ? static_cast<float>(a) + static_cast<float>(b) : a + b;
  }
}

double random_value(std::mt19937& random, DataType type) {
  if (!is_floating(type)) return static_cast<double>(random() % 4);
  return testing::as_held(type, std::uniform_real_distribution<double>(-1.1, 1.1)(random));
}

using Buffer = std::vector<unsigned char>;

struct Fold {
  DataType type;
  ReduceOp op;
  size_t sources, count, misalignment;
  int dst_is;  // this source, or -1: a buffer of its own
};

void check_fold(const TypeKernels& kernels, const Fold& fold, std::mt19937& random) {
  const size_t element = size_of(fold.type);
  std::vector<Buffer> buffers(fold.sources + 1, Buffer(fold.count * element + 64));
  std::vector<double> expected(fold.count);
  std::vector<const void*> sources;
  for (size_t s = 0; s < fold.sources; s++) {
    unsigned char* data = buffers[s].data() + fold.misalignment;
    for (size_t i = 0; i < fold.count; i++) {
      const double value = random_value(random, fold.type);
      encode(fold.type, value, data + i * element);
      expected[i] = s == 0 ? value : combine(fold.type, fold.op, expected[i], value);
    }
    sources.push_back(data);
  }
  Buffer& target = buffers[fold.dst_is < 0 ? fold.sources : static_cast<size_t>(fold.dst_is)];
  unsigned char* dst = target.data() + fold.misalignment;
  const unsigned char after = dst[fold.count * element];
  kernels.fold[static_cast<size_t>(fold.op)](dst, sources.data(), fold.sources, fold.count);
  for (size_t i = 0; i < fold.count; i++) {
    ASSERT_EQ(decode(fold.type, dst + i * element), testing::as_held(fold.type, expected[i]))
        << name_of(fold.type) << " " << name_of(fold.op) << " of " << fold.sources << " x " << fold.count
        << ", element " << i << ", dst is source " << fold.dst_is;
  }
  ASSERT_EQ(dst[fold.count * element], after) << "wrote beyond the end";
}

TEST_P(Kernels, FoldAnyNumberOfSourcesInOrder) {
  std::mt19937 random(3);
  for (const DataType type : all_data_types()) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd, ReduceOp::kMin, ReduceOp::kMax}) {
      for (const size_t sources : {2, 3, 4, 5, 8, 17}) {
        for (const size_t count : {1, 3, 7, 64, 511, 1100}) {
          const int last = static_cast<int>(sources) - 1;
          for (const int dst_is : {-1, 0, last / 2, last}) {
            check_fold(of(type), {type, op, sources, count, random() % 3, dst_is}, random);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(Kernels, ANanAnywhereGivesANan) {
  for (const DataType type : all_data_types()) {
    if (!is_floating(type)) continue;
    for (const size_t op : {0, 1, 2, 3}) {
      for (const size_t where : {0, 1, 2}) {
        unsigned char values[3][8 * 40], result[8 * 40];
        for (size_t s = 0; s < 3; s++) {
          for (size_t i = 0; i < 40; i++) encode(type, 1, values[s] + i * size_of(type));
        }
        const unsigned char nan_bytes[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};  // in every format
        std::memcpy(values[where] + 5 * size_of(type), nan_bytes, size_of(type));
        const void* sources[] = {values[0], values[1], values[2]};
        of(type).fold[op](result, sources, 3, 40);
        for (size_t i = 0; i < 40; i++) {
          ASSERT_EQ(std::isnan(decode(type, result + i * size_of(type))), i == 5)
              << name_of(type) << " operation " << op << " NaN in source " << where << " element " << i;
        }
      }
    }
  }
}

TEST_P(Kernels, IntegersWrap) {
  const int32_t a[] = {std::numeric_limits<int32_t>::max()}, b[] = {1};
  const void* sources[] = {a, b};
  int32_t result = 0;
  of(DataType::kInt32).fold[0](&result, sources, 2, 1);
  EXPECT_EQ(result, std::numeric_limits<int32_t>::min());
  const int8_t c[] = {100}, d[] = {100};
  const void* small[] = {c, d};
  int8_t small_result = 0;
  of(DataType::kInt8).fold[0](&small_result, small, 2, 1);
  EXPECT_EQ(small_result, static_cast<int8_t>(200 - 256));
}

TEST_P(Kernels, ScaleAndDivide) {
  for (const DataType type : all_data_types()) {
    std::vector<unsigned char> values(600 * size_of(type)), result(values.size());
    for (size_t i = 0; i < 600; i++) encode(type, static_cast<double>(i % 8), values.data() + i * size_of(type));
    of(type).scale(result.data(), values.data(), 1.5, 600);
    for (size_t i = 0; i < 600; i++) {
      ASSERT_EQ(decode(type, result.data() + i * size_of(type)),
                testing::as_held(type, 1.5 * static_cast<double>(i % 8)))
          << name_of(type);
    }
    of(type).divide(values.data(), values.data(), 3, 600);
    for (size_t i = 0; i < 600; i++) {
      const double exact = static_cast<double>(i % 8) / 3;
      const double in_float =
          type == DataType::kFloat64 ? exact : static_cast<double>(static_cast<float>(i % 8) / 3.0F);
      ASSERT_EQ(decode(type, values.data() + i * size_of(type)),
                testing::as_held(type, is_floating(type) ? in_float : exact))
          << name_of(type);
    }
  }
}

TEST(Divide, ALargeInt64IsExact) {
  const int64_t value = std::numeric_limits<int64_t>::max() - 1;
  int64_t result = 0;
  divide(DataType::kInt64, &result, &value, 2, 1);
  EXPECT_EQ(result, value / 2);
  const int64_t negative = -7;
  divide(DataType::kInt64, &result, &negative, 2, 1);
  EXPECT_EQ(result, -3) << "toward zero";
}

// ---- Formats ----

TEST(Formats, EverySmallPatternDecodesByTheDefinition) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const double half = testing::decode_small(bits, 5, 10, false), brain = testing::decode_small(bits, 8, 7, false);
    ASSERT_TRUE(Float16::to_float(bits) == half || std::isnan(half)) << bits;
    ASSERT_TRUE(float_of_bfloat16(static_cast<uint16_t>(bits)) == brain || std::isnan(brain)) << bits;
    ASSERT_EQ(std::isnan(Float16::to_float(bits)), std::isnan(half)) << bits;
  }
  for (uint32_t bits = 0; bits < 256; bits++) {
    const double e4m3 = testing::decode_small(bits, 4, 3, true), e5m2 = testing::decode_small(bits, 5, 2, false);
    ASSERT_TRUE(Float8E4m3::to_float(bits) == e4m3 || std::isnan(e4m3)) << bits;
    ASSERT_TRUE(Float8E5m2::to_float(bits) == e5m2 || std::isnan(e5m2)) << bits;
  }
}

template <class Format>
void check_rounding(int exponent, int mantissa, bool finite) {
  std::mt19937 random(5);
  const double largest = testing::decode_small((1U << (exponent + mantissa)) - (finite ? 2U : (1U << mantissa) + 1U),
                                               exponent, mantissa, finite);
  for (int i = 0; i < 200000; i++) {
    const float value = std::ldexp(std::uniform_real_distribution<float>(-2, 2)(random),
                                   static_cast<int>(random() % (1U << exponent)) - (1 << (exponent - 1)) - mantissa);
    if (std::fabs(value) > largest) continue;
    ASSERT_EQ(Format::of_float(value), testing::encode_small(value, exponent, mantissa, finite)) << value;
  }
}

TEST(Formats, RoundToNearestEven) {
  check_rounding<Float16>(5, 10, false);
  check_rounding<Float8E4m3>(4, 3, true);
  check_rounding<Float8E5m2>(5, 2, false);
  EXPECT_EQ(bfloat16_of_float(1.00390625F), 0x3f80) << "a tie, to even";
  EXPECT_EQ(bfloat16_of_float(1.01171875F), 0x3f82) << "a tie, to even";
}

TEST(Formats, OverflowAndNan) {
  EXPECT_EQ(Float16::of_float(65520), 0x7c00U) << "rounds to infinity";
  EXPECT_EQ(Float16::of_float(65519), 0x7bffU);
  EXPECT_EQ(Float8E4m3::of_float(1e9F), 0x7fU) << "no infinities: NaN";
  EXPECT_EQ(Float8E4m3::of_float(448), 0x7eU);
  EXPECT_EQ(Float8E5m2::of_float(1e9F), 0x7cU);
  EXPECT_TRUE(std::isnan(float_of_bfloat16(bfloat16_of_float(float_of_bits(0x7f800001)))));
  EXPECT_TRUE(std::isnan(Float16::to_float(Float16::of_float(std::nanf("")))));
}

// ---- Names ----

TEST(Names, ParseBack) {
  for (const ReduceOp op : all_reduce_ops()) EXPECT_EQ(parse_reduce_op(name_of(op)), op);
  for (const DataType type : all_data_types()) EXPECT_EQ(parse_data_type(name_of(type)), type);
  EXPECT_EQ(parse_data_type("float32"), DataType::kFloat32);
  EXPECT_THROW(parse_data_type("flaot"), Error);
  EXPECT_THROW(parse_reduce_op("plus"), Error);
}

}  // namespace
}  // namespace peal
