// Functions that statistics need: incomplete gammas, Hurwitz' zeta, and what goes with the normal
// distribution.
#include <cmath>
#include <limits>

#include "tandem/kernels/simd/lane_functions.h"

namespace tandem::kernels::libm {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEpsilon = 0x1p-54;

// x^a exp(-x) / gamma(a + 1). For large a by Stirling's series, where the powers would cancel.
double gamma_density(double a, double x) {
  if (a < 20) return std::exp(a * std::log(x) - x - lgamma(a + 1));
  const double distance = (x - a) / a, z = 1 / (a * a);
  const double correction =
      (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188)))) / a;
  return std::exp(a * (std::log1p(distance) - distance) - correction) / std::sqrt(2 * kPi * a);
}

// The lower part divided by gamma_density: 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...
double lower_series(double a, double x) {
  double term = 1, sum = 1;
  for (double n = a + 1; term > sum * kEpsilon; ++n) {
    term *= x / n;
    sum += term;
  }
  return sum;
}

// The upper part divided by gamma_density: Legendre's continued fraction by Lentz' method, for
// x > a + 1.
double upper_fraction(double a, double x) {
  double b = x + 1 - a, c = kInf, d = 1 / b, value = d;
  for (int i = 1; i < 100000; ++i) {
    const double n = -i * (i - a);
    b += 2;
    d = 1 / (b + n * d);
    c = b + n / c;
    value *= c * d;
    if (std::fabs(c * d - 1) < kEpsilon * 2) break;
  }
  return value * a;
}

// The upper part for a of 1e7 and more, where sums would need many terms: Temme's expansion around
// the normal distribution, of which two terms are precise there.
double upper_of_large(double a, double x) {
  const double m = (x - a) / a;
  // m - log(1 + m), which is half the square of the distance in terms of that distribution.
  double half_square = m - std::log1p(m);
  if (std::fabs(m) < 0.05) {
    double power = m * m;
    half_square = 0;
    for (int k = 2; k < 16; ++k, power *= -m) half_square += power / k;
  }
  const double eta = std::copysign(std::sqrt(2 * half_square), m);
  const double correction =
      std::fabs(m) < 1e-3 ? -1.0 / 3 + eta * (1.0 / 12 - eta * (2.0 / 135)) : 1 / m - 1 / eta;
  return std::erfc(eta * std::sqrt(a / 2)) / 2 +
         std::exp(-a * half_square) / std::sqrt(2 * kPi * a) * correction;
}

// What both parts are at the ends of their range; nan stands for "inside".
double gamma_part_at_ends(double a, double x, bool upper) {
  if (a == 0) return upper ? 0 : 1;
  if (x == 0) return upper ? 1 : 0;
  if (std::isinf(a)) return upper ? 1 : 0;
  if (std::isinf(x)) return upper ? 0 : 1;
  return kNaN;
}

double gamma_part(double a, double x, bool upper) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return kNaN;
  const double end = gamma_part_at_ends(a, x, upper);
  if (!std::isnan(end)) return end;
  if (a >= 1e7) {
    const double part = upper_of_large(a, x);
    return upper ? part : 1 - part;
  }
  const double density = gamma_density(a, x);
  if (x > a + 1) {
    const double part = density * upper_fraction(a, x);
    return upper ? part : 1 - part;
  }
  const double part = density * lower_series(a, x);
  return upper ? 1 - part : part;
}

// The sum of (q + k)^-s over k >= 0, for q > 0 and s > 1.
double zeta_of_positive(double s, double q) {
  double sum = 0;
  // Plain terms up to where the Euler-Maclaurin series holds.
  while (q < 15 + s) {
    const double term = std::pow(q, -s);
    sum += term;
    q += 1;
    if (term <= sum * 1e-18) return sum;
  }
  const double power = std::pow(q, -s);
  sum += power * q / (s - 1) + power / 2;
  // Bernoulli numbers over (2k)!.
  constexpr double kB[] = {1.0 / 12,         -1.0 / 720,     1.0 / 30240,
                           -1.0 / 1209600,   1.0 / 47900160, -691.0 / 1307674368000,
                           1.0 / 74724249600};
  double factor = s * power / q;
  for (int k = 0; k < 7; ++k) {
    sum += kB[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (q * q);
  }
  return sum;
}

// exp(x^2) erfc(x) for x > 2: the continued fraction of erfc, from its end.
double erfcx_fraction(double x) {
  double value = x;
  for (int k = 120; k > 0; --k) value = x + 0.5 * k / value;
  return 1 / (value * std::sqrt(kPi));
}

// The x < 0 at which the normal distribution function is p < 1/2.
double normal_quantile(double p) {
  // Hastings' formula is right to 0.0005, and then Halley's steps on erfc, which is precise there.
  const double t = std::sqrt(-2 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 3; ++i) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * kPi);
    if (density == 0) break;
    const double step = (std::erfc(-x / std::sqrt(2.0)) / 2 - p) / density;
    x -= step / (1 + x * step / 2);
  }
  return x;
}

}  // namespace

double igamma(double a, double x) { return gamma_part(a, x, false); }
double igammac(double a, double x) { return gamma_part(a, x, true); }

double zeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1) || std::isnan(q)) return kNaN;
  if (q > 0) return std::isinf(q) ? 0 : zeta_of_positive(s, q);
  if (q == std::floor(q)) return kInf;
  if (s != std::floor(s)) return kNaN;
  // Terms of numbers above 0 and below it, each of which is a part of such a sum again.
  const double first = std::floor(q), fraction = q - first;
  const double below = zeta_of_positive(s, 1 - fraction) - zeta_of_positive(s, 1 - q);
  const double above = zeta_of_positive(s, fraction);
  return std::fmod(s, 2) == 0 ? above + below : above - below;
}

double erfcx(double x) {
  if (x > 2) return std::isinf(x) ? 0 : erfcx_fraction(x);
  // The square's rounding error is as large as its last bit, which exp would magnify.
  const double square = x * x, rest = std::fma(x, x, -square);
  if (std::isinf(square)) return kInf;
  return std::exp(square) * (1 + rest) * std::erfc(x);
}

double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p == 0 || p == 1) return p == 0 ? -kInf : kInf;
  if (p == 0.5) return 0;
  return p < 0.5 ? normal_quantile(p) : -normal_quantile(1 - p);
}

}  // namespace tandem::kernels::libm
