#include "tandem/nn/functional/normalization.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

// Statistics of single values are meaningless.
void check_values_per_channel(const Tensor& input, int64_t samples) {
  int64_t n = samples;
  for (int64_t d = 2; d < input.dim(); ++d) n *= input.size(d);
  TANDEM_CHECK_SHAPE(n != 1,
                     "Expected more than 1 value per channel when training, got input size ",
                     input.sizes());
}

// The sum of each channel's neighbours from `before` channels before it to `after` behind it.
Tensor sum_of_neighbours(const Tensor& x, int64_t before, int64_t after) {
  Dims pad(static_cast<size_t>(2 * (x.dim() - 1)), 0);
  pad[pad.size() - 2] = before;
  pad[pad.size() - 1] = after;
  const Tensor padded = constant_pad_nd(x, pad);
  Tensor sum = padded.narrow(1, 0, x.size(1));
  for (int64_t i = 1; i <= before + after; ++i) sum = sum + padded.narrow(1, i, x.size(1));
  return sum;
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& o) {
  TANDEM_CHECK_SHAPE(input.dim() >= 2, "Expected at least 2 input dimensions, but got ",
                     input.dim());
  if (o.training()) check_values_per_channel(input, input.size(0));
  return tandem::batch_norm(input, o.weight(), o.bias(), running_mean, running_var, o.training(),
                            o.momentum().value_or(0), o.eps());
}

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& o) {
  if (o.use_input_stats() && input.dim() > 2) check_values_per_channel(input, 1);
  return tandem::instance_norm(input, o.weight(), o.bias(), o.running_mean(), o.running_var(),
                               o.use_input_stats(), o.momentum(), o.eps());
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& o) {
  return tandem::layer_norm(input, o.normalized_shape(), o.weight(), o.bias(), o.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& o) {
  return tandem::group_norm(input, o.num_groups(), o.weight(), o.bias(), o.eps());
}

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& o) {
  TANDEM_CHECK_SHAPE(input.dim() >= 3, "Expected 3D or higher dimensionality input (got ",
                     input.dim(), " dimensions)");
  TANDEM_CHECK(o.size() >= 1, "local_response_norm: size must be at least 1, got ", o.size());
  const Tensor mean = sum_of_neighbours(input * input, o.size() / 2, (o.size() - 1) / 2) / o.size();
  return input / (mean * o.alpha() + o.k()).pow(o.beta());
}

Tensor cross_map_lrn2d(const Tensor& input, const CrossMapLRN2dFuncOptions& o) {
  TANDEM_CHECK_SHAPE(input.dim() == 4, "CrossMapLRN2d: Expected input to be 4D, got ", input.dim(),
                     "D instead.");
  TANDEM_CHECK(o.size() >= 1, "CrossMapLRN2d: size must be at least 1, got ", o.size());
  const int64_t side = (o.size() - 1) / 2;
  const Tensor sum = sum_of_neighbours(input * input, side, side);
  const double alpha = o.alpha() / static_cast<double>(o.size());
  return input * (sum * alpha + o.k()).pow(-o.beta());
}

Tensor normalize(const Tensor& input, NormalizeFuncOptions o) {
  const Tensor y = input / input.norm(o.p(), o.dim(), true).clamp_min(o.eps());
  if (!o.out()) return y;
  return o.out()->copy_(y);
}

}  // namespace tandem::nn::functional
