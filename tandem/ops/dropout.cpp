#include "tandem/ops/dropout.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/core/generator.h"
#include "tandem/core/recorder.h"
#include "tandem/kernels/dropout.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/random_op.h"

// Note: what dropout keeps
// The mask is a tensor of bools, one byte an element, drawn by an op of its own: eager and compiled
// runs draw the same numbers, and backward reads the mask and nothing else. Applying it is
// pointwise, so that compiled programs do it together with its neighbours.
namespace tandem {

// 0, x, mask -> x where the mask is true, times a; else 0. The formula is addcmul's, whose first
// operand is a number here.
TANDEM_OP(kMaskedScale) = {
    .name = "masked_scale",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(is_floating(a.in(1).dtype),
                            "masked_scale: expected a floating point tensor, got ", a.in(1));
          infer_map(a);
        },
    .kernel =
        [](const KernelArgs& a) {
          if (!kernels::masked_scale(a.in(1), a.in(2), a.attrs<MapAttrs>().a, a.out()))
            map_kernel(a);
        },
    .saves = Saves::each(0, Saves::in(2), 0),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {Tensor(),
              a.needs(1)
                  ? apply(kMaskedScale, {wrapped_number(0.0), a.grad(), a.input(2)}, a.attr_ref())
                  : Tensor(),
              Tensor()};
    },
    .map = MapFn::addcmul,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 3,
};

namespace {

void check_probability(const char* name, double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, name, ": dropout probability has to be between 0 and 1, but got ",
               p);
}

// Which elements, or which channels of which samples, stay.
Tensor draw_mask(const char* name, const Tensor& x, double p, bool features) {
  TANDEM_CHECK_TYPE(is_floating(x.dtype()), name, ": expected a floating point tensor, got ",
                    x.type_of());
  Dims sizes(x.sizes());
  if (features) {
    TANDEM_CHECK_SHAPE(x.dim() >= 2, name,
                       ": feature dropout requires at least 2 dimensions in the input, got shape ",
                       x.sizes());
    for (size_t d = 2; d < sizes.size(); ++d) sizes[d] = 1;
  }
  const OwnerScope scope(x);
  return bernoulli(empty(sizes, TensorOptions().dtype(kBool).device(x.device())), 1 - p);
}

bool changes(const Tensor& x, double p, bool train) { return train && p > 0 && x.numel() > 0; }

Tensor dropped(const char* name, const Tensor& x, double p, bool train, bool features) {
  check_probability(name, p);
  if (!changes(x, p, train)) return x;
  const Tensor mask = draw_mask(name, x, p, features);
  return apply(kMaskedScale, {wrapped_number(0.0), x, mask}, MapAttrs{p < 1 ? 1 / (1 - p) : 0.0});
}

Tensor& dropped_in_place(const char* name, const Tensor& x, double p, bool train, bool features) {
  check_probability(name, p);
  if (!changes(x, p, train)) return const_cast<Tensor&>(x);
  const Tensor mask = draw_mask(name, x, p, features);
  return apply_inplace(kMaskedScale, x, {wrapped_number(0.0), x, mask},
                       MapAttrs{p < 1 ? 1 / (1 - p) : 0.0});
}

// a x + b where the mask is true, else a limit + b, such that mean 0 and variance 1 stay.
struct AlphaNumbers {
  explicit AlphaNumbers(double p) {
    constexpr double kLimit = -1.7580993408473766;  // of SELU for x -> -inf
    a = p < 1 ? 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p)) : 0;
    b = p < 1 ? -a * kLimit * p : 0;
    dropped = p < 1 ? a * kLimit + b : 0;
  }
  double a, b, dropped;
};

Tensor alpha_dropped(const char* name, const Tensor& x, double p, bool train, bool features) {
  check_probability(name, p);
  if (!changes(x, p, train)) return x;
  const Tensor mask = draw_mask(name, x, p, features);
  const AlphaNumbers n(p);
  const Tensor kept = apply(kMaskedScale, {wrapped_number(0.0), x, mask}, MapAttrs{n.a});
  return kept + where(mask, n.b, n.dropped).to(x.dtype());
}

}  // namespace

Tensor dropout(const Tensor& x, double p, bool train) {
  return dropped("dropout", x, p, train, false);
}
Tensor& dropout_(const Tensor& x, double p, bool train) {
  return dropped_in_place("dropout_", x, p, train, false);
}
Tensor feature_dropout(const Tensor& x, double p, bool train) {
  return dropped("feature_dropout", x, p, train, true);
}
Tensor& feature_dropout_(const Tensor& x, double p, bool train) {
  return dropped_in_place("feature_dropout_", x, p, train, true);
}
Tensor alpha_dropout(const Tensor& x, double p, bool train) {
  return alpha_dropped("alpha_dropout", x, p, train, false);
}
Tensor feature_alpha_dropout(const Tensor& x, double p, bool train) {
  return alpha_dropped("feature_alpha_dropout", x, p, train, true);
}

namespace {

Tensor& alpha_dropped_in_place(const char* name, const Tensor& x, double p, bool train,
                               bool features) {
  check_probability(name, p);
  if (!changes(x, p, train)) return const_cast<Tensor&>(x);
  const Tensor mask = draw_mask(name, x, p, features);
  const AlphaNumbers n(p);
  return apply_inplace(kMaskedScale, x, {wrapped_number(0.0), x, mask}, MapAttrs{n.a})
      .add_(where(mask, n.b, n.dropped).to(x.dtype()));
}

}  // namespace

Tensor& alpha_dropout_(const Tensor& x, double p, bool train) {
  return alpha_dropped_in_place("alpha_dropout_", x, p, train, false);
}
Tensor& feature_alpha_dropout_(const Tensor& x, double p, bool train) {
  return alpha_dropped_in_place("feature_alpha_dropout_", x, p, train, true);
}

namespace {

// The slope of each element: 1 where it is positive.
Tensor drawn_slopes(const Tensor& x, double lower, double upper,
                    const std::optional<Generator>& g) {
  const NoGradGuard no_grad;
  const OwnerScope scope(x);
  const Tensor slopes = empty_like(x).uniform_(lower, upper, g);
  return where(x > 0, 1, slopes).to(x.dtype());
}
void check_slopes(const Tensor& x, double lower, double upper) {
  TANDEM_CHECK_TYPE(is_floating(x.dtype()), "rrelu: expected a floating point tensor, got ",
                    x.type_of());
  TANDEM_CHECK(lower <= upper,
               "rrelu: lower bound should be less than or equal to the upper bound, ", "got ",
               lower, " and ", upper);
}

}  // namespace

Tensor rrelu(const Tensor& x, const Scalar& lower, const Scalar& upper, bool training,
             std::optional<Generator> g) {
  const double a = lower.toDouble(), b = upper.toDouble();
  check_slopes(x, a, b);
  return training ? x * drawn_slopes(x, a, b, g) : leaky_relu(x, (a + b) / 2);
}
Tensor& rrelu_(const Tensor& x, const Scalar& lower, const Scalar& upper, bool training,
               std::optional<Generator> g) {
  const double a = lower.toDouble(), b = upper.toDouble();
  check_slopes(x, a, b);
  return training ? x.mul_(drawn_slopes(x, a, b, g)) : leaky_relu_(x, (a + b) / 2);
}

}  // namespace tandem
