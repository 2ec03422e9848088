#include "tandem/ops/ternary.h"

#include <cmath>
#include <limits>

#include "tandem/core/apply.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {

extern const OpDef kMaximum, kMinimum;  // ops/binary_more.cpp

// -- where ------------------------------------------------------------------------------------

TANDEM_OP(kWhere) = {
    .name = "where",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(a.in(0).dtype == kBool || a.in(0).dtype == kByte,
                            "where: expected condition to be a boolean tensor, but got a tensor "
                            "with dtype ",
                            a.in(0).dtype);
          Dims sizes = broadcast_shapes("where", a.in(1).sizes, a.in(2).sizes);
          a.out().sizes = broadcast_shapes("where", a.in(0).sizes, sizes);
          Promotion p;
          p.add(a.in(1));
          p.add(a.in(2));
          a.out().dtype = p.result();
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::map(MapFn::where, a.inputs, 3, a.out(), a.out().dtype, {});
        },
    .saves = Saves::each(0, Saves::in(0), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {Tensor(), a.needs(1) ? where(a.input(0), a.grad(), 0) : Tensor(),
              a.needs(2) ? where(a.input(0), 0, a.grad()) : Tensor()};
    },
    .map = MapFn::where,
    .inputs = 3,
};

Tensor where(const Tensor& c, const Tensor& x, const Tensor& y) { return apply(kWhere, {c, x, y}); }
Tensor where(const Tensor& c, const Tensor& x, const Scalar& y) {
  return where(c, x, wrapped_number(y));
}
Tensor where(const Tensor& c, const Scalar& x, const Tensor& y) {
  return where(c, wrapped_number(x), y);
}
Tensor where(const Tensor& c, const Scalar& x, const Scalar& y) {
  return where(c, wrapped_number(x), wrapped_number(y));
}
Tensor Tensor::where(const Tensor& c, const Tensor& o) const { return tandem::where(c, *this, o); }
Tensor Tensor::where(const Tensor& c, const Scalar& o) const { return tandem::where(c, *this, o); }

// -- clamp ------------------------------------------------------------------------------------

namespace {

void infer_clamp(const InferArgs& a) {
  infer_map(a);
  TANDEM_CHECK_TYPE(a.out().dtype != kBool, a.op.name,
                    ": \"clamp_scalar_cpu\" not implemented for 'Bool'");
}

constexpr double kInf = std::numeric_limits<double>::infinity();

// A number of a higher kind widens the result: clamping integers by 0.5 gives reals.
DType clamp_type(DType t, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  for (const std::optional<Scalar>* bound : {&min, &max}) {
    if (!*bound) continue;
    if ((*bound)->isFloatingPoint() && !is_floating(t)) t = default_real_dtype();
    if ((*bound)->isIntegral() && t == kBool) t = kLong;
  }
  return t;
}

}  // namespace

// MapAttrs a and b are the bounds; an infinite bound is none.
TANDEM_OP(kClamp) = {
    .name = "clamp",
    .infer = infer_clamp,
    .kernel =
        [](const KernelArgs& a) {
          const auto& m = a.attrs<MapAttrs>();
          if (std::isnan(m.a) || std::isnan(m.b))
            return kernels::fill(a.out(), std::numeric_limits<double>::quiet_NaN());
          const MapFn fn = m.a == -kInf  ? MapFn::clamp_max
                           : m.b == kInf ? MapFn::clamp_min
                                         : MapFn::clamp;
          kernels::map(fn, a.inputs, 1, a.out(), a.out().dtype, {m.a, m.b, 0});
        },
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& m = a.attrs<MapAttrs>();
      const Tensor x = a.input();
      if (m.a == -kInf) return {where(x <= m.b, a.grad(), 0)};
      if (m.b == kInf) return {where(x >= m.a, a.grad(), 0)};
      return {where((x >= m.a) & (x <= m.b), a.grad(), 0)};
    },
    .map = MapFn::clamp,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kClampBetween) = {
    .name = "clamp_between",
    .infer = infer_clamp,
    .kernel = map_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor x = a.input(0), low = a.input(1), high = a.input(2);
      Grads g(3);
      if (a.needs(0)) g[0] = where((x >= low) & (x <= high), a.grad(), 0);
      if (a.needs(1)) g[1] = where((x < low) & (low < high), a.grad(), 0);
      if (a.needs(2)) g[2] = where((x > high) | (low > high), a.grad(), 0);
      return g;
    },
    .map = MapFn::clamp_between,
    .inputs = 3,
};

Tensor clamp(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  TANDEM_CHECK(min || max, "clamp: At least one of 'min' or 'max' must not be None");
  const DType t = clamp_type(x.dtype(), min, max);
  return apply(kClamp, {t == x.dtype() ? x : x.to(t)},
               MapAttrs{min ? min->toDouble() : -kInf, max ? max->toDouble() : kInf});
}
Tensor clamp(const Tensor& x, const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  TANDEM_CHECK(min || max, "clamp: At least one of 'min' or 'max' must not be None");
  if (!max) return maximum(x, *min);
  if (!min) return minimum(x, *max);
  return apply(kClampBetween, {x, *min, *max});
}
Tensor clamp_min(const Tensor& x, const Scalar& min) { return clamp(x, min, std::nullopt); }
Tensor clamp_max(const Tensor& x, const Scalar& max) {
  return clamp(x, std::optional<Scalar>(), std::optional<Scalar>(max));
}
Tensor clamp_min(const Tensor& x, const Tensor& min) { return maximum(x, min); }
Tensor clamp_max(const Tensor& x, const Tensor& max) { return minimum(x, max); }
Tensor clip(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  return clamp(x, min, max);
}

Tensor Tensor::clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return tandem::clamp(*this, min, max);
}
Tensor Tensor::clamp(const std::optional<Tensor>& min, const std::optional<Tensor>& max) const {
  return tandem::clamp(*this, min, max);
}
Tensor Tensor::clamp_min(const Scalar& min) const { return tandem::clamp_min(*this, min); }
Tensor Tensor::clamp_max(const Scalar& max) const { return tandem::clamp_max(*this, max); }
Tensor Tensor::clamp_min(const Tensor& min) const { return tandem::clamp_min(*this, min); }
Tensor Tensor::clamp_max(const Tensor& max) const { return tandem::clamp_max(*this, max); }
Tensor& Tensor::clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  TANDEM_CHECK(min || max, "clamp_: At least one of 'min' or 'max' must not be None");
  const DType t = clamp_type(dtype(), min, max);
  TANDEM_CHECK_TYPE(can_cast(t, dtype()), "clamp_: result type ", t,
                    " can't be cast to the desired output type ", dtype());
  return apply_inplace(kClamp, *this, {*this},
                       MapAttrs{min ? min->toDouble() : -kInf, max ? max->toDouble() : kInf});
}
Tensor& Tensor::clamp_(const std::optional<Tensor>& min, const std::optional<Tensor>& max) const {
  TANDEM_CHECK(min || max, "clamp_: At least one of 'min' or 'max' must not be None");
  if (!max) return clamp_min_(*min);
  if (!min) return clamp_max_(*max);
  return apply_inplace(kClampBetween, *this, {*this, *min, *max});
}
Tensor& Tensor::clamp_min_(const Tensor& min) const {
  return apply_inplace(kMaximum, *this, {*this, min});
}
Tensor& Tensor::clamp_max_(const Tensor& max) const {
  return apply_inplace(kMinimum, *this, {*this, max});
}
Tensor& Tensor::clamp_min_(const Scalar& min) const { return clamp_(min, std::nullopt); }
Tensor& Tensor::clamp_max_(const Scalar& max) const {
  return clamp_(std::optional<Scalar>(), std::optional<Scalar>(max));
}

// -- fused arithmetic -------------------------------------------------------------------------

TANDEM_OP(kAddcmul) = {
    .name = "addcmul",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(2), Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const double value = a.attrs<MapAttrs>().a;
      return {a.grad(), a.needs(1) ? a.grad() * a.input(2) * value : Tensor(),
              a.needs(2) ? a.grad() * a.input(1) * value : Tensor()};
    },
    .map = MapFn::addcmul,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 3,
};

TANDEM_OP(kAddcdiv) = {
    .name = "addcdiv",
    .infer =
        [](const InferArgs& a) {
          infer_map(a);
          TANDEM_CHECK_TYPE(
              is_floating(a.out().dtype),
              "addcdiv: Integer division with addcdiv is no longer supported; convert "
              "the operands to floating point first");
        },
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(2), Saves::in(1) | Saves::in(2)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const double value = a.attrs<MapAttrs>().a;
      return {a.grad(), a.needs(1) ? a.grad() * value / a.input(2) : Tensor(),
              a.needs(2) ? a.grad() * -value * a.input(1) / a.input(2).square() : Tensor()};
    },
    .map = MapFn::addcdiv,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 3,
};

TANDEM_OP(kLerp) = {
    .name = "lerp",
    .infer =
        [](const InferArgs& a) {
          infer_map_real(a);
          for (int i : {1, 2})
            TANDEM_CHECK_TYPE(a.in(i).dtype == a.in(0).dtype || a.in(i).weak,
                              "lerp: expected dtype ", a.in(0).dtype, " for `",
                              i == 1 ? "end" : "weight", "` but got dtype ", a.in(i).dtype);
        },
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(2), Saves::in(2), Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? a.grad() * (1 - a.input(2)) : Tensor(),
              a.needs(1) ? a.grad() * a.input(2) : Tensor(),
              a.needs(2) ? a.grad() * (a.input(1) - a.input(0)) : Tensor()};
    },
    .map = MapFn::lerp,
    .inputs = 3,
};

Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
  return apply(kAddcmul, {x, a, b}, MapAttrs{value.toDouble()});
}
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value) {
  return apply(kAddcdiv, {x, a, b}, MapAttrs{value.toDouble()});
}
Tensor lerp(const Tensor& x, const Tensor& end, const Tensor& weight) {
  return apply(kLerp, {x, end, weight});
}
Tensor lerp(const Tensor& x, const Tensor& end, const Scalar& weight) {
  return apply(kLerp, {x, end, wrapped_number(weight)});
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return tandem::addcmul(*this, a, b, value);
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return apply_inplace(kAddcmul, *this, {*this, a, b}, MapAttrs{value.toDouble()});
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return tandem::addcdiv(*this, a, b, value);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return apply_inplace(kAddcdiv, *this, {*this, a, b}, MapAttrs{value.toDouble()});
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const {
  return tandem::lerp(*this, end, weight);
}
Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const {
  return tandem::lerp(*this, end, weight);
}
Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) const {
  return apply_inplace(kLerp, *this, {*this, end, weight});
}
Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight) const {
  return lerp_(end, wrapped_number(weight));
}

}  // namespace tandem
