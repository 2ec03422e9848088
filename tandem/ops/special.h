#pragma once

#include "tandem/ops/binary_more.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/unary.h"

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
/// -x log x; -inf for negative x.
Tensor entr(const Tensor& x);
/// The normal distribution's cdf, and its logarithm, which is precise where the cdf itself is 0.
Tensor ndtr(const Tensor& x);
Tensor log_ndtr(const Tensor& x);
/// x log(1 + y), which is 0 where x is.
Tensor xlog1py(const Tensor& x, const Tensor& y);
Tensor xlog1py(const Tensor& x, const Scalar& y);
Tensor xlog1py(const Scalar& x, const Tensor& y);
/// The logarithm of the gamma function of p dimensions.
Tensor multigammaln(const Tensor& x, int64_t p);
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
