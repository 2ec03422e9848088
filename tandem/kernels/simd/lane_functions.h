#pragma once

#include <cstdint>

// Functions that formulas apply lane by lane: the transcendental ones in double precision, the rare
// ones, and those on integers. Plain names without overloads, so that one can be a template
// argument.

namespace tandem::kernels::libm {

double exp(double);
double exp2(double);
double expm1(double);
double log(double);
double log2(double);
double log10(double);
double log1p(double);
double sinh(double);
double cosh(double);
double tanh(double);
double asinh(double);
double acosh(double);
double atanh(double);
double sin(double);
double cos(double);
double tan(double);
double asin(double);
double acos(double);
double atan(double);
double erf(double);
double erfc(double);
double pow(double, double);
double atan2(double, double);
double hypot(double, double);
double nextafter(double, double);
float nextafterf(float, float);

/// lgamma without the global sign that C's writes to.
double lgamma(double);
double digamma(double);
/// The n-th derivative of digamma, n >= 1.
double polygamma(double n, double x);
double erfinv(double);
/// Bessel functions; i0, i1 and k0, k1 are the modified ones, and e stands for exp(-|x|) I and
/// exp(x) K.
double bessel_j0(double);
double bessel_j1(double);
double bessel_y0(double);
double bessel_y1(double);
double i0(double);
double i0e(double);
double i1(double);
double i1e(double);
double bessel_k0(double);
double bessel_k1(double);
double bessel_k0e(double);
double bessel_k1e(double);
/// The parts of the gamma function below and above x, divided by the whole; x >= 0, a > 0.
double igamma(double a, double x);
double igammac(double a, double x);
/// Hurwitz' zeta: the sum of (q + k)^-s.
double zeta(double s, double q);
/// exp(x^2) erfc(x).
double erfcx(double);
/// The quantiles of the normal distribution.
double ndtri(double);
/// Division and remainder with the signs of PyTorch (and Python): the remainder has the divisor's.
double floor_divide(double, double);
double remainder(double, double);
double fmod(double, double);

// Integers. A zero divisor throws; the smallest number divided by -1 wraps.
int64_t floor_divide_int(int64_t, int64_t);
int64_t trunc_divide_int(int64_t, int64_t);
int64_t remainder_int(int64_t, int64_t);
int64_t fmod_int(int64_t, int64_t);
/// A negative exponent gives the power rounded towards zero: 0 unless the base is 1 or -1.
int64_t pow_int(int64_t, int64_t);
int64_t gcd_int(int64_t, int64_t);
int64_t lcm_int(int64_t, int64_t);
int64_t and_int(int64_t, int64_t);
int64_t or_int(int64_t, int64_t);
int64_t xor_int(int64_t, int64_t);
int64_t not_int(int64_t);
/// Shifts by less than 0 or more than 63 push every bit out.
int64_t shift_left_int(int64_t, int64_t);
int64_t shift_right_int(int64_t, int64_t);

}  // namespace tandem::kernels::libm
