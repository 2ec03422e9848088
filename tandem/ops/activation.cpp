#include "tandem/ops/activation.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// Networks are made of real numbers: integers here are a mistake.
void infer_activation(const InferArgs& a) {
  TANDEM_CHECK_TYPE(is_floating(a.in().dtype), a.op.name,
                    ": expected a floating point tensor, got ", a.in());
  infer_map(a);
}

Tensor silu_grad(const Tensor& g, const Tensor& x) {
  const Tensor s = x.sigmoid();
  return g * s * (x * (1 - s) + 1);
}

Tensor mish_grad(const Tensor& g, const Tensor& x) {
  const Tensor t = softplus(x).tanh();
  return g * (t + x * x.sigmoid() * (1 - t.square()));
}

Tensor gelu_grad(const Tensor& g, const Tensor& x) {
  const Tensor cdf = (x * M_SQRT1_2).erf() * 0.5 + 0.5;
  const Tensor pdf = (x.square() * -0.5).exp() * (0.5 * M_2_SQRTPI * M_SQRT1_2);
  return g * (cdf + x * pdf);
}

Tensor gelu_tanh_grad(const Tensor& g, const Tensor& x) {
  constexpr double kBeta = M_SQRT2 * M_2_SQRTPI * 0.5, kKappa = 0.044715;
  const Tensor t = ((x + x.pow(3) * kKappa) * kBeta).tanh();
  const Tensor inner = (x.square() * (3 * kKappa) + 1) * kBeta;
  return g * ((t + 1) * 0.5 + x * 0.5 * (1 - t.square()) * inner);
}

}  // namespace

TANDEM_OP(kLeakyReluBackward) = {
    .name = "leaky_relu_backward",
    .infer = infer_map,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(1), 0),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {
          a.needs(0) ? apply(kLeakyReluBackward, {a.grad(), a.input(1)}, a.attr_ref()) : Tensor(),
          a.needs(1) ? zeros_like(a.grad()) : Tensor()};
    },
    .map = MapFn::leaky_relu_backward,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 2,
};

TANDEM_OP(kLeakyRelu) = {
    .name = "leaky_relu",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {apply(kLeakyReluBackward, {a.grad(), a.input()}, a.attr_ref())};
    },
    .map = MapFn::leaky_relu,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kElu) = {
    .name = "elu",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& m = a.attrs<MapAttrs>();
      const Tensor left = a.grad() * (a.input() * m.c).exp() * (m.a * m.b * m.c);
      return {where(a.input() <= 0, left, a.grad() * m.b)};
    },
    .map = MapFn::elu,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kSoftplus) = {
    .name = "softplus",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {where(a.input() * a.attrs<MapAttrs>().a > a.attrs<MapAttrs>().b, a.grad(),
                    a.grad() * (a.input() * a.attrs<MapAttrs>().a).sigmoid())};
    },
    .map = MapFn::softplus,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kSilu) = {
    .name = "silu",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {silu_grad(a.grad(), a.input())}; },
    .map = MapFn::silu,
    .inputs = 1,
};

TANDEM_OP(kMish) = {
    .name = "mish",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {mish_grad(a.grad(), a.input())}; },
    .map = MapFn::mish,
    .inputs = 1,
};

TANDEM_OP(kGelu) = {
    .name = "gelu",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {gelu_grad(a.grad(), a.input())}; },
    .map = MapFn::gelu,
    .inputs = 1,
};

TANDEM_OP(kGeluTanh) = {
    .name = "gelu_tanh",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {gelu_tanh_grad(a.grad(), a.input())}; },
    .map = MapFn::gelu_tanh,
    .inputs = 1,
};

TANDEM_OP(kLogSigmoid) = {
    .name = "log_sigmoid",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * (-a.input()).sigmoid()}; },
    .map = MapFn::log_sigmoid,
    .inputs = 1,
};

TANDEM_OP(kHardsigmoid) = {
    .name = "hardsigmoid",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {where((a.input() > -3) & (a.input() < 3), a.grad() / 6, 0)};
    },
    .map = MapFn::hardsigmoid,
    .inputs = 1,
};

TANDEM_OP(kHardswish) = {
    .name = "hardswish",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {where(a.input() < -3, 0,
                    where(a.input() <= 3, a.grad() * (a.input() / 3 + 0.5), a.grad()))};
    },
    .map = MapFn::hardswish,
    .inputs = 1,
};

TANDEM_OP(kSoftsign) = {
    .name = "softsign",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() / (a.input().abs() + 1).square()}; },
    .map = MapFn::softsign,
    .inputs = 1,
};

TANDEM_OP(kTanhshrink) = {
    .name = "tanhshrink",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad() * a.input().tanh().square()}; },
    .map = MapFn::tanhshrink,
    .inputs = 1,
};

TANDEM_OP(kHardshrink) = {
    .name = "hardshrink",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {where(a.input().abs() <= a.attrs<MapAttrs>().a, 0, a.grad())};
    },
    .map = MapFn::hardshrink,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kSoftshrink) = {
    .name = "softshrink",
    .infer = infer_activation,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {where(a.input().abs() <= a.attrs<MapAttrs>().a, 0, a.grad())};
    },
    .map = MapFn::softshrink,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

TANDEM_OP(kThreshold) = {
    .name = "threshold",
    .infer = infer_map_number,
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {where(a.input() <= a.attrs<MapAttrs>().a, 0, a.grad())};
    },
    .map = MapFn::threshold,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

// Clamps, but unlike clamp's its gradient is 0 at the bounds.
TANDEM_OP(kHardtanh) = {
    .name = "hardtanh",
    .infer =
        [](const InferArgs& a) {
          infer_map_number(a);
          TANDEM_CHECK_TYPE(
              a.in().dtype != kByte || a.attrs<MapAttrs>().a >= 0,
              "hardtanh: cannot do hardtanh on an unsigned type with negative limits");
        },
    .kernel = map_kernel,
    .saves = Saves::each(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& m = a.attrs<MapAttrs>();
      return {where((a.input() <= m.a) | (a.input() >= m.b), 0, a.grad())};
    },
    .map = MapFn::clamp,
    .attrs = attrs_of<MapAttrs>,
    .inputs = 1,
};

Tensor leaky_relu(const Tensor& x, const Scalar& slope) {
  return apply(kLeakyRelu, {x}, MapAttrs{slope.toDouble()});
}
Tensor& leaky_relu_(const Tensor& x, const Scalar& slope) {
  return apply_inplace(kLeakyRelu, x, {x}, MapAttrs{slope.toDouble()});
}
Tensor elu(const Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return apply(kElu, {x}, MapAttrs{alpha.toDouble(), scale.toDouble(), input_scale.toDouble()});
}
Tensor& elu_(const Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  return apply_inplace(kElu, x, {x},
                       MapAttrs{alpha.toDouble(), scale.toDouble(), input_scale.toDouble()});
}
Tensor selu(const Tensor& x) {
  return elu(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
}
Tensor& selu_(const Tensor& x) {
  return elu_(x, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946);
}
Tensor& celu_(const Tensor& x, const Scalar& alpha) {
  TANDEM_CHECK(alpha.toDouble() != 0, "celu_: ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu_(x, alpha, 1, 1 / alpha.toDouble());
}
Tensor celu(const Tensor& x, const Scalar& alpha) {
  TANDEM_CHECK(alpha.toDouble() != 0, "celu: ZeroDivisionError: alpha cannot be 0 for CELU");
  return elu(x, alpha, 1, 1 / alpha.toDouble());
}
Tensor softplus(const Tensor& x, const Scalar& beta, const Scalar& threshold) {
  return apply(kSoftplus, {x}, MapAttrs{beta.toDouble(), threshold.toDouble()});
}
Tensor silu(const Tensor& x) { return apply(kSilu, {x}); }
Tensor& silu_(const Tensor& x) { return apply_inplace(kSilu, x, {x}); }
Tensor mish(const Tensor& x) { return apply(kMish, {x}); }
Tensor& mish_(const Tensor& x) { return apply_inplace(kMish, x, {x}); }
namespace {
const OpDef& gelu_op(std::string_view approximate) {
  TANDEM_CHECK(approximate == "none" || approximate == "tanh",
               "gelu: approximate argument must be either none or tanh, got ", approximate);
  return approximate == "tanh" ? kGeluTanh : kGelu;
}
}  // namespace
Tensor gelu(const Tensor& x, std::string_view approximate) {
  return apply(gelu_op(approximate), {x});
}
Tensor& gelu_(const Tensor& x, std::string_view approximate) {
  return apply_inplace(gelu_op(approximate), x, {x});
}
Tensor log_sigmoid(const Tensor& x) { return apply(kLogSigmoid, {x}); }
Tensor hardsigmoid(const Tensor& x) { return apply(kHardsigmoid, {x}); }
Tensor hardswish(const Tensor& x) { return apply(kHardswish, {x}); }
Tensor& hardsigmoid_(const Tensor& x) { return apply_inplace(kHardsigmoid, x, {x}); }
Tensor& hardswish_(const Tensor& x) { return apply_inplace(kHardswish, x, {x}); }
Tensor softsign(const Tensor& x) { return apply(kSoftsign, {x}); }
Tensor tanhshrink(const Tensor& x) { return apply(kTanhshrink, {x}); }
Tensor hardshrink(const Tensor& x, const Scalar& lambda) {
  return apply(kHardshrink, {x}, MapAttrs{lambda.toDouble()});
}
Tensor softshrink(const Tensor& x, const Scalar& lambda) {
  TANDEM_CHECK(lambda.toDouble() >= 0,
               "softshrink: lambda must be greater or equal to 0, but found to be ", lambda);
  return apply(kSoftshrink, {x}, MapAttrs{lambda.toDouble()});
}
Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value) {
  return apply(kThreshold, {x}, MapAttrs{threshold.toDouble(), value.toDouble()});
}
Tensor& threshold_(const Tensor& x, const Scalar& threshold, const Scalar& value) {
  return apply_inplace(kThreshold, x, {x}, MapAttrs{threshold.toDouble(), value.toDouble()});
}
Tensor hardtanh(const Tensor& x, const Scalar& min, const Scalar& max) {
  return apply(kHardtanh, {x}, MapAttrs{min.toDouble(), max.toDouble()});
}
Tensor& hardtanh_(const Tensor& x, const Scalar& min, const Scalar& max) {
  return apply_inplace(kHardtanh, x, {x}, MapAttrs{min.toDouble(), max.toDouble()});
}
Tensor& relu6_(const Tensor& x) { return hardtanh_(x, 0, 6); }
Tensor glu(const Tensor& x, int64_t dim) {
  TANDEM_CHECK_SHAPE(x.dim() > 0, "glu: does not support 0-dimensional tensors");
  const int64_t d = wrap_dim("glu", dim, x.dim());
  TANDEM_CHECK_SHAPE(x.size(d) % 2 == 0, "glu: Halving dimension must be even, but dimension ", d,
                     " is size ", x.size(d));
  const int64_t half = x.size(d) / 2;
  return x.narrow(d, 0, half) * x.narrow(d, half, half).sigmoid();
}
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }

Tensor prelu(const Tensor& x, const Tensor& weight) {
  TANDEM_CHECK_SHAPE(
      weight.dim() <= 1,
      "prelu: Expected `weight` to be a scalar or 1D tensor, but got ndim = ", weight.dim());
  TANDEM_CHECK_TYPE(x.is_floating_point() && x.dtype() == weight.dtype(),
                    "prelu: expected input and weight of one floating point dtype, got ", x.dtype(),
                    " and ", weight.dtype());
  Tensor w = weight;
  if (weight.numel() != 1) {
    TANDEM_CHECK_SHAPE(x.dim() > 0, "prelu: Not allow zero-dim input tensor.");
    const int64_t channels = x.dim() > 1 ? x.size(1) : 1;
    TANDEM_CHECK_SHAPE(channels == weight.numel(),
                       "prelu: Mismatch of parameter numbers and input channel size. "
                       "Found parameter numbers = ",
                       weight.numel(), " and channel size = ", channels, ".");
    Dims sizes(x.dim(), 1);
    sizes[x.dim() > 1 ? 1 : 0] = weight.numel();
    w = weight.reshape(sizes);
  }
  return where(x > 0, x, x * w);
}

Tensor Tensor::hardshrink(const Scalar& lambda) const { return tandem::hardshrink(*this, lambda); }
Tensor Tensor::prelu(const Tensor& weight) const { return tandem::prelu(*this, weight); }

}  // namespace tandem
