// Bessel functions of order 0 and 1. Those of real argument are the C library's. The modified ones
// are a power series near zero, whose terms all have one sign, and the asymptotic series far out,
// whose smallest term there is below half a unit in the last place. K in between, where neither is
// precise, is its integral.
#include <cmath>
#include <limits>

#include "tandem/kernels/simd/lane_functions.h"

extern "C" {
double j0(double);
double j1(double);
double y0(double);
double y1(double);
}

namespace tandem::kernels::libm {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
// From here on the asymptotic series hold.
constexpr double kFar = 20;

// The sum of (x / 2)^2k / (k! (k + order)!).
double series(int order, double x) {
  const double square = x * x / 4;
  double term = 1, sum = 1;
  for (int k = 1; term > sum * 1e-17; ++k) {
    term *= square / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// Hankel's series: 1 + s (m - 1) / (8 x) + s^2 (m - 1) (m - 9) / (2! (8 x)^2) + ... with
// m = 4 order^2.
double hankel(int order, double x, double sign) {
  const double m = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 2 * kFar && std::fabs(term) > 1e-17; ++k) {
    const double odd = 2 * k - 1;
    term *= sign * (m - odd * odd) / (8 * k * x);
    sum += term;
  }
  return sum;
}

// exp(-x) I(x) for x >= kFar.
double scaled_i_far(int order, double x) { return hankel(order, x, -1) / std::sqrt(2 * kPi * x); }

// exp(x) without an overflow where exp(x) * factor has none.
double times_exp(double x, double factor) {
  const double half = std::exp(x / 2);
  return factor * half * half;
}

// The integral of exp(-x (cosh t - 1)) cosh(order t) over t >= 0, which is exp(x) K(x). The
// trapezoidal rule converges geometrically: such a step leaves an error below 1e-20 up to kFar.
double scaled_k_integral(int order, double x) {
  constexpr double kStep = 1.0 / 8;
  double sum = 0.5;
  for (int i = 1;; ++i) {
    const double t = i * kStep, c = std::cosh(t);
    const double term = std::exp(-x * (c - 1)) * (order == 0 ? 1 : c);
    sum += term;
    if (term < sum * 1e-18) return sum * kStep;
  }
}

// K for x <= 1, from its series with a logarithm.
double k0_near(double x) {
  const double square = x * x / 4;
  double term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < 30; ++k) {
    term *= square / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(x / 2) + kEuler) * series(0, x);
}
double k1_near(double x) {
  const double square = x * x / 4;
  // digamma(k + 1) + digamma(k + 2)
  double term = 1, digammas = 1 - 2 * kEuler, sum = digammas;
  for (int k = 1; k < 30; ++k) {
    term *= square / (static_cast<double>(k) * (k + 1));
    digammas += 1.0 / k + 1.0 / (k + 1);
    sum += term * digammas;
  }
  return 1 / x + std::log(x / 2) * (x / 2) * series(1, x) - x / 4 * sum;
}

// exp(x) K(x) for x > 1.
double scaled_k_beyond(int order, double x) {
  if (x < kFar) return scaled_k_integral(order, x);
  return std::sqrt(kPi / (2 * x)) * hankel(order, x, 1);
}

// K or exp(x) K.
double modified_k(int order, double x, bool scaled) {
  if (std::isnan(x) || x < 0) return kNaN;
  if (x == 0) return kInf;
  if (x <= 1) return (order == 0 ? k0_near(x) : k1_near(x)) * (scaled ? std::exp(x) : 1);
  if (std::isinf(x)) return 0;
  return scaled_k_beyond(order, x) * (scaled ? 1 : std::exp(-x));
}

}  // namespace

double bessel_j0(double x) { return ::j0(x); }
double bessel_j1(double x) { return ::j1(x); }
double bessel_y0(double x) { return x < 0 ? kNaN : ::y0(x); }
double bessel_y1(double x) { return x < 0 ? kNaN : ::y1(x); }

double i0(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x) || std::isinf(x)) return a;
  return a < kFar ? series(0, a) : times_exp(a, scaled_i_far(0, a));
}
double i0e(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return 0;
  return a < kFar ? series(0, a) * std::exp(-a) : scaled_i_far(0, a);
}
double i1(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x) || std::isinf(x)) return x;
  return std::copysign(a < kFar ? a / 2 * series(1, a) : times_exp(a, scaled_i_far(1, a)), x);
}
double i1e(double x) {
  const double a = std::fabs(x);
  if (std::isnan(x)) return x;
  if (std::isinf(x)) return std::copysign(0.0, x);
  return std::copysign(a < kFar ? a / 2 * series(1, a) * std::exp(-a) : scaled_i_far(1, a), x);
}

double bessel_k0(double x) { return modified_k(0, x, false); }
double bessel_k1(double x) { return modified_k(1, x, false); }
double bessel_k0e(double x) { return modified_k(0, x, true); }
double bessel_k1e(double x) { return modified_k(1, x, true); }

}  // namespace tandem::kernels::libm
