#include "tandem/ops/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/core/apply.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// The density of the gamma distribution: the derivative of igamma by x.
Tensor gamma_density(const Tensor& a, const Tensor& x) {
  return ((a - 1) * x.log() - x - a.lgamma()).exp();
}
void no_derivative_by_first(const VjpArgs& a, const char* op, const char* name) {
  TANDEM_CHECK_AS(NotImplementedError, !a.needs(0), op, ": the derivative for '", name,
                  "' is not implemented");
}

}  // namespace

TANDEM_OP(kIgamma) = {
    .name = "igamma",
    .infer = infer_map_real,
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      no_derivative_by_first(a, "igamma", "self");
      return {Tensor(), a.grad() * gamma_density(a.input(0), a.input(1))};
    },
    .map = MapFn::igamma,
    .inputs = 2,
};

TANDEM_OP(kIgammac) = {
    .name = "igammac",
    .infer = infer_map_real,
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      no_derivative_by_first(a, "igammac", "self");
      return {Tensor(), -a.grad() * gamma_density(a.input(0), a.input(1))};
    },
    .map = MapFn::igammac,
    .inputs = 2,
};

TANDEM_OP(kZeta) = {
    .name = "zeta",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      no_derivative_by_first(a, "zeta", "self");
      return {Tensor(), a.grad() * -a.input(0) * special::zeta(a.input(0) + 1, a.input(1))};
    },
    .map = MapFn::zeta,
    .inputs = 2,
};

TANDEM_OP(kErfcx) = {
    .name = "erfcx",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad() * (a.input() * a.output() - std::numbers::inv_sqrtpi) * 2};
    },
    .map = MapFn::erfcx,
    .inputs = 1,
};

TANDEM_OP(kNdtri) = {
    .name = "ndtri",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad() * (a.output().square() / 2).exp() * std::sqrt(2 * std::numbers::pi)};
    },
    .map = MapFn::ndtri,
    .inputs = 1,
};

}  // namespace tandem

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

Tensor zeta(const Tensor& x, const Tensor& q) { return apply(kZeta, {x, q}); }
Tensor zeta(const Tensor& x, const Scalar& q) { return zeta(x, wrapped_number(q)); }
Tensor zeta(const Scalar& x, const Tensor& q) { return zeta(wrapped_number(x), q); }

Tensor erfcx(const Tensor& x) { return apply(kErfcx, {x}); }
Tensor ndtri(const Tensor& x) { return apply(kNdtri, {x}); }
Tensor spherical_bessel_j0(const Tensor& x) {
  const Tensor y = as_real(x);
  return where(y.isinf(), zeros_like(y), (y / kPi).sinc());
}

}  // namespace tandem::special

namespace tandem {

Tensor igamma(const Tensor& a, const Tensor& x) { return apply(kIgamma, {a, x}); }
Tensor Tensor::igamma(const Tensor& x) const { return apply(kIgamma, {*this, x}); }
Tensor& Tensor::igamma_(const Tensor& x) const { return apply_inplace(kIgamma, *this, {*this, x}); }
Tensor igammac(const Tensor& a, const Tensor& x) { return apply(kIgammac, {a, x}); }
Tensor Tensor::igammac(const Tensor& x) const { return apply(kIgammac, {*this, x}); }
Tensor& Tensor::igammac_(const Tensor& x) const {
  return apply_inplace(kIgammac, *this, {*this, x});
}

Tensor mvlgamma(const Tensor& x, int64_t p) {
  TANDEM_CHECK(p >= 1, "mvlgamma: p has to be greater than or equal to 1, got ", p);
  const Tensor y = x.is_floating_point() ? x : x.to(default_real_dtype());
  const double n = static_cast<double>(p);
  const Tensor steps = arange(p, TensorOptions().dtype(y.dtype()).device(y.device())) * -0.5;
  return (y.unsqueeze(-1) + steps).lgamma().sum(-1) + n * (n - 1) / 4 * std::log(std::numbers::pi);
}
Tensor Tensor::mvlgamma(int64_t p) const { return tandem::mvlgamma(*this, p); }
Tensor& Tensor::mvlgamma_(int64_t p) const {
  TANDEM_CHECK_TYPE(is_floating_point(), "mvlgamma_: expected a floating point dtype, got ",
                    dtype());
  return copy_(clone().mvlgamma(p));
}

}  // namespace tandem
