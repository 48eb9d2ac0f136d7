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

// ---- Conversions inside the kernels, which vector instructions do ----

// Every pattern of a 16- or 8-bit float, widened and narrowed again by a product with 1, in every place of a vector.
TEST_P(Kernels, EveryPatternOfSmallFloatsSurvives) {
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    const size_t element = size_of(type), patterns = size_t{1} << (8 * element);
    Buffer values(patterns * element), result(values.size());
    for (size_t i = 0; i < patterns; i++) std::memcpy(&values[i * element], &i, element);
    for (const size_t skipped : {0, 1, 5}) {
      const size_t count = patterns - skipped;
      of(type).scale(result.data(), &values[skipped * element], 1, count);
      for (size_t i = 0; i < count; i++) {
        const void *before = &values[(i + skipped) * element], *after = &result[i * element];
        if (std::isnan(decode(type, before))) {
          ASSERT_TRUE(std::isnan(decode(type, after))) << name_of(type) << " pattern " << i + skipped;
        } else {
          ASSERT_EQ(std::memcmp(before, after, element), 0) << name_of(type) << " pattern " << i + skipped;
        }
      }
    }
  }
}

// The small float nearest to `value`; infinity, or E4M3's NaN, from where rounding leaves the numbers.
double rounded(DataType type, double value) {
  const double first_beyond = type == DataType::kFloat16      ? 65520
                              : type == DataType::kBfloat16   ? std::ldexp(2 - std::ldexp(1, -8), 127)
                              : type == DataType::kFloat8E4m3 ? std::nextafter(464, 465)
                                                              : 61440;
  if (std::isnan(value)) return value;
  if (std::fabs(value) < first_beyond) return testing::as_held(type, value);
  return type == DataType::kFloat8E4m3 ? std::nan("") : std::copysign(HUGE_VAL, value);
}

// Products of two random patterns fall everywhere: subnormal, tied, overflowing.
TEST_P(Kernels, SmallFloatsRoundToNearestEven) {
  std::mt19937 random(11);
  for (const DataType type : {DataType::kFloat16, DataType::kBfloat16, DataType::kFloat8E4m3, DataType::kFloat8E5m2}) {
    const size_t element = size_of(type), count = 20000;
    Buffer a(count * element), b(a.size()), result(a.size());
    for (unsigned char& byte : a) byte = static_cast<unsigned char>(random());
    for (unsigned char& byte : b) byte = static_cast<unsigned char>(random());
    const void* sources[] = {a.data(), b.data()};
    of(type).fold[1](result.data(), sources, 2, count);
    for (size_t i = 0; i < count; i++) {
      const auto x = static_cast<float>(decode(type, &a[i * element]));
      const auto y = static_cast<float>(decode(type, &b[i * element]));
      const double expected = rounded(type, static_cast<double>(x * y));
      const double got = decode(type, &result[i * element]);
      ASSERT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected)))
          << name_of(type) << ": " << x << " * " << y << " gave " << got << ", not " << expected;
    }
  }
}

// ---- scale() at the ends of the integers ----

TEST_P(Kernels, ScaledIntegersStopAtTheEndsOf64Bits) {
  const int64_t values[] = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), -3, 5};
  int64_t result[4];
  of(DataType::kInt64).scale(result, values, 2.5, 4);
  EXPECT_THAT(result, ::testing::ElementsAre(values[0], values[1], -7, 12));
  const uint64_t natural[] = {std::numeric_limits<uint64_t>::max(), 7};
  uint64_t natural_result[2];
  of(DataType::kUint64).scale(natural_result, natural, 1, 2);
  EXPECT_THAT(natural_result, ::testing::ElementsAre(natural[0], 7));
  of(DataType::kUint64).scale(natural_result, natural, -1, 2);
  EXPECT_THAT(natural_result, ::testing::ElementsAre(0, 0));
}

TEST_P(Kernels, IntegerQuotientsAreExact) {
  std::mt19937 random(7);
  const auto check = [&](DataType type, auto zero) {
    using T = decltype(zero);
    std::vector<T> values(1000), result(1000);
    for (const int64_t divisor : {1, 2, 3, 7, 255, 65537, 2147483647}) {
      for (T& value : values) value = static_cast<T>(random());
      values[0] = std::numeric_limits<T>::max();
      values[1] = std::numeric_limits<T>::min();
      of(type).divide(result.data(), values.data(), divisor, values.size());
      for (size_t i = 0; i < values.size(); i++) {
        ASSERT_EQ(result[i], static_cast<T>(static_cast<int64_t>(values[i]) / divisor)) << values[i] << "/" << divisor;
      }
    }
  };
  check(DataType::kInt8, int8_t{});
  check(DataType::kUint8, uint8_t{});
  check(DataType::kInt16, int16_t{});
  check(DataType::kUint16, uint16_t{});
  check(DataType::kInt32, int32_t{});
  check(DataType::kUint32, uint32_t{});
}

// ---- The choice of an instruction set ----

TEST(Tables, TheWidestWithinTheLimit) {
  const std::vector<const ReduceTable*> usable = usable_reduce_tables();
  EXPECT_EQ(usable.back(), &reduce_table_portable());
  EXPECT_EQ(&widest_reduce_table(""), usable.front());
  EXPECT_EQ(&widest_reduce_table("portable"), &reduce_table_portable());
  for (const ReduceTable* table : usable) EXPECT_EQ(&widest_reduce_table(table->name), table);
}

TEST(Tables, PealSimdLowersIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: this one may have chosen already
  EXPECT_EXIT(
      {
        setenv("PEAL_SIMD", "portable", 1);
        std::exit(simd_in_use() == "portable" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// ---- reduce() itself ----

TEST(Reduce, OneSourceIsCopiedAndNoElementsAreNoWork) {
  const std::vector<float> source = {1, 2, 3};
  std::vector<float> result(3);
  const void* sources[] = {source.data()};
  reduce(DataType::kFloat32, ReduceOp::kSum, result.data(), sources, 3);
  EXPECT_EQ(result, source);
  const void* nothing[] = {nullptr, nullptr};
  reduce(DataType::kFloat32, ReduceOp::kSum, nullptr, nothing, 0);
  scale(DataType::kFloat32, nullptr, nullptr, 2, 0);
  divide(DataType::kFloat32, nullptr, nullptr, 2, 0);
}

TEST(Reduce, AveragesAndPremultipliedSumsCombineAsSums) {
  const std::vector<int32_t> a = {1, 2}, b = {5, 7};
  std::vector<int32_t> result(2);
  const void* sources[] = {a.data(), b.data()};
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kPremulSum}) {
    result = {0, 0};
    reduce(DataType::kInt32, op, result.data(), sources, 2);
    EXPECT_THAT(result, ::testing::ElementsAre(6, 9)) << name_of(op);
  }
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
