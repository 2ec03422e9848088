#include "tandem/core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>

namespace tandem {
namespace {

// The two formats by their parameters; everything expected is computed from these in double.
struct HalfFormat {
  using T = Half;
  static constexpr int kMantissa = 10, kMinExponent = -14;
  static constexpr double kMax = 65504;
};
struct BFloat16Format {
  using T = BFloat16;
  static constexpr int kMantissa = 7, kMinExponent = -126;
  static constexpr double kMax = 0x1.fep127;
};

/// The value of 16 bits, by the definition of the format.
template <class F>
double value_of(uint16_t bits) {
  const int exponent_bits = 15 - F::kMantissa;
  const int exponent = (bits >> F::kMantissa) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << F::kMantissa) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, F::kMinExponent - F::kMantissa);
  return sign *
         std::ldexp((1 << F::kMantissa) + mantissa, F::kMinExponent + exponent - 1 - F::kMantissa);
}

/// The nearest value of the format, ties to even, computed without looking at bits.
template <class F>
double rounded(float f) {
  if (std::isnan(f) || std::isinf(f) || f == 0) return f;
  const int exponent = std::max(std::ilogb(f), F::kMinExponent);
  const double step = std::ldexp(1.0, exponent - F::kMantissa);
  const double result = std::nearbyint(f / step) * step;
  if (std::abs(result) > F::kMax) return std::copysign(std::numeric_limits<double>::infinity(), f);
  return std::copysign(result, f);
}

template <class F>
struct Float16 : ::testing::Test {};
using Formats = ::testing::Types<HalfFormat, BFloat16Format>;
TYPED_TEST_SUITE(Float16, Formats);

TYPED_TEST(Float16, AllValuesConvertToFloatAndBack) {
  using T = typename TypeParam::T;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const T h = T::from_bits(static_cast<uint16_t>(bits));
    const float f = h;
    const double expected = value_of<TypeParam>(h.bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(f)) << std::hex << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(f)))) << std::hex << bits;
      ASSERT_EQ(std::signbit(f), (bits & 0x8000) != 0);
      continue;
    }
    ASSERT_EQ(f, expected) << std::hex << bits;
    ASSERT_EQ(std::signbit(f), std::signbit(expected)) << std::hex << bits;
    ASSERT_EQ(T(f).bits, bits);
  }
}

template <class F>
void check_rounding(float f) {
  using T = typename F::T;
  const float got = T(f);
  const double expected = rounded<F>(f);
  if (std::isnan(f)) {
    ASSERT_TRUE(std::isnan(got));
    return;
  }
  ASSERT_EQ(got, expected) << f;
  ASSERT_EQ(std::signbit(got), std::signbit(f)) << f;
}

// Around every value and every midpoint between neighbours: the float on it, just below, just
// above.
TYPED_TEST(Float16, RoundsToNearestEvenAtEveryBoundary) {
  for (uint32_t bits = 0; bits < 0x8000; ++bits) {
    const double value = value_of<TypeParam>(static_cast<uint16_t>(bits));
    if (std::isnan(value) || std::isinf(value)) break;
    double next = value_of<TypeParam>(static_cast<uint16_t>(bits + 1));
    if (std::isinf(next)) next = value + (value - value_of<TypeParam>(bits - 1));
    for (double point : {value, (value + next) / 2}) {
      const float f = static_cast<float>(point);
      for (float g : {f, std::nextafter(f, -INFINITY), std::nextafter(f, INFINITY)}) {
        check_rounding<TypeParam>(g);
        check_rounding<TypeParam>(-g);
      }
    }
  }
}

TYPED_TEST(Float16, RoundsRandomFloats) {
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    check_rounding<TypeParam>(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
}

TYPED_TEST(Float16, SpecialValues) {
  using T = typename TypeParam::T;
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(T(inf)), inf);
  EXPECT_EQ(static_cast<float>(T(-inf)), -inf);
  EXPECT_EQ(T(-0.0f).bits, 0x8000);
  EXPECT_EQ(T().bits, 0);
  // A NaN whose payload sits in the bits that are cut off must not become infinity.
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(static_cast<float>(T(std::bit_cast<float>(0xffffffffu)))));
  EXPECT_EQ(static_cast<float>(T(std::numeric_limits<float>::max())), inf);
}

TYPED_TEST(Float16, Limits) {
  using T = typename TypeParam::T;
  using L = std::numeric_limits<T>;
  EXPECT_EQ(static_cast<float>(L::max()), TypeParam::kMax);
  EXPECT_EQ(static_cast<float>(L::lowest()), -TypeParam::kMax);
  EXPECT_EQ(static_cast<float>(L::min()), std::ldexp(1.0, TypeParam::kMinExponent));
  EXPECT_EQ(static_cast<float>(L::epsilon()), std::ldexp(1.0, -TypeParam::kMantissa));
  EXPECT_TRUE(std::isinf(static_cast<float>(L::infinity())));
  EXPECT_TRUE(std::isnan(static_cast<float>(L::quiet_NaN())));
}

TYPED_TEST(Float16, ConvertsFromOtherNumbersAndPrints) {
  using T = typename TypeParam::T;
  EXPECT_EQ(static_cast<float>(T(3)), 3.0f);
  EXPECT_EQ(static_cast<float>(T(int64_t{-7})), -7.0f);
  EXPECT_EQ(static_cast<float>(T(0.5)), 0.5f);
  EXPECT_EQ(static_cast<float>(T(true)), 1.0f);
  std::ostringstream out;
  out << T(1.5f);
  EXPECT_EQ(out.str(), "1.5");
}

template <class F>
void check_limits() {
  using Limits = std::numeric_limits<typename F::T>;
  static_assert(Limits::has_infinity && Limits::has_quiet_NaN && Limits::has_signaling_NaN);
  static_assert(Limits::is_signed && !Limits::is_exact && Limits::is_iec559);
  EXPECT_EQ(Limits::digits, F::kMantissa + 1);
  EXPECT_EQ(Limits::min_exponent, F::kMinExponent + 1);
  EXPECT_EQ(std::ldexp(1.0, Limits::max_exponent) * (1 - std::ldexp(1.0, -Limits::digits)),
            F::kMax);
  EXPECT_EQ(Limits::digits10, static_cast<int>(F::kMantissa * std::log10(2.0)));
  EXPECT_EQ(Limits::max_digits10,
            static_cast<int>(std::ceil(1 + Limits::digits * std::log10(2.0))));
  EXPECT_EQ(Limits::max_exponent10, static_cast<int>(std::log10(F::kMax)));
  EXPECT_EQ(Limits::min_exponent10, static_cast<int>(F::kMinExponent * std::log10(2.0)));
  EXPECT_EQ(Limits::denorm_min(), std::ldexp(1.0f, F::kMinExponent - F::kMantissa));
  EXPECT_EQ(Limits::round_error(), 0.5f);
  EXPECT_TRUE(std::isnan(static_cast<float>(Limits::quiet_NaN())));
  EXPECT_TRUE(std::isnan(static_cast<float>(Limits::signaling_NaN())));
  // Quiet ones have the mantissa's first bit.
  EXPECT_TRUE(Limits::quiet_NaN().bits >> (F::kMantissa - 1) & 1);
  EXPECT_FALSE(Limits::signaling_NaN().bits >> (F::kMantissa - 1) & 1);
}
TEST(HalfFormats, Limits) {
  check_limits<HalfFormat>();
  check_limits<BFloat16Format>();
}

}  // namespace
}  // namespace tandem
