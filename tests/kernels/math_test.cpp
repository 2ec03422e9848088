// Accuracy of the float32 functions against the C library in double precision: within 2 units in
// the last place from one end of the range to the other, for every instruction set the machine has.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)  // as the library
#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "tandem/kernels/map.h"
#include "tandem/kernels/map_table.h"

namespace tandem::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr double kMaxUlp = 2.0;

/// Distance of `got` from the exact result in units of the last place that a float has there.
double ulps(float got, double exact) {
  const float rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (std::isinf(rounded) || std::isinf(got)) {
    if (rounded == got) return 0;
    // Overflow may come one step early or late.
    const double edge = std::numeric_limits<float>::max();
    return std::fabs(exact) >= edge * (1 - 1e-6) && std::signbit(got) == std::signbit(rounded) &&
                   std::fabs(got) >= edge * (1 - 1e-6)
               ? 1
               : kInfinity;
  }
  if (exact == 0 && got == 0) return std::signbit(exact) == std::signbit(got) ? 0 : kInfinity;
  int exponent;
  std::frexp(exact, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / unit;
}

/// Every 997th bit pattern of all floats, everything around the specials, and dense stretches near
/// 1, multiples of pi/4 and the ends of the exponential's range.
const std::vector<float>& all_floats() {
  static const std::vector<float> samples = [] {
    std::vector<float> v;
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 997)
      v.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    std::vector<float> centres = {0,           0x1p-126f,   1,      2,      0.5f,    0.625f,
                                  1.41421356f, 0.70710678f, 88.72f, 87.34f, 103.97f, 104,
                                  9.01f,       10.05f,      3.92f,  20,     128,     126,
                                  149,         150,         16,     1e10f,  0x1p20f, kInfinity};
    for (int k = 1; k <= 64; ++k) centres.push_back(static_cast<float>(k * 0.78539816339744830962));
    for (float c : centres) {
      for (float s : {c, -c}) {
        const auto bits = static_cast<int64_t>(std::bit_cast<uint32_t>(s));
        for (int64_t d = -300; d <= 300; ++d) {
          const int64_t b = bits + d;
          if (b >= 0 && b < (int64_t{1} << 32))
            v.push_back(std::bit_cast<float>(static_cast<uint32_t>(b)));
        }
      }
    }
    for (float s : {kNotANumber, -kNotANumber, kInfinity, -kInfinity, 0.0f, -0.0f}) v.push_back(s);
    return v;
  }();
  return samples;
}

using Table = std::vector<std::pair<const char*, InnerTable>>;
/// The kernels of each instruction set of this machine.
const Table& tables() {
  static const Table all = [] {
    Table t;
    for (int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
      const int64_t target = left & -left;
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      InnerTable table;
      enter_arithmetic(table);
      enter_compare(table);
      enter_exponential(table);
      enter_special(table);
      enter_activation(table);
      t.emplace_back(hwy::TargetName(target), table);
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
    return t;
  }();
  return all;
}

void check_unary(MapFn fn, double (*reference)(double), MapParams params = {}) {
  const std::vector<float>& x = all_floats();
  const auto n = static_cast<int64_t>(x.size());
  std::vector<double> exact(n);
  for (int64_t i = 0; i < n; ++i) exact[i] = reference(x[i]);
  for (const auto& [target, table] : tables()) {
    std::vector<float> got(n);
    const void* in[] = {x.data()};
    table.inner[static_cast<int>(fn)][kComputeF32](got.data(), in, n, 0, params);
    double worst = 0;
    float where = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double u = ulps(got[i], exact[i]);
      if (!(u <= worst)) worst = u, where = x[i];
    }
    EXPECT_LE(worst, kMaxUlp) << map_name(fn) << " on " << target << " at " << where << " ("
                              << std::hexfloat << where << ")";
  }
}

void check_binary(MapFn fn, double (*reference)(double, double)) {
  // Pairs of numbers of all sizes, and every special with every special.
  std::vector<float> x, y;
  const std::vector<float> special = {
      0,      -0.0f, 1,     -1,         2,          -2,          3,          -3,      0.5f,
      -0.5f,  2.5f,  -2.5f, kInfinity,  -kInfinity, kNotANumber, 1e-45f,     -1e-45f, 1e38f,
      -1e38f, 1e30f, 0.1f,  1.0000001f, 0.9999999f, 16777217.0f, 16777215.0f};
  for (float a : special)
    for (float b : special) x.push_back(a), y.push_back(b);
  uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
  };
  for (int i = 0; i < 500000; ++i) {
    x.push_back(std::bit_cast<float>(next()));
    y.push_back(std::bit_cast<float>(next()));
    // Moderate numbers, where most results are neither 0 nor infinite.
    const float a = std::ldexp(static_cast<float>(next()), static_cast<int>(next() % 40) - 52);
    const float b = std::ldexp(static_cast<float>(next()), static_cast<int>(next() % 20) - 45);
    x.push_back(a);
    y.push_back(next() & 1 ? b : -b);
    x.push_back(-a);
    y.push_back(static_cast<float>(static_cast<int>(next() % 41) - 20));
  }
  const auto n = static_cast<int64_t>(x.size());
  for (const auto& [target, table] : tables()) {
    std::vector<float> got(n);
    const void* in[] = {x.data(), y.data()};
    table.inner[static_cast<int>(fn)][kComputeF32](got.data(), in, n, 0, {});
    double worst = 0;
    int64_t where = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double u = ulps(got[i], reference(x[i], y[i]));
      if (!(u <= worst)) worst = u, where = i;
    }
    EXPECT_LE(worst, kMaxUlp) << map_name(fn) << " on " << target << " at (" << x[where] << ", "
                              << y[where] << "): " << got[where] << " for "
                              << reference(x[where], y[where]);
  }
}

double lgamma_of(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

#define TANDEM_ACCURATE(name, expression)                                    \
  TEST(Math, name) {                                                         \
    check_unary(MapFn::name, [](double x) -> double { return expression; }); \
  }
TANDEM_ACCURATE(exp, std::exp(x))
TANDEM_ACCURATE(exp2, std::exp2(x))
TANDEM_ACCURATE(expm1, std::expm1(x))
TANDEM_ACCURATE(log, std::log(x))
TANDEM_ACCURATE(log2, std::log2(x))
TANDEM_ACCURATE(log10, std::log10(x))
TANDEM_ACCURATE(log1p, std::log1p(x))
TANDEM_ACCURATE(sinh, std::sinh(x))
TANDEM_ACCURATE(cosh, std::cosh(x))
TANDEM_ACCURATE(tanh, std::tanh(x))
TANDEM_ACCURATE(asinh, std::asinh(x))
TANDEM_ACCURATE(acosh, std::acosh(x))
TANDEM_ACCURATE(atanh, std::atanh(x))
TANDEM_ACCURATE(sigmoid, sigmoid(x))
TANDEM_ACCURATE(sin, std::sin(x))
TANDEM_ACCURATE(cos, std::cos(x))
TANDEM_ACCURATE(tan, std::tan(x))
TANDEM_ACCURATE(asin, std::asin(x))
TANDEM_ACCURATE(acos, std::acos(x))
TANDEM_ACCURATE(atan, std::atan(x))
TANDEM_ACCURATE(erf, std::erf(x))
TANDEM_ACCURATE(erfc, std::erfc(x))
TANDEM_ACCURATE(sqrt, std::sqrt(x))
TANDEM_ACCURATE(rsqrt, 1 / std::sqrt(x))
TANDEM_ACCURATE(reciprocal, 1 / x)
TANDEM_ACCURATE(lgamma, lgamma_of(x))

TEST(Math, pow) { check_binary(MapFn::pow, std::pow); }
TEST(Math, atan2) { check_binary(MapFn::atan2, std::atan2); }
TEST(Math, hypot) { check_binary(MapFn::hypot, std::hypot); }

}  // namespace
}  // namespace tandem::kernels
