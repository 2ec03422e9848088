#include "tandem/kernels/simd/lane_functions.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tandem/base/error.h"

extern "C" double lgamma_r(double, int*);

namespace tandem::kernels::libm {

double exp(double x) { return std::exp(x); }
double exp2(double x) { return std::exp2(x); }
double expm1(double x) { return std::expm1(x); }
double log(double x) { return std::log(x); }
double log2(double x) { return std::log2(x); }
double log10(double x) { return std::log10(x); }
double log1p(double x) { return std::log1p(x); }
double sinh(double x) { return std::sinh(x); }
double cosh(double x) { return std::cosh(x); }
double tanh(double x) { return std::tanh(x); }
double asinh(double x) { return std::asinh(x); }
double acosh(double x) { return std::acosh(x); }
double atanh(double x) { return std::atanh(x); }
double sin(double x) { return std::sin(x); }
double cos(double x) { return std::cos(x); }
double tan(double x) { return std::tan(x); }
double asin(double x) { return std::asin(x); }
double acos(double x) { return std::acos(x); }
double atan(double x) { return std::atan(x); }
double erf(double x) { return std::erf(x); }
double erfc(double x) { return std::erfc(x); }
double pow(double x, double y) { return std::pow(x, y); }
double atan2(double y, double x) { return std::atan2(y, x); }
double hypot(double x, double y) { return std::hypot(x, y); }
double nextafter(double x, double y) { return std::nextafter(x, y); }
float nextafterf(float x, float y) { return std::nextafter(x, y); }

double lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

double digamma(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double result = 0;
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
    // Reflection; the fraction first, so that the tangent's argument is exact.
    result = -kPi / std::tan(kPi * (x - std::trunc(x)));
    x = 1 - x;
  }
  // Recurrence up to where the asymptotic series holds.
  while (x < 10) {
    result -= 1 / x;
    x += 1;
  }
  if (std::isinf(x)) return x;
  // Bernoulli numbers over 2n.
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 -
           z * (1.0 / 120 -
                z * (1.0 / 252 -
                     z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return result + std::log(x) - 0.5 / x - series;
}

namespace {
// The n-th derivative of cot(pi x): a polynomial in the cotangent, since its derivative is
// -pi (1 + cot^2).
double cot_derivative(int n, double x) {
  constexpr double kPi = 3.14159265358979323846;
  std::vector<double> p = {0, 1};
  for (int k = 0; k < n; ++k) {
    std::vector<double> d(p.size() + 1, 0.0);
    for (size_t i = 1; i < p.size(); ++i) {
      d[i - 1] -= kPi * static_cast<double>(i) * p[i];
      d[i + 1] -= kPi * static_cast<double>(i) * p[i];
    }
    p = std::move(d);
  }
  const double c = 1 / std::tan(kPi * (x - std::trunc(x)));
  double r = 0;
  for (size_t i = p.size(); i-- > 0;) r = r * c + p[i];
  return r;
}
}  // namespace

double polygamma(double n, double x) {
  if (std::isnan(x)) return x;
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  if (x <= 0 && x == std::floor(x)) return sign * std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return 0;
  // Far left the reflection saves adding up one term for each unit.
  if (x < -20) {
    constexpr double kPi = 3.14159265358979323846;
    return -kPi * cot_derivative(static_cast<int>(n), x) - sign * polygamma(n, 1 - x);
  }
  return sign * std::tgamma(n + 1) * zeta(n + 1, x);
}

double erfinv(double y) {
  if (std::isnan(y) || std::fabs(y) > 1) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
  if (y == 0) return y;
  // A first guess from the leading behaviour of erf's tail, then Halley's steps. Far out they work
  // on erfc, whose relative error stays small there.
  constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
  const double a = std::fabs(y);
  const double l = std::log1p(-a * a);
  const double t = 2 / (3.14159265358979323846 * 0.147) + 0.5 * l;
  double x = std::sqrt(std::sqrt(t * t - l / 0.147) - t);
  if (a < 1e-4) x = a / kTwoOverSqrtPi;
  for (int i = 0; i < 4; ++i) {
    const double error = a < 0.5 ? std::erf(x) - a : (1 - a) - std::erfc(x);
    const double step = error / (kTwoOverSqrtPi * std::exp(-x * x));
    const double next = x - step / (1 + x * step);
    if (next == x) break;
    x = next;
  }
  return std::copysign(x, y);
}

double fmod(double a, double b) { return std::fmod(a, b); }

double remainder(double a, double b) {
  double r = std::fmod(a, b);
  if (r != 0 && (b < 0) != (r < 0)) r += b;
  return r;
}

double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double r = std::fmod(a, b);
  double quotient = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double result = std::floor(quotient);
  if (quotient - result > 0.5) result += 1;
  return result;
}

namespace {
int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }
void check_divisor(const char* op, int64_t b) {
  TANDEM_CHECK(b != 0, op, ": integer division by zero (ZeroDivisionError)");
}
}  // namespace

int64_t trunc_divide_int(int64_t a, int64_t b) {
  check_divisor("div", b);
  return b == -1 ? wrap(0 - static_cast<uint64_t>(a)) : a / b;
}
int64_t floor_divide_int(int64_t a, int64_t b) {
  check_divisor("floor_divide", b);
  if (b == -1) return wrap(0 - static_cast<uint64_t>(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
int64_t fmod_int(int64_t a, int64_t b) {
  check_divisor("fmod", b);
  return b == -1 ? 0 : a % b;
}
int64_t remainder_int(int64_t a, int64_t b) {
  check_divisor("remainder", b);
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t pow_int(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  uint64_t result = 1;
  for (uint64_t b = static_cast<uint64_t>(base); exponent != 0; exponent >>= 1, b *= b)
    if (exponent & 1) result *= b;
  return wrap(result);
}
int64_t gcd_int(int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  if (a < 0) x = 0 - x;
  if (b < 0) y = 0 - y;
  while (y != 0) {
    const uint64_t r = x % y;
    x = y;
    y = r;
  }
  return wrap(x);
}
int64_t lcm_int(int64_t a, int64_t b) {
  const int64_t g = gcd_int(a, b);
  if (g == 0) return 0;
  const uint64_t product = static_cast<uint64_t>(trunc_divide_int(a, g)) * static_cast<uint64_t>(b);
  return wrap(product) < 0 ? wrap(0 - product) : wrap(product);
}
int64_t and_int(int64_t a, int64_t b) { return a & b; }
int64_t or_int(int64_t a, int64_t b) { return a | b; }
int64_t xor_int(int64_t a, int64_t b) { return a ^ b; }
int64_t not_int(int64_t a) { return ~a; }
int64_t shift_left_int(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : wrap(static_cast<uint64_t>(a) << b);
}
int64_t shift_right_int(int64_t a, int64_t b) {
  if (b < 0 || b > 63) return a < 0 ? -1 : 0;
  return a >> b;
}

}  // namespace tandem::kernels::libm
