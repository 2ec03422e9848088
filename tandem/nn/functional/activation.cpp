#include "tandem/nn/functional/activation.h"

#include "tandem/core/recorder.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/random_op.h"

namespace tandem::nn::functional {

Tensor elu(Tensor input, const ELUFuncOptions& o) {
  return o.inplace() ? tandem::elu_(input, o.alpha()) : tandem::elu(input, o.alpha());
}
Tensor selu(Tensor input, const SELUFuncOptions& o) {
  return o.inplace() ? tandem::selu_(input) : tandem::selu(input);
}
Tensor hardshrink(const Tensor& input, const HardshrinkFuncOptions& o) {
  return tandem::hardshrink(input, o.lambda());
}
Tensor hardtanh(Tensor input, const HardtanhFuncOptions& o) {
  return o.inplace() ? tandem::hardtanh_(input, o.min_val(), o.max_val())
                     : tandem::hardtanh(input, o.min_val(), o.max_val());
}
Tensor hardsigmoid(Tensor input, const HardsigmoidFuncOptions& o) {
  return o.inplace() ? tandem::hardsigmoid_(input) : tandem::hardsigmoid(input);
}
Tensor hardswish(Tensor input, const HardswishFuncOptions& o) {
  return o.inplace() ? tandem::hardswish_(input) : tandem::hardswish(input);
}
Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& o) {
  return o.inplace() ? tandem::leaky_relu_(input, o.negative_slope())
                     : tandem::leaky_relu(input, o.negative_slope());
}
Tensor logsigmoid(const Tensor& input) { return tandem::log_sigmoid(input); }

Tensor gumbel_softmax(const Tensor& logits, const GumbelSoftmaxFuncOptions& o) {
  const int64_t dim = wrap_dim("gumbel_softmax", o.dim(), logits.dim());
  TANDEM_CHECK(o.tau() > 0, "gumbel_softmax: the temperature tau must be positive, got ", o.tau());
  // -log of exponentially distributed numbers is Gumbel's distribution.
  const auto draw = [&] {
    const OwnerScope scope(logits);
    return empty_like(logits.detach()).exponential_();
  };
  const Tensor noise = -draw().log();
  const Tensor soft = tandem::softmax((logits + noise) / o.tau(), dim);
  if (!o.hard()) return soft;
  const Tensor values = soft.detach();
  const Tensor at = values.argmax(dim, true);
  const Tensor hard = zeros_like(values).scatter(dim, at, ones_like(at).to(values.dtype()));
  // The value of the hard one, the gradient of the soft one.
  return hard - values + soft;
}

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& o) {
  return tandem::softmax(input, o.dim(), o.dtype());
}
Tensor softmin(const Tensor& input, const SoftminFuncOptions& o) {
  return tandem::softmax(-input, o.dim(), o.dtype());
}
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& o) {
  return tandem::log_softmax(input, o.dim(), o.dtype());
}
Tensor glu(const Tensor& input, const GLUFuncOptions& o) { return tandem::glu(input, o.dim()); }
Tensor gelu(const Tensor& input, const GELUFuncOptions& o) {
  return tandem::gelu(input, o.approximate());
}
Tensor silu(const Tensor& input) { return tandem::silu(input); }
Tensor mish(const Tensor& input) { return tandem::mish(input); }
Tensor prelu(const Tensor& input, const Tensor& weight) { return tandem::prelu(input, weight); }
Tensor relu(Tensor input, const ReLUFuncOptions& o) {
  return o.inplace() ? input.relu_() : input.relu();
}
Tensor relu6(Tensor input, const ReLU6FuncOptions& o) {
  return o.inplace() ? tandem::relu6_(input) : tandem::relu6(input);
}
Tensor rrelu(Tensor input, const RReLUFuncOptions& o) {
  return o.inplace() ? tandem::rrelu_(input, o.lower(), o.upper(), o.training())
                     : tandem::rrelu(input, o.lower(), o.upper(), o.training());
}
Tensor celu(Tensor input, const CELUFuncOptions& o) {
  return o.inplace() ? tandem::celu_(input, o.alpha()) : tandem::celu(input, o.alpha());
}
Tensor softplus(const Tensor& input, const SoftplusFuncOptions& o) {
  return tandem::softplus(input, o.beta(), o.threshold());
}
Tensor softshrink(const Tensor& input, const SoftshrinkFuncOptions& o) {
  return tandem::softshrink(input, o.lambda());
}
Tensor softsign(const Tensor& input) { return tandem::softsign(input); }
Tensor tanhshrink(const Tensor& input) { return tandem::tanhshrink(input); }
Tensor threshold(Tensor input, const ThresholdFuncOptions& o) {
  return o.inplace() ? tandem::threshold_(input, o.threshold(), o.value())
                     : tandem::threshold(input, o.threshold(), o.value());
}

}  // namespace tandem::nn::functional
