// Bessel functions of order 0 and 1. Their derivatives are such functions again.
#include "tandem/core/apply.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

constexpr Saves::Bits kX = Saves::in(0), kXAndY = Saves::in(0) | Saves::out(0);

// zeroth - first / x, and 1/2 at 0: what a function of order 1 that is 0 there has as its
// derivative. Nothing is divided by 0, so that its own gradient is finite as well.
Tensor derivative_of_first(const Tensor& zeroth, const Tensor& first, const Tensor& x) {
  const Tensor zero = x == 0;
  const Tensor quotient = first / where(zero, ones_like(x), x);
  return where(zero, full_like(x, 0.5), zeroth - quotient);
}

}  // namespace

// The derivative is in terms of x, the input, and of what else is saved.
#define TANDEM_BESSEL(variable, function, saved, derivative) \
  TANDEM_OP(variable) = {                                    \
      .name = #function,                                     \
      .infer = infer_map_float,                              \
      .kernel = map_kernel,                                  \
      .saves = Saves::each(saved),                           \
      .vjp = [](const VjpArgs& a) -> Grads {                 \
        const Tensor x = a.input();                          \
        return {a.grad() * (derivative)};                    \
      },                                                     \
      .map = MapFn::function,                                \
      .inputs = 1,                                           \
  }

TANDEM_BESSEL(kI0, i0, kX, special::i1(x));
TANDEM_BESSEL(kI0e, i0e, kXAndY, special::i1e(x) - x.sign() * a.output());
TANDEM_BESSEL(kI1, i1, kXAndY, derivative_of_first(i0(x), a.output(), x));
TANDEM_BESSEL(kI1e, i1e, kXAndY,
              derivative_of_first(special::i0e(x), a.output(), x) - x.sign() * a.output());
TANDEM_BESSEL(kBesselJ0, bessel_j0, kX, -special::bessel_j1(x));
TANDEM_BESSEL(kBesselJ1, bessel_j1, kXAndY,
              derivative_of_first(special::bessel_j0(x), a.output(), x));
TANDEM_BESSEL(kBesselY0, bessel_y0, kX, -special::bessel_y1(x));
TANDEM_BESSEL(kBesselY1, bessel_y1, kXAndY, special::bessel_y0(x) - a.output() / x);
TANDEM_BESSEL(kBesselK0, bessel_k0, kX, -special::modified_bessel_k1(x));
TANDEM_BESSEL(kBesselK1, bessel_k1, kXAndY, -special::modified_bessel_k0(x) - a.output() / x);
TANDEM_BESSEL(kBesselK0e, bessel_k0e, kXAndY, a.output() - special::scaled_modified_bessel_k1(x));
TANDEM_BESSEL(kBesselK1e, bessel_k1e, kXAndY,
              a.output() - special::scaled_modified_bessel_k0(x) - a.output() / x);

#undef TANDEM_BESSEL

Tensor i0(const Tensor& x) { return apply(kI0, {x}); }
Tensor Tensor::i0() const { return apply(kI0, {*this}); }
Tensor& Tensor::i0_() const { return apply_inplace(kI0, *this, {*this}); }

namespace special {

Tensor i0e(const Tensor& x) { return apply(kI0e, {x}); }
Tensor i1(const Tensor& x) { return apply(kI1, {x}); }
Tensor i1e(const Tensor& x) { return apply(kI1e, {x}); }
Tensor bessel_j0(const Tensor& x) { return apply(kBesselJ0, {x}); }
Tensor bessel_j1(const Tensor& x) { return apply(kBesselJ1, {x}); }
Tensor bessel_y0(const Tensor& x) { return apply(kBesselY0, {x}); }
Tensor bessel_y1(const Tensor& x) { return apply(kBesselY1, {x}); }
Tensor modified_bessel_k0(const Tensor& x) { return apply(kBesselK0, {x}); }
Tensor modified_bessel_k1(const Tensor& x) { return apply(kBesselK1, {x}); }
Tensor scaled_modified_bessel_k0(const Tensor& x) { return apply(kBesselK0e, {x}); }
Tensor scaled_modified_bessel_k1(const Tensor& x) { return apply(kBesselK1e, {x}); }

}  // namespace special
}  // namespace tandem
