#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

// One value in, one value out; each also as a method and, ending in _, in place. Functions whose
// results are not whole numbers give integer tensors the default dtype.
Tensor abs(const Tensor& x);
inline Tensor& abs_(const Tensor& x) { return x.abs_(); }
Tensor sign(const Tensor& x);
inline Tensor& sign_(const Tensor& x) { return x.sign_(); }
Tensor square(const Tensor& x);
inline Tensor& square_(const Tensor& x) { return x.square_(); }
Tensor sqrt(const Tensor& x);
inline Tensor& sqrt_(const Tensor& x) { return x.sqrt_(); }
Tensor rsqrt(const Tensor& x);
inline Tensor& rsqrt_(const Tensor& x) { return x.rsqrt_(); }
Tensor reciprocal(const Tensor& x);
inline Tensor& reciprocal_(const Tensor& x) { return x.reciprocal_(); }
Tensor floor(const Tensor& x);
inline Tensor& floor_(const Tensor& x) { return x.floor_(); }
Tensor ceil(const Tensor& x);
inline Tensor& ceil_(const Tensor& x) { return x.ceil_(); }
Tensor round(const Tensor& x);
inline Tensor& round_(const Tensor& x) { return x.round_(); }
Tensor trunc(const Tensor& x);
inline Tensor& trunc_(const Tensor& x) { return x.trunc_(); }
Tensor frac(const Tensor& x);
inline Tensor& frac_(const Tensor& x) { return x.frac_(); }
Tensor exp(const Tensor& x);
inline Tensor& exp_(const Tensor& x) { return x.exp_(); }
Tensor exp2(const Tensor& x);
inline Tensor& exp2_(const Tensor& x) { return x.exp2_(); }
Tensor expm1(const Tensor& x);
inline Tensor& expm1_(const Tensor& x) { return x.expm1_(); }
Tensor log(const Tensor& x);
inline Tensor& log_(const Tensor& x) { return x.log_(); }
Tensor log2(const Tensor& x);
inline Tensor& log2_(const Tensor& x) { return x.log2_(); }
Tensor log10(const Tensor& x);
inline Tensor& log10_(const Tensor& x) { return x.log10_(); }
Tensor log1p(const Tensor& x);
inline Tensor& log1p_(const Tensor& x) { return x.log1p_(); }
Tensor sin(const Tensor& x);
inline Tensor& sin_(const Tensor& x) { return x.sin_(); }
Tensor cos(const Tensor& x);
inline Tensor& cos_(const Tensor& x) { return x.cos_(); }
Tensor tan(const Tensor& x);
inline Tensor& tan_(const Tensor& x) { return x.tan_(); }
Tensor asin(const Tensor& x);
inline Tensor& asin_(const Tensor& x) { return x.asin_(); }
Tensor acos(const Tensor& x);
inline Tensor& acos_(const Tensor& x) { return x.acos_(); }
Tensor atan(const Tensor& x);
inline Tensor& atan_(const Tensor& x) { return x.atan_(); }
Tensor sinh(const Tensor& x);
inline Tensor& sinh_(const Tensor& x) { return x.sinh_(); }
Tensor cosh(const Tensor& x);
inline Tensor& cosh_(const Tensor& x) { return x.cosh_(); }
Tensor tanh(const Tensor& x);
inline Tensor& tanh_(const Tensor& x) { return x.tanh_(); }
Tensor asinh(const Tensor& x);
inline Tensor& asinh_(const Tensor& x) { return x.asinh_(); }
Tensor acosh(const Tensor& x);
inline Tensor& acosh_(const Tensor& x) { return x.acosh_(); }
Tensor atanh(const Tensor& x);
inline Tensor& atanh_(const Tensor& x) { return x.atanh_(); }
Tensor sigmoid(const Tensor& x);
inline Tensor& sigmoid_(const Tensor& x) { return x.sigmoid_(); }
Tensor erf(const Tensor& x);
inline Tensor& erf_(const Tensor& x) { return x.erf_(); }
Tensor erfc(const Tensor& x);
inline Tensor& erfc_(const Tensor& x) { return x.erfc_(); }
Tensor erfinv(const Tensor& x);
inline Tensor& erfinv_(const Tensor& x) { return x.erfinv_(); }
Tensor lgamma(const Tensor& x);
inline Tensor& lgamma_(const Tensor& x) { return x.lgamma_(); }
Tensor digamma(const Tensor& x);
inline Tensor& digamma_(const Tensor& x) { return x.digamma_(); }
Tensor relu(const Tensor& x);
inline Tensor& relu_(const Tensor& x) { return x.relu_(); }
inline Tensor absolute(const Tensor& x) { return x.abs(); }
inline Tensor& absolute_(const Tensor& x) { return x.abs_(); }
inline Tensor negative(const Tensor& x) { return x.neg(); }
inline Tensor& negative_(const Tensor& x) { return x.neg_(); }
inline Tensor arccos(const Tensor& x) { return x.acos(); }
inline Tensor& arccos_(const Tensor& x) { return x.acos_(); }
inline Tensor arcsin(const Tensor& x) { return x.asin(); }
inline Tensor& arcsin_(const Tensor& x) { return x.asin_(); }
inline Tensor arctan(const Tensor& x) { return x.atan(); }
inline Tensor& arctan_(const Tensor& x) { return x.atan_(); }
inline Tensor arccosh(const Tensor& x) { return x.acosh(); }
inline Tensor& arccosh_(const Tensor& x) { return x.acosh_(); }
inline Tensor arcsinh(const Tensor& x) { return x.asinh(); }
inline Tensor& arcsinh_(const Tensor& x) { return x.asinh_(); }
inline Tensor arctanh(const Tensor& x) { return x.atanh(); }
inline Tensor& arctanh_(const Tensor& x) { return x.atanh_(); }
inline Tensor fix(const Tensor& x) { return x.trunc(); }
inline Tensor& fix_(const Tensor& x) { return x.trunc_(); }
inline Tensor sgn(const Tensor& x) { return x.sign(); }
inline Tensor& sgn_(const Tensor& x) { return x.sign_(); }
Tensor round(const Tensor& x, int64_t decimals);
/// The angle of a real number in the complex plane: 0, or pi if it is negative.
Tensor angle(const Tensor& x);
/// The n-th derivative of digamma.
Tensor polygamma(int64_t n, const Tensor& x);
/// log(x / (1 - x)), with x first clamped to [eps, 1 - eps] if eps is given.
Tensor logit(const Tensor& x, std::optional<double> eps = std::nullopt);
/// sin(pi x) / (pi x)
Tensor sinc(const Tensor& x);
Tensor deg2rad(const Tensor& x);
Tensor rad2deg(const Tensor& x);
/// Replaces nan (by 0) and the infinities (by the largest and smallest number of the dtype).
Tensor nan_to_num(const Tensor& x, std::optional<double> nan = std::nullopt,
                  std::optional<double> posinf = std::nullopt,
                  std::optional<double> neginf = std::nullopt);
inline Tensor& round_(const Tensor& x, int64_t decimals) { return x.round_(decimals); }
inline Tensor& logit_(const Tensor& x, std::optional<double> eps = std::nullopt) {
  return x.logit_(eps);
}
inline Tensor& sinc_(const Tensor& x) { return x.sinc_(); }
inline Tensor& deg2rad_(const Tensor& x) { return x.deg2rad_(); }
inline Tensor& rad2deg_(const Tensor& x) { return x.rad2deg_(); }
inline Tensor& nan_to_num_(const Tensor& x, std::optional<double> nan = std::nullopt,
                           std::optional<double> posinf = std::nullopt,
                           std::optional<double> neginf = std::nullopt) {
  return x.nan_to_num_(nan, posinf, neginf);
}
inline Tensor positive(const Tensor& x) { return x.positive(); }

}  // namespace tandem
