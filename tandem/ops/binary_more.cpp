#include "tandem/ops/binary_more.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {

extern const OpDef kDiv;  // ops/binary.cpp

namespace {

// Where both operands are equal each gets half of the gradient.
Grads share(const VjpArgs& a, const Tensor& first, const Tensor& second) {
  const Tensor half = a.grad() / 2;
  return {a.needs(0) ? where(second, zeros_like(half), where(first, a.grad(), half)) : Tensor(),
          a.needs(1) ? where(first, zeros_like(half), where(second, a.grad(), half)) : Tensor()};
}

Grads pick(const VjpArgs& a, const Tensor& first) {
  const Tensor none = zeros_like(a.grad());
  return {a.needs(0) ? where(first, a.grad(), none) : Tensor(),
          a.needs(1) ? where(first, none, a.grad()) : Tensor()};
}

Grads atan2_vjp(const VjpArgs& a) {
  const Tensor y = a.input(0), x = a.input(1);
  const Tensor scaled = a.grad() / (x.square() + y.square());
  return {a.needs(0) ? scaled * x : Tensor(), a.needs(1) ? -scaled * y : Tensor()};
}

// x^y by x is y x^(y-1), which is 0 at y = 0 whatever x is; by y it is x^y log x, which tends to 0
// at x = 0.
Grads pow_vjp(const VjpArgs& a) {
  Grads g(2);
  const Tensor x = a.input(0), y = a.input(1);
  if (a.needs(0)) {
    const Tensor slope = a.grad() * (y * x.pow(y - 1));
    g[0] = where(y == 0, zeros_like(slope), slope);
  }
  if (a.needs(1)) {
    const Tensor zero_base = (x == 0) & (y >= 0);
    const Tensor slope = a.grad() * (a.output() * where(zero_base, ones_like(x), x).log());
    g[1] = where(zero_base, zeros_like(slope), slope);
  }
  return g;
}

}  // namespace

TANDEM_OP(kPow) = {
    .name = "pow",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::in(1), Saves::in(0) | Saves::in(1) | Saves::out(0)),
    .vjp = pow_vjp,
    .map = MapFn::pow,
    .inputs = 2,
};

TANDEM_OP(kMaximum) = {
    .name = "maximum",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return share(a, a.input(0) > a.input(1), a.input(0) < a.input(1));
    },
    .map = MapFn::maximum,
    .inputs = 2,
};

TANDEM_OP(kMinimum) = {
    .name = "minimum",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return share(a, a.input(0) < a.input(1), a.input(0) > a.input(1));
    },
    .map = MapFn::minimum,
    .inputs = 2,
};

TANDEM_OP(kFmax) = {
    .name = "fmax",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return pick(a, (a.input(0) >= a.input(1)) | a.input(1).isnan());
    },
    .map = MapFn::fmax,
    .inputs = 2,
};

TANDEM_OP(kFmin) = {
    .name = "fmin",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return pick(a, (a.input(0) <= a.input(1)) | a.input(1).isnan());
    },
    .map = MapFn::fmin,
    .inputs = 2,
};

TANDEM_OP(kAtan2) = {
    .name = "atan2",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1)),
    .vjp = atan2_vjp,
    .map = MapFn::atan2,
    .inputs = 2,
};

TANDEM_OP(kHypot) = {
    .name = "hypot",
    .infer = infer_map_real,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::out(0), Saves::in(1) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.needs(0) ? a.grad() * (a.input(0) / a.output()) : Tensor(),
                   a.needs(1) ? a.grad() * (a.input(1) / a.output()) : Tensor()};
    },
    .map = MapFn::hypot,
    .inputs = 2,
};

TANDEM_OP(kRemainder) = {
    .name = "remainder",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.grad(),
                   a.needs(1) ? -a.grad() * a.input(0).div(a.input(1), "floor") : Tensor()};
    },
    .map = MapFn::remainder,
    .inputs = 2,
};

TANDEM_OP(kFmod) = {
    .name = "fmod",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::each(0, Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.grad(),
                   a.needs(1) ? -a.grad() * a.input(0).div(a.input(1), "trunc") : Tensor()};
    },
    .map = MapFn::fmod,
    .inputs = 2,
};

TANDEM_OP(kFloorDivide) = {
    .name = "floor_divide",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{zeros_like(a.grad()), zeros_like(a.grad())};
    },
    .map = MapFn::floor_divide,
    .inputs = 2,
};

TANDEM_OP(kTruncDivide) = {
    .name = "trunc_divide",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{zeros_like(a.grad()), zeros_like(a.grad())};
    },
    .map = MapFn::trunc_divide,
    .inputs = 2,
};

TANDEM_OP(kCopysign) = {
    .name = "copysign",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.needs(0)
                       ? a.grad() * a.input(0).sign() * copysign(ones_like(a.input(0)), a.input(1))
                       : Tensor(),
                   zeros_like(a.grad())};
    },
    .map = MapFn::copysign,
    .inputs = 2,
};

TANDEM_OP(kXlogy) = {
    .name = "xlogy",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::in(1), Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.needs(0) ? xlogy(a.grad(), where((a.input(0) == 0) & (a.input(1) <= 0),
                                                      ones_like(a.input(1)), a.input(1)))
                              : Tensor(),
                   a.needs(1) ? a.grad() * a.input(0) / a.input(1) : Tensor()};
    },
    .map = MapFn::xlogy,
    .inputs = 2,
};

TANDEM_OP(kLogaddexp) = {
    .name = "logaddexp",
    .infer = infer_map_real,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::out(0), Saves::in(1) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.needs(0) ? a.grad() * (a.input(0) - a.output()).exp() : Tensor(),
                   a.needs(1) ? a.grad() * (a.input(1) - a.output()).exp() : Tensor()};
    },
    .map = MapFn::logaddexp,
    .inputs = 2,
};

TANDEM_OP(kLogaddexp2) = {
    .name = "logaddexp2",
    .infer = infer_map_real,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0) | Saves::out(0), Saves::in(1) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return Grads{a.needs(0) ? a.grad() * (a.input(0) - a.output()).exp2() : Tensor(),
                   a.needs(1) ? a.grad() * (a.input(1) - a.output()).exp2() : Tensor()};
    },
    .map = MapFn::logaddexp2,
    .inputs = 2,
};

TANDEM_OP(kNextafter) = {
    .name = "nextafter",
    .infer =
        [](const InferArgs& a) {
          infer_map(a);
          const DType t = a.out().dtype;
          TANDEM_CHECK_TYPE(t == kFloat || t == kDouble,
                            "nextafter: \"nextafter_cpu\" not implemented for '", t, "'");
        },
    .kernel = map_kernel,
    .map = MapFn::nextafter,
    .inputs = 2,
};

TANDEM_OP(kHeaviside) = {
    .name = "heaviside",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(
              a.in(0).dtype == a.in(1).dtype,
              "heaviside: heaviside is not yet implemented for tensors with different "
              "dtypes, got ",
              a.in(0).dtype, " and ", a.in(1).dtype);
          infer_map(a);
        },
    .kernel = map_kernel,
    .map = MapFn::heaviside,
    .inputs = 2,
};

TANDEM_OP(kGcd) = {
    .name = "gcd",
    .infer = infer_map_whole,
    .kernel = map_kernel,
    .map = MapFn::gcd,
    .inputs = 2,
};

TANDEM_OP(kLcm) = {
    .name = "lcm",
    .infer = infer_map_whole,
    .kernel = map_kernel,
    .map = MapFn::lcm,
    .inputs = 2,
};

#define TANDEM_BINARY(name, op)                                               \
  Tensor name(const Tensor& x, const Tensor& y) { return apply(op, {x, y}); } \
  Tensor Tensor::name(const Tensor& o) const { return apply(op, {*this, o}); }
#define TANDEM_BINARY_INPLACE(name, op) \
  Tensor& Tensor::name##_(const Tensor& o) const { return apply_inplace(op, *this, {*this, o}); }
#define TANDEM_BINARY_SCALAR(name, op)                                                         \
  Tensor name(const Tensor& x, const Scalar& y) { return apply(op, {x, wrapped_number(y)}); }  \
  Tensor Tensor::name(const Scalar& o) const { return apply(op, {*this, wrapped_number(o)}); } \
  Tensor& Tensor::name##_(const Scalar& o) const {                                             \
    return apply_inplace(op, *this, {*this, wrapped_number(o)});                               \
  }
TANDEM_BINARY(maximum, kMaximum)
TANDEM_BINARY(minimum, kMinimum)
TANDEM_BINARY(fmax, kFmax)
TANDEM_BINARY(fmin, kFmin)
TANDEM_BINARY(atan2, kAtan2)
TANDEM_BINARY(hypot, kHypot)
TANDEM_BINARY(nextafter, kNextafter)
TANDEM_BINARY(heaviside, kHeaviside)
TANDEM_BINARY(gcd, kGcd)
TANDEM_BINARY(lcm, kLcm)
TANDEM_BINARY(logaddexp, kLogaddexp)
TANDEM_BINARY(logaddexp2, kLogaddexp2)
TANDEM_BINARY(remainder, kRemainder)
TANDEM_BINARY(fmod, kFmod)
TANDEM_BINARY(copysign, kCopysign)
TANDEM_BINARY(xlogy, kXlogy)
TANDEM_BINARY(floor_divide, kFloorDivide)
TANDEM_BINARY_INPLACE(atan2, kAtan2)
TANDEM_BINARY_INPLACE(hypot, kHypot)
TANDEM_BINARY_INPLACE(nextafter, kNextafter)
TANDEM_BINARY_INPLACE(heaviside, kHeaviside)
TANDEM_BINARY_INPLACE(gcd, kGcd)
TANDEM_BINARY_INPLACE(lcm, kLcm)
TANDEM_BINARY_INPLACE(remainder, kRemainder)
TANDEM_BINARY_INPLACE(fmod, kFmod)
TANDEM_BINARY_INPLACE(copysign, kCopysign)
TANDEM_BINARY_INPLACE(xlogy, kXlogy)
TANDEM_BINARY_INPLACE(floor_divide, kFloorDivide)
TANDEM_BINARY_SCALAR(remainder, kRemainder)
TANDEM_BINARY_SCALAR(fmod, kFmod)
TANDEM_BINARY_SCALAR(copysign, kCopysign)
TANDEM_BINARY_SCALAR(xlogy, kXlogy)
TANDEM_BINARY_SCALAR(floor_divide, kFloorDivide)
#undef TANDEM_BINARY
#undef TANDEM_BINARY_INPLACE
#undef TANDEM_BINARY_SCALAR

Tensor operator%(const Tensor& x, const Tensor& y) { return remainder(x, y); }
Tensor operator%(const Tensor& x, const Scalar& y) { return remainder(x, y); }
Tensor remainder(const Scalar& x, const Tensor& y) { return remainder(wrapped_number(x), y); }
Tensor xlogy(const Scalar& x, const Tensor& y) { return xlogy(wrapped_number(x), y); }

// -- division with a rounding mode ------------------------------------------------------------
namespace {
const OpDef& division(std::optional<std::string_view> mode) {
  if (!mode) return kDiv;
  TANDEM_CHECK(*mode == "trunc" || *mode == "floor",
               "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
               *mode, "'");
  return *mode == "floor" ? kFloorDivide : kTruncDivide;
}
}  // namespace

Tensor div(const Tensor& x, const Tensor& y, std::optional<std::string_view> mode) {
  return apply(division(mode), {x, y});
}
Tensor div(const Tensor& x, const Scalar& y, std::optional<std::string_view> mode) {
  return apply(division(mode), {x, wrapped_number(y)});
}
Tensor Tensor::div(const Tensor& o, std::optional<std::string_view> mode) const {
  return tandem::div(*this, o, mode);
}
Tensor Tensor::div(const Scalar& o, std::optional<std::string_view> mode) const {
  return tandem::div(*this, o, mode);
}
Tensor& Tensor::div_(const Tensor& o, std::optional<std::string_view> mode) const {
  return apply_inplace(division(mode), *this, {*this, o});
}
Tensor& Tensor::div_(const Scalar& o, std::optional<std::string_view> mode) const {
  return div_(wrapped_number(o), mode);
}

// -- powers -----------------------------------------------------------------------------------
Tensor pow(const Tensor& x, const Tensor& y) { return apply(kPow, {x, y}); }
Tensor pow(const Tensor& x, const Scalar& e) {
  if (e.equal(2)) return x.dtype() == kBool ? apply(kPow, {x, wrapped_number(e)}) : x.square();
  if (x.is_floating_point()) {
    if (e.equal(0.5)) return x.sqrt();
    if (e.equal(-0.5)) return x.rsqrt();
    if (e.equal(-1)) return x.reciprocal();
    if (e.equal(1)) return x.clone();
  }
  TANDEM_CHECK(is_floating(x.dtype()) || e.isFloatingPoint() || e.toLong() >= 0,
               "pow: Integers to negative integer powers are not allowed.");
  return apply(kPow, {x, wrapped_number(e)});
}
Tensor pow(const Scalar& x, const Tensor& y) { return apply(kPow, {wrapped_number(x), y}); }
Tensor Tensor::pow(const Tensor& e) const { return tandem::pow(*this, e); }
Tensor Tensor::pow(const Scalar& e) const { return tandem::pow(*this, e); }
Tensor& Tensor::pow_(const Tensor& e) const { return apply_inplace(kPow, *this, {*this, e}); }
Tensor& Tensor::pow_(const Scalar& e) const {
  if (e.equal(2) && dtype() != kBool) return square_();
  if (is_floating_point()) {
    if (e.equal(0.5)) return sqrt_();
    if (e.equal(-0.5)) return rsqrt_();
    if (e.equal(-1)) return reciprocal_();
  }
  TANDEM_CHECK(is_floating_point() || e.isFloatingPoint() || e.toLong() >= 0,
               "pow_: Integers to negative integer powers are not allowed.");
  return apply_inplace(kPow, *this, {*this, wrapped_number(e)});
}
Tensor float_power(const Tensor& x, const Tensor& y) { return pow(x.to(kDouble), y.to(kDouble)); }
Tensor float_power(const Tensor& x, const Scalar& y) { return pow(x.to(kDouble), y.toDouble()); }
Tensor Tensor::float_power(const Tensor& e) const { return tandem::float_power(*this, e); }
Tensor Tensor::float_power(const Scalar& e) const { return tandem::float_power(*this, e); }
Tensor float_power(const Scalar& x, const Tensor& y) { return pow(x.toDouble(), y.to(kDouble)); }
Tensor& Tensor::float_power_(const Tensor& e) const {
  TANDEM_CHECK_TYPE(dtype() == kDouble, "float_power_: the base given to float_power_ has dtype ",
                    dtype(), " but the operation's result requires dtype Double");
  return pow_(e.to(kDouble));
}
Tensor& Tensor::float_power_(const Scalar& e) const {
  TANDEM_CHECK_TYPE(dtype() == kDouble, "float_power_: the base given to float_power_ has dtype ",
                    dtype(), " but the operation's result requires dtype Double");
  return pow_(e.toDouble());
}
Tensor& Tensor::ldexp_(const Tensor& o) const { return mul_(tandem::pow(2.0, o)); }
Tensor ldexp(const Tensor& x, const Tensor& y) { return x * pow(2.0, y); }
Tensor Tensor::ldexp(const Tensor& o) const { return tandem::ldexp(*this, o); }

Tensor rsub(const Tensor& x, const Tensor& y, const Scalar& alpha) { return sub(y, x, alpha); }
Tensor rsub(const Tensor& x, const Scalar& y, const Scalar& alpha) {
  return sub(wrapped_number(y), x, alpha);
}

}  // namespace tandem
