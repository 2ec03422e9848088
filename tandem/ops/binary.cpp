#include "tandem/ops/binary.h"

#include "tandem/core/apply.h"
#include "tandem/ops/compare.h"
#include "tandem/ops/map_op.h"

namespace tandem {

TANDEM_OP(kAdd) = {
    .name = "add",
    .infer = infer_map,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      const double alpha = a.attrs<MapAttrs>().a;
      return {a.grad(), alpha == 1 ? a.grad() : a.grad() * alpha};
    },
    .map = MapFn::add,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 2,
};

TANDEM_OP(kSub) = {
    .name = "sub",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(
              a.in(0).dtype != kBool && a.in(1).dtype != kBool,
              "sub: Subtraction, the `-` operator, with a bool tensor is not supported. "
              "If you are trying to invert a mask, use the `~` or `logical_not()` "
              "operator instead.");
          infer_map(a);
        },
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad(), a.needs(1) ? a.grad() * -a.attrs<MapAttrs>().a : Tensor()};
    },
    .map = MapFn::sub,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 2,
};

TANDEM_OP(kMul) = {
    .name = "mul",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? a.grad() * a.input(1) : Tensor(),
              a.needs(1) ? a.grad() * a.input(0) : Tensor()};
    },
    .map = MapFn::mul,
    .inputs = 2,
};

TANDEM_OP(kDiv) = {
    .name = "div",
    .infer = infer_map_float,
    .kernel = map_kernel,
    // Not the output: a result may be written in place afterwards, as in x.div_(y).mul_(z).
    .saves = Saves::each(Saves::in(1), Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? a.grad() / a.input(1) : Tensor(),
              a.needs(1) ? -a.grad() * (a.input(0) / a.input(1) / a.input(1)) : Tensor()};
    },
    .map = MapFn::div,
    .inputs = 2,
};

TANDEM_OP(kNeg) = {
    .name = "neg",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(
              a.in().dtype != kBool,
              "neg: Negation, the `-` operator, on a bool tensor is not supported. If "
              "you are trying to invert a mask, use the `~` or `logical_not()` operator "
              "instead.");
          infer_map(a);
        },
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {-a.grad()}; },
    .map = MapFn::neg,
    .inputs = 1,
};

namespace {
void check_alpha_type(const char* op, const Tensor& x, const Tensor& y, const Scalar& alpha) {
  const DType t = result_type(x, y);
  TANDEM_CHECK_TYPE(!alpha.isBoolean() || t == kBool, op,
                    ": Boolean alpha only supported for Boolean results.");
  TANDEM_CHECK_TYPE(!alpha.isFloatingPoint() || is_floating(t), op,
                    ": For integral input tensors, argument alpha must not be a floating point "
                    "number.");
}
// Whole numbers, among them the usual 1, suit every dtype.
MapAttrs alpha_of(const char* op, const Tensor& x, const Tensor& y, const Scalar& alpha) {
  if (!alpha.isIntegral()) check_alpha_type(op, x, y, alpha);
  return MapAttrs{alpha.toDouble()};
}
}  // namespace

Tensor add(const Tensor& x, const Tensor& y, const Scalar& alpha) {
  return apply(kAdd, {x, y}, alpha_of("add", x, y, alpha));
}
Tensor sub(const Tensor& x, const Tensor& y, const Scalar& alpha) {
  return apply(kSub, {x, y}, alpha_of("sub", x, y, alpha));
}
Tensor mul(const Tensor& x, const Tensor& y) { return apply(kMul, {x, y}); }
Tensor div(const Tensor& x, const Tensor& y) { return apply(kDiv, {x, y}); }
Tensor neg(const Tensor& x) { return apply(kNeg, {x}); }

Tensor add(const Tensor& x, const Scalar& y, const Scalar& alpha) {
  return add(x, wrapped_number(y), alpha);
}
Tensor sub(const Tensor& x, const Scalar& y, const Scalar& alpha) {
  return sub(x, wrapped_number(y), alpha);
}
Tensor mul(const Tensor& x, const Scalar& y) { return mul(x, wrapped_number(y)); }
Tensor div(const Tensor& x, const Scalar& y) { return div(x, wrapped_number(y)); }

Tensor operator+(const Tensor& x, const Tensor& y) { return add(x, y); }
Tensor operator+(const Tensor& x, const Scalar& y) { return add(x, y); }
Tensor operator+(const Scalar& x, const Tensor& y) { return add(y, x); }
Tensor operator-(const Tensor& x, const Tensor& y) { return sub(x, y); }
Tensor operator-(const Tensor& x, const Scalar& y) { return sub(x, y); }
Tensor operator-(const Scalar& x, const Tensor& y) { return sub(wrapped_number(x), y); }
Tensor operator*(const Tensor& x, const Tensor& y) { return mul(x, y); }
Tensor operator*(const Tensor& x, const Scalar& y) { return mul(x, y); }
Tensor operator*(const Scalar& x, const Tensor& y) { return mul(y, x); }
Tensor operator/(const Tensor& x, const Tensor& y) { return div(x, y); }
Tensor operator/(const Tensor& x, const Scalar& y) { return div(x, y); }
Tensor operator/(const Scalar& x, const Tensor& y) { return div(wrapped_number(x), y); }

Tensor Tensor::add(const Tensor& o, const Scalar& alpha) const {
  return tandem::add(*this, o, alpha);
}
Tensor Tensor::add(const Scalar& o, const Scalar& alpha) const {
  return tandem::add(*this, o, alpha);
}
Tensor Tensor::sub(const Tensor& o, const Scalar& alpha) const {
  return tandem::sub(*this, o, alpha);
}
Tensor Tensor::sub(const Scalar& o, const Scalar& alpha) const {
  return tandem::sub(*this, o, alpha);
}
Tensor Tensor::mul(const Tensor& o) const { return tandem::mul(*this, o); }
Tensor Tensor::mul(const Scalar& o) const { return tandem::mul(*this, o); }
Tensor Tensor::div(const Tensor& o) const { return tandem::div(*this, o); }
Tensor Tensor::div(const Scalar& o) const { return tandem::div(*this, o); }
Tensor Tensor::neg() const { return tandem::neg(*this); }

Tensor& Tensor::add_(const Tensor& o, const Scalar& alpha) const {
  return apply_inplace(kAdd, *this, {*this, o}, alpha_of("add_", *this, o, alpha));
}
Tensor& Tensor::add_(const Scalar& o, const Scalar& alpha) const {
  return add_(wrapped_number(o), alpha);
}
Tensor& Tensor::sub_(const Tensor& o, const Scalar& alpha) const {
  return apply_inplace(kSub, *this, {*this, o}, alpha_of("sub_", *this, o, alpha));
}
Tensor& Tensor::sub_(const Scalar& o, const Scalar& alpha) const {
  return sub_(wrapped_number(o), alpha);
}
Tensor& Tensor::mul_(const Tensor& o) const { return apply_inplace(kMul, *this, {*this, o}); }
Tensor& Tensor::mul_(const Scalar& o) const { return mul_(wrapped_number(o)); }
Tensor& Tensor::div_(const Tensor& o) const { return apply_inplace(kDiv, *this, {*this, o}); }
Tensor& Tensor::div_(const Scalar& o) const { return div_(wrapped_number(o)); }
Tensor& Tensor::neg_() const { return apply_inplace(kNeg, *this, {*this}); }

}  // namespace tandem
