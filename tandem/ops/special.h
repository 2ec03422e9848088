#pragma once

#include "tandem/ops/binary_more.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/unary.h"

namespace tandem {
/// The modified Bessel function of the first kind, of order 0.
Tensor i0(const Tensor& x);
inline Tensor& i0_(const Tensor& x) { return x.i0_(); }
/// The parts of the gamma function of `a` below and above x, divided by the whole.
Tensor igamma(const Tensor& a, const Tensor& x);
Tensor igammac(const Tensor& a, const Tensor& x);
/// The logarithm of the gamma function of p dimensions.
Tensor mvlgamma(const Tensor& x, int64_t p);
}  // namespace tandem

/// Functions of mathematics and statistics under the names that SciPy gives them.
namespace tandem::special {

inline Tensor gammaln(const Tensor& x) { return x.lgamma(); }
inline Tensor digamma(const Tensor& x) { return x.digamma(); }
inline Tensor psi(const Tensor& x) { return x.digamma(); }
inline Tensor polygamma(int64_t n, const Tensor& x) { return x.polygamma(n); }
inline Tensor erf(const Tensor& x) { return x.erf(); }
inline Tensor erfc(const Tensor& x) { return x.erfc(); }
inline Tensor erfinv(const Tensor& x) { return x.erfinv(); }
inline Tensor exp2(const Tensor& x) { return x.exp2(); }
inline Tensor expm1(const Tensor& x) { return x.expm1(); }
inline Tensor log1p(const Tensor& x) { return x.log1p(); }
inline Tensor expit(const Tensor& x) { return x.sigmoid(); }
inline Tensor logit(const Tensor& x, std::optional<double> eps = std::nullopt) {
  return x.logit(eps);
}
inline Tensor sinc(const Tensor& x) { return x.sinc(); }
inline Tensor round(const Tensor& x) { return x.round(); }
inline Tensor xlogy(const Tensor& x, const Tensor& y) { return tandem::xlogy(x, y); }
inline Tensor xlogy(const Tensor& x, const Scalar& y) { return tandem::xlogy(x, y); }
inline Tensor xlogy(const Scalar& x, const Tensor& y) { return tandem::xlogy(x, y); }
/// Bessel functions of order 0 and 1: of the first kind (j) and the second (y).
Tensor bessel_j0(const Tensor& x);
Tensor bessel_j1(const Tensor& x);
Tensor bessel_y0(const Tensor& x);
Tensor bessel_y1(const Tensor& x);
/// The modified ones, also times exp(-|x|) (i0e) or exp(x) (scaled), which keeps them in range.
inline Tensor i0(const Tensor& x) { return tandem::i0(x); }
Tensor i0e(const Tensor& x);
Tensor i1(const Tensor& x);
Tensor i1e(const Tensor& x);
inline Tensor modified_bessel_i0(const Tensor& x) { return tandem::i0(x); }
inline Tensor modified_bessel_i1(const Tensor& x) { return i1(x); }
Tensor modified_bessel_k0(const Tensor& x);
Tensor modified_bessel_k1(const Tensor& x);
Tensor scaled_modified_bessel_k0(const Tensor& x);
Tensor scaled_modified_bessel_k1(const Tensor& x);
inline Tensor gammainc(const Tensor& a, const Tensor& x) { return tandem::igamma(a, x); }
inline Tensor gammaincc(const Tensor& a, const Tensor& x) { return tandem::igammac(a, x); }
/// Hurwitz' zeta: the sum of (q + k)^-x over all k >= 0.
Tensor zeta(const Tensor& x, const Tensor& q);
Tensor zeta(const Tensor& x, const Scalar& q);
Tensor zeta(const Scalar& x, const Tensor& q);
/// exp(x^2) erfc(x), which is in range where its factors are not.
Tensor erfcx(const Tensor& x);
/// The normal distribution's quantiles: the inverse of ndtr.
Tensor ndtri(const Tensor& x);
/// sin(x) / x.
Tensor spherical_bessel_j0(const Tensor& x);
/// -x log x; -inf for negative x.
Tensor entr(const Tensor& x);
/// The normal distribution's cdf, and its logarithm, which is precise where the cdf itself is 0.
Tensor ndtr(const Tensor& x);
Tensor log_ndtr(const Tensor& x);
/// x log(1 + y), which is 0 where x is.
Tensor xlog1py(const Tensor& x, const Tensor& y);
Tensor xlog1py(const Tensor& x, const Scalar& y);
Tensor xlog1py(const Scalar& x, const Tensor& y);
inline Tensor multigammaln(const Tensor& x, int64_t p) { return tandem::mvlgamma(x, p); }
inline Tensor logsumexp(const Tensor& x, IntArrayRef dims, bool keepdim = false) {
  return tandem::logsumexp(x, dims, keepdim);
}
inline Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> t = std::nullopt) {
  return tandem::softmax(x, dim, t);
}
inline Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> t = std::nullopt) {
  return tandem::log_softmax(x, dim, t);
}

}  // namespace tandem::special
