#include "tandem/ops/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/core/apply.h"
#include "tandem/ops/ops.h"

namespace tandem::special {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor as_real(const Tensor& x) { return x.is_floating_point() ? x : x.to(default_real_dtype()); }

// Far out: log of the density, less log(-x), plus log of the asymptotic series
// 1 - 1/x^2 + 1*3/x^4 - 1*3*5/x^6 ..., of which ten terms suffice from -12 on.
Tensor log_ndtr_tail(const Tensor& x) {
  const Tensor square = x * x, inverse = 1 / square;
  Tensor series = ones_like(x);
  for (int k = 19; k > 0; k -= 2) series = 1 - series * inverse * k;
  return square * -0.5 - (-x).log() - 0.5 * std::log(2 * kPi) + series.log();
}

}  // namespace

Tensor entr(const Tensor& x) {
  const Tensor y = as_real(x);
  const Tensor outside = y <= 0;
  const Tensor safe = where(outside, ones_like(y), y);
  return where(outside, where(y == 0, zeros_like(y), full_like(y, -kInf)), -safe * safe.log());
}

Tensor ndtr(const Tensor& x) { return (as_real(x) * -std::numbers::sqrt2 / 2).erfc() / 2; }

// Each branch is clamped to where it is used, so that the others' gradients are finite.
Tensor log_ndtr(const Tensor& x) {
  const Tensor y = as_real(x);
  const Tensor left = ndtr(y.clamp(-12, -1)).log();
  const Tensor right = (-ndtr(-y.clamp_min(-1))).log1p();
  return where(y < -12, log_ndtr_tail(y.clamp_max(-12)), where(y < -1, left, right));
}

Tensor xlog1py(const Tensor& x, const Tensor& y) {
  const Tensor zero = (x == 0) & ((y <= -1) | (y == kInf));
  return x * where(zero, zeros_like(y), y).log1p();
}
Tensor xlog1py(const Tensor& x, const Scalar& y) { return xlog1py(x, wrapped_number(y)); }
Tensor xlog1py(const Scalar& x, const Tensor& y) { return xlog1py(wrapped_number(x), y); }

Tensor multigammaln(const Tensor& x, int64_t p) {
  TANDEM_CHECK(p >= 1, "multigammaln: p has to be greater than or equal to 1, got ", p);
  const Tensor y = as_real(x);
  const double n = static_cast<double>(p);
  const Tensor steps = arange(p, TensorOptions().dtype(y.dtype()).device(y.device())) * -0.5;
  return (y.unsqueeze(-1) + steps).lgamma().sum(-1) + n * (n - 1) / 4 * std::log(kPi);
}

}  // namespace tandem::special
