// 16- and 8-bit floats against their definition, by conversions of the tests' own (tests/values.h).
#include "base/float_formats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/values.h"

namespace peal {
namespace {

using testing::decode_small;

struct Shape {
  int exponent, mantissa;
  bool finite;
  uint32_t patterns() const { return 1U << (1 + exponent + mantissa); }
  double decode(uint32_t bits) const { return decode_small(bits, exponent, mantissa, finite); }
  // The first pattern that is no number.
  uint32_t beyond() const { return finite ? (1U << (exponent + mantissa)) - 1 : ((1U << exponent) - 1) << mantissa; }
};

template <class Format>
struct ShapeOf;
template <>
struct ShapeOf<Float16> {
  static constexpr Shape kShape = {5, 10, false};
};
template <>
struct ShapeOf<Bfloat16> {
  static constexpr Shape kShape = {8, 7, false};
};
template <>
struct ShapeOf<Float8E4m3> {
  static constexpr Shape kShape = {4, 3, true};
};
template <>
struct ShapeOf<Float8E5m2> {
  static constexpr Shape kShape = {5, 2, false};
};

template <class Format>
class Formats : public ::testing::Test {
 protected:
  static constexpr Shape kShape = ShapeOf<Format>::kShape;
};
using AllFormats = ::testing::Types<Float16, Bfloat16, Float8E4m3, Float8E5m2>;
TYPED_TEST_SUITE(Formats, AllFormats);

TYPED_TEST(Formats, EveryPatternDecodesByTheDefinitionAndSurvives) {
  for (uint32_t bits = 0; bits < this->kShape.patterns(); bits++) {
    const double exact = this->kShape.decode(bits);
    const float value = TypeParam::to_float(bits);
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(this->kShape.decode(TypeParam::of_float(value)))) << bits;
    } else {
      ASSERT_EQ(value, exact) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(exact)) << bits;
      ASSERT_EQ(TypeParam::of_float(value), bits);
    }
  }
}

// Between each two neighbours: the middle goes to the even one, and all float32 up to it to the nearer one.
TYPED_TEST(Formats, RoundToNearestEvenAtEveryTie) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (uint32_t low = 0; low + 1 < this->kShape.beyond(); low++) {
    const double below = this->kShape.decode(low), above = this->kShape.decode(low + 1);
    const auto middle = static_cast<float>((below + above) / 2);
    if (middle != (below + above) / 2) continue;  // bfloat16's smallest: between two subnormal float32
    ASSERT_EQ(TypeParam::of_float(middle), low + low % 2) << middle;
    ASSERT_EQ(TypeParam::of_float(std::nextafter(middle, 0.0F)), low) << middle;
    ASSERT_EQ(TypeParam::of_float(std::nextafter(middle, infinity)), low + 1) << middle;
    const uint32_t negative = TypeParam::of_float(-middle);
    ASSERT_EQ(negative, (low + low % 2) | this->kShape.patterns() / 2) << middle;
  }
}

TYPED_TEST(Formats, BeyondTheLargestNumber) {
  const uint32_t beyond = this->kShape.beyond();  // infinity, or NaN where there is none
  const double largest = this->kShape.decode(beyond - 1), before = this->kShape.decode(beyond - 2);
  const auto tie = static_cast<float>(largest + (largest - before) / 2);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(TypeParam::of_float(std::nextafter(tie, 0.0F)), beyond - 1);
  EXPECT_EQ(TypeParam::of_float(tie), (beyond - 1) % 2 == 0 ? beyond - 1 : beyond) << "to even";
  EXPECT_EQ(TypeParam::of_float(std::nextafter(tie, infinity)), beyond);
  EXPECT_EQ(TypeParam::of_float(infinity), beyond);
  EXPECT_EQ(TypeParam::of_float(-infinity), beyond | this->kShape.patterns() / 2);
}

TYPED_TEST(Formats, NansStayNans) {
  for (const uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU, 0x7f80ffffU}) {
    EXPECT_TRUE(std::isnan(this->kShape.decode(TypeParam::of_float(float_of_bits(bits))))) << std::hex << bits;
  }
}

TEST(Formats, AreConstantExpressions) {
  static_assert(Float16::of_float(1.0F) == 0x3c00 && Float16::to_float(0x3c00) == 1.0F);
  static_assert(Float8E4m3::of_float(448) == 0x7e && Float8E4m3::of_float(465) == 0x7f);
  static_assert(Float8E5m2::to_float(1) == 1.0F / 65536);
  static_assert(bfloat16_of_float(1.00390625F) == 0x3f80 && float_of_bfloat16(0x3f80) == 1.0F);
}

}  // namespace
}  // namespace peal
