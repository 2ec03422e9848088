#include "tandem/ops/unary.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLn10 = 2.30258509299404568402;
constexpr double kPi = 3.14159265358979323846;
constexpr double kTwoOverSqrtPi = 1.12837916709551257390;

}  // namespace

// Gradients that are worth a kernel of their own: networks spend their time here.

TANDEM_OP(kTanhBackward) = {
    .name = "tanh_backward",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? apply(kTanhBackward, {a.grad(), a.input(1)}) : Tensor(),
              a.needs(1) ? a.grad() * a.input(0) * a.input(1) * -2 : Tensor()};
    },
    .map = MapFn::tanh_backward,
    .inputs = 2,
};

TANDEM_OP(kSigmoidBackward) = {
    .name = "sigmoid_backward",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? apply(kSigmoidBackward, {a.grad(), a.input(1)}) : Tensor(),
              a.needs(1) ? a.grad() * a.input(0) * (1 - a.input(1) * 2) : Tensor()};
    },
    .map = MapFn::sigmoid_backward,
    .inputs = 2,
};

// The gradient where the result exceeds the threshold, else nothing.
TANDEM_OP(kReluBackward) = {
    .name = "relu_backward",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(1), 0),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? apply(kReluBackward, {a.grad(), a.input(1)}, a.attr_ref()) : Tensor(),
              a.needs(1) ? zeros_like(a.grad()) : Tensor()};
    },
    .map = MapFn::relu_backward,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 2,
};

TANDEM_OP(kAbs) = {
    .name = "abs",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input().sign()}; },
    .map = MapFn::abs,
    .inputs = 1,
};

TANDEM_OP(kSign) = {
    .name = "sign",
    .infer = infer_map,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {zeros_like(a.grad())}; },
    .map = MapFn::sign,
    .inputs = 1,
};

TANDEM_OP(kSquare) = {
    .name = "square",
    .infer =
        [](const InferArgs& a) {
          infer_map(a);
          if (a.out().dtype == kBool) a.out().dtype = kLong;
        },
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input() * 2}; },
    .map = MapFn::square,
    .inputs = 1,
};

TANDEM_OP(kSqrt) = {
    .name = "sqrt",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (a.output() * 2)}; },
    .map = MapFn::sqrt,
    .inputs = 1,
};

TANDEM_OP(kRsqrt) = {
    .name = "rsqrt",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.output().pow(3) * -0.5}; },
    .map = MapFn::rsqrt,
    .inputs = 1,
};

TANDEM_OP(kReciprocal) = {
    .name = "reciprocal",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {-a.grad() * a.output() * a.output()}; },
    .map = MapFn::reciprocal,
    .inputs = 1,
};

TANDEM_OP(kFloor) = {
    .name = "floor",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {zeros_like(a.grad())}; },
    .map = MapFn::floor,
    .inputs = 1,
};

TANDEM_OP(kCeil) = {
    .name = "ceil",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {zeros_like(a.grad())}; },
    .map = MapFn::ceil,
    .inputs = 1,
};

TANDEM_OP(kRound) = {
    .name = "round",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {zeros_like(a.grad())}; },
    .map = MapFn::round,
    .inputs = 1,
};

TANDEM_OP(kTrunc) = {
    .name = "trunc",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {zeros_like(a.grad())}; },
    .map = MapFn::trunc,
    .inputs = 1,
};

TANDEM_OP(kFrac) = {
    .name = "frac",
    .infer = infer_map_real,
    .kernel = map_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad()}; },
    .map = MapFn::frac,
    .inputs = 1,
};

TANDEM_OP(kExp) = {
    .name = "exp",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.output()}; },
    .map = MapFn::exp,
    .inputs = 1,
};

TANDEM_OP(kExp2) = {
    .name = "exp2",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.output() * kLn2}; },
    .map = MapFn::exp2,
    .inputs = 1,
};

TANDEM_OP(kExpm1) = {
    .name = "expm1",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * (a.output() + 1)}; },
    .map = MapFn::expm1,
    .inputs = 1,
};

TANDEM_OP(kLog) = {
    .name = "log",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / a.input()}; },
    .map = MapFn::log,
    .inputs = 1,
};

TANDEM_OP(kLog2) = {
    .name = "log2",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (a.input() * kLn2)}; },
    .map = MapFn::log2,
    .inputs = 1,
};

TANDEM_OP(kLog10) = {
    .name = "log10",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (a.input() * kLn10)}; },
    .map = MapFn::log10,
    .inputs = 1,
};

TANDEM_OP(kLog1P) = {
    .name = "log1p",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (a.input() + 1)}; },
    .map = MapFn::log1p,
    .inputs = 1,
};

TANDEM_OP(kSin) = {
    .name = "sin",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input().cos()}; },
    .map = MapFn::sin,
    .inputs = 1,
};

TANDEM_OP(kCos) = {
    .name = "cos",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {-a.grad() * a.input().sin()}; },
    .map = MapFn::cos,
    .inputs = 1,
};

TANDEM_OP(kTan) = {
    .name = "tan",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * (a.output().square() + 1)}; },
    .map = MapFn::tan,
    .inputs = 1,
};

TANDEM_OP(kAsin) = {
    .name = "asin",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * (1 - a.input().square()).rsqrt()}; },
    .map = MapFn::asin,
    .inputs = 1,
};

TANDEM_OP(kAcos) = {
    .name = "acos",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {-a.grad() * (1 - a.input().square()).rsqrt()}; },
    .map = MapFn::acos,
    .inputs = 1,
};

TANDEM_OP(kAtan) = {
    .name = "atan",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (a.input().square() + 1)}; },
    .map = MapFn::atan,
    .inputs = 1,
};

TANDEM_OP(kSinh) = {
    .name = "sinh",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input().cosh()}; },
    .map = MapFn::sinh,
    .inputs = 1,
};

TANDEM_OP(kCosh) = {
    .name = "cosh",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input().sinh()}; },
    .map = MapFn::cosh,
    .inputs = 1,
};

TANDEM_OP(kTanh) = {
    .name = "tanh",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {apply(kTanhBackward, {a.grad(), a.output()})};
    },
    .map = MapFn::tanh,
    .inputs = 1,
};

TANDEM_OP(kAsinh) = {
    .name = "asinh",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * (a.input().square() + 1).rsqrt()}; },
    .map = MapFn::asinh,
    .inputs = 1,
};

TANDEM_OP(kAcosh) = {
    .name = "acosh",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * (a.input().square() - 1).rsqrt()}; },
    .map = MapFn::acosh,
    .inputs = 1,
};

TANDEM_OP(kAtanh) = {
    .name = "atanh",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (1 - a.input().square())}; },
    .map = MapFn::atanh,
    .inputs = 1,
};

TANDEM_OP(kSigmoid) = {
    .name = "sigmoid",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {apply(kSigmoidBackward, {a.grad(), a.output()})};
    },
    .map = MapFn::sigmoid,
    .inputs = 1,
};

TANDEM_OP(kErf) = {
    .name = "erf",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad() * (-a.input().square()).exp() * kTwoOverSqrtPi};
    },
    .map = MapFn::erf,
    .inputs = 1,
};

TANDEM_OP(kErfc) = {
    .name = "erfc",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad() * (-a.input().square()).exp() * -kTwoOverSqrtPi};
    },
    .map = MapFn::erfc,
    .inputs = 1,
};

TANDEM_OP(kErfinv) = {
    .name = "erfinv",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad() * a.output().square().exp() * (1 / kTwoOverSqrtPi)};
    },
    .map = MapFn::erfinv,
    .inputs = 1,
};

TANDEM_OP(kLgamma) = {
    .name = "lgamma",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input().digamma()}; },
    .map = MapFn::lgamma,
    .inputs = 1,
};

TANDEM_OP(kDigamma) = {
    .name = "digamma",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * polygamma(1, a.input())}; },
    .map = MapFn::digamma,
    .inputs = 1,
};

TANDEM_OP(kRelu) = {
    .name = "relu",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {apply(kReluBackward, {a.grad(), a.output()}, MapAttrs{})};
    },
    .map = MapFn::relu,
    .inputs = 1,
};

TANDEM_OP(kPolygamma) = {
    .name = "polygamma",
    .infer = infer_map_float,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad() * polygamma(static_cast<int64_t>(a.attrs<MapAttrs>().a) + 1, a.input())};
    },
    .map = MapFn::polygamma,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kNanToNum) = {
    .name = "nan_to_num",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * isfinite(a.input())}; },
    .map = MapFn::nan_to_num,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

#define TANDEM_UNARY(name, op)                               \
  Tensor name(const Tensor& x) { return apply(op, {x}); }    \
  Tensor Tensor::name() const { return apply(op, {*this}); } \
  Tensor& Tensor::name##_() const { return apply_inplace(op, *this, {*this}); }

TANDEM_UNARY(abs, kAbs)
TANDEM_UNARY(sign, kSign)
TANDEM_UNARY(square, kSquare)
TANDEM_UNARY(sqrt, kSqrt)
TANDEM_UNARY(rsqrt, kRsqrt)
TANDEM_UNARY(reciprocal, kReciprocal)
TANDEM_UNARY(floor, kFloor)
TANDEM_UNARY(ceil, kCeil)
TANDEM_UNARY(round, kRound)
TANDEM_UNARY(trunc, kTrunc)
TANDEM_UNARY(frac, kFrac)
TANDEM_UNARY(exp, kExp)
TANDEM_UNARY(exp2, kExp2)
TANDEM_UNARY(expm1, kExpm1)
TANDEM_UNARY(log, kLog)
TANDEM_UNARY(log2, kLog2)
TANDEM_UNARY(log10, kLog10)
TANDEM_UNARY(log1p, kLog1P)
TANDEM_UNARY(sin, kSin)
TANDEM_UNARY(cos, kCos)
TANDEM_UNARY(tan, kTan)
TANDEM_UNARY(asin, kAsin)
TANDEM_UNARY(acos, kAcos)
TANDEM_UNARY(atan, kAtan)
TANDEM_UNARY(sinh, kSinh)
TANDEM_UNARY(cosh, kCosh)
TANDEM_UNARY(tanh, kTanh)
TANDEM_UNARY(asinh, kAsinh)
TANDEM_UNARY(acosh, kAcosh)
TANDEM_UNARY(atanh, kAtanh)
TANDEM_UNARY(sigmoid, kSigmoid)
TANDEM_UNARY(erf, kErf)
TANDEM_UNARY(erfc, kErfc)
TANDEM_UNARY(erfinv, kErfinv)
TANDEM_UNARY(lgamma, kLgamma)
TANDEM_UNARY(digamma, kDigamma)
TANDEM_UNARY(relu, kRelu)

#undef TANDEM_UNARY

Tensor round(const Tensor& x, int64_t decimals) { return x.round(decimals); }
Tensor Tensor::round(int64_t decimals) const {
  if (decimals == 0) return round();
  TANDEM_CHECK_TYPE(is_floating_point(), "round: decimals of a tensor of ", name_of(dtype()),
                    " cannot be rounded");
  const double scale = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return decimals > 0 ? (*this * scale).round() / scale : (*this / scale).round() * scale;
}

namespace {
// The in-place form of a composite: its result written over what it was made from. The result is
// made from a copy, since its gradient may need the values that are overwritten.
Tensor& overwrite(const char* name, const Tensor& self, const Tensor& result) {
  TANDEM_CHECK_TYPE(can_cast(result.dtype(), self.dtype()), name, "_: result type ", result.dtype(),
                    " can't be cast to the desired output type ", self.dtype());
  return self.copy_(result);
}
}  // namespace

Tensor& Tensor::round_(int64_t decimals) const {
  return decimals == 0 ? round_() : overwrite("round", *this, clone().round(decimals));
}

Tensor angle(const Tensor& x) {
  const Tensor y = x.is_floating_point() ? x : x.to(default_real_dtype());
  return where(y.isnan(), y, where(y < 0, full_like(y, kPi), zeros_like(y)));
}
Tensor Tensor::angle() const { return tandem::angle(*this); }

Tensor polygamma(int64_t n, const Tensor& x) {
  TANDEM_CHECK(n >= 0, "polygamma(n, x) does not support negative n, got ", n);
  if (n == 0) return x.digamma();
  return apply(kPolygamma, {x}, MapAttrs{static_cast<double>(n)});
}
Tensor Tensor::polygamma(int64_t n) const { return tandem::polygamma(n, *this); }
Tensor& Tensor::polygamma_(int64_t n) const {
  return overwrite("polygamma", *this, clone().polygamma(n));
}

Tensor logit(const Tensor& x, std::optional<double> eps) {
  const Tensor y = x.is_floating_point() ? x : x.to(default_real_dtype());
  if (eps) {
    const Tensor p = y.clamp(*eps, 1 - *eps);
    return (p / (1 - p)).log();
  }
  // A factor, since outside of [0, 1] the gradient is nan, too.
  const Tensor p = y * where((y < 0) | (y > 1), std::nan(""), ones_like(y));
  return (p / (1 - p)).log();
}
Tensor Tensor::logit(std::optional<double> eps) const { return tandem::logit(*this, eps); }
Tensor& Tensor::logit_(std::optional<double> eps) const {
  return overwrite("logit", *this, clone().logit(eps));
}

Tensor sinc(const Tensor& x) {
  const Tensor y = x * kPi;
  // Both branches are finite at 0, and so are their gradients.
  const Tensor zero = y == 0;
  const Tensor safe = where(zero, ones_like(y), y);
  return where(zero, 1 - y * y / 6, safe.sin() / safe);
}
Tensor Tensor::sinc() const { return tandem::sinc(*this); }
Tensor& Tensor::sinc_() const { return overwrite("sinc", *this, clone().sinc()); }

Tensor Tensor::positive() const {
  TANDEM_CHECK_TYPE(dtype() != kBool,
                    "positive: The `+` operator, on a bool tensor is not supported.");
  return *this;
}

Tensor deg2rad(const Tensor& x) { return x * (kPi / 180); }
Tensor rad2deg(const Tensor& x) { return x * (180 / kPi); }
Tensor Tensor::deg2rad() const { return tandem::deg2rad(*this); }
Tensor Tensor::rad2deg() const { return tandem::rad2deg(*this); }
Tensor& Tensor::deg2rad_() const { return mul_(kPi / 180); }
Tensor& Tensor::rad2deg_() const { return mul_(180 / kPi); }

namespace {
MapAttrs nan_to_num_attrs(DType t, std::optional<double> nan, std::optional<double> posinf,
                          std::optional<double> neginf) {
  const double largest = dispatch(t, [](auto v) -> double {
    return static_cast<double>(std::numeric_limits<decltype(v)>::max());
  });
  return {nan.value_or(0), posinf.value_or(largest), neginf.value_or(-largest)};
}
}  // namespace

Tensor nan_to_num(const Tensor& x, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  return apply(kNanToNum, {x}, nan_to_num_attrs(x.dtype(), nan, posinf, neginf));
}
Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf,
                          std::optional<double> neginf) const {
  return tandem::nan_to_num(*this, nan, posinf, neginf);
}
Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf,
                            std::optional<double> neginf) const {
  return apply_inplace(kNanToNum, *this, {*this}, nan_to_num_attrs(dtype(), nan, posinf, neginf));
}

}  // namespace tandem
