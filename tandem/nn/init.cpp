#include "tandem/nn/init.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/ops/ops.h"

namespace tandem::nn::init {

namespace {

thread_local bool t_skip = false;

double kaiming_std(const Tensor& tensor, double a, FanModeType mode,
                   NonlinearityType nonlinearity) {
  const auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  const bool in = std::holds_alternative<enumtype::kFanIn>(mode);
  return calculate_gain(nonlinearity, a) / std::sqrt(static_cast<double>(in ? fan_in : fan_out));
}

double xavier_std(const Tensor& tensor, double gain) {
  const auto [fan_in, fan_out] = _calculate_fan_in_and_fan_out(tensor);
  return gain * std::sqrt(2.0 / static_cast<double>(fan_in + fan_out));
}

// A layer without inputs has no values to fill, and no scale for them either.
Tensor fill_normal(Tensor tensor, double std) {
  return tensor.numel() == 0 ? tensor : normal_(std::move(tensor), 0, std);
}
Tensor fill_uniform(Tensor tensor, double std) {
  const double bound = std::sqrt(3.0) * std;  // of a uniform distribution with that deviation
  return tensor.numel() == 0 ? tensor : uniform_(std::move(tensor), -bound, bound);
}

}  // namespace

SkipGuard::SkipGuard() : before_(std::exchange(t_skip, true)) {}
SkipGuard::~SkipGuard() { t_skip = before_; }

double calculate_gain(NonlinearityType nonlinearity, double param) {
  if (std::holds_alternative<enumtype::kTanh>(nonlinearity)) return 5.0 / 3.0;
  if (std::holds_alternative<enumtype::kReLU>(nonlinearity)) return std::sqrt(2.0);
  if (std::holds_alternative<enumtype::kLeakyReLU>(nonlinearity))
    return std::sqrt(2.0 / (1 + param * param));
  return 1;
}

Tensor constant_(Tensor tensor, Scalar value) {
  NoGradGuard no_grad;
  return tensor.fill_(value);
}
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }
Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }

Tensor eye_(Tensor matrix) {
  NoGradGuard no_grad;
  TANDEM_CHECK_SHAPE(matrix.dim() == 2, "eye_: Only tensors with 2 dimensions are supported, not ",
                     matrix.sizes());
  matrix.zero_();
  matrix.diagonal().fill_(1);
  return matrix;
}

Tensor dirac_(Tensor tensor) {
  NoGradGuard no_grad;
  TANDEM_CHECK_SHAPE(tensor.dim() >= 3 && tensor.dim() <= 5,
                     "dirac_: Only tensors with 3, 4, or 5 dimensions are supported, not ",
                     tensor.sizes());
  tensor.zero_();
  if (tensor.numel() == 0) return tensor;
  Tensor center = tensor;
  while (center.dim() > 2) center = center.select(2, center.size(2) / 2);
  center.diagonal().fill_(1);
  return tensor;
}

Tensor normal_(Tensor tensor, double mean, double std) {
  NoGradGuard no_grad;
  return t_skip ? tensor : tensor.normal_(mean, std);
}

Tensor uniform_(Tensor tensor, double low, double high) {
  NoGradGuard no_grad;
  return t_skip ? tensor : tensor.uniform_(low, high);
}

Tensor orthogonal_(Tensor tensor, double gain) {
  NoGradGuard no_grad;
  TANDEM_CHECK_SHAPE(tensor.dim() >= 2,
                     "orthogonal_: Only tensors with 2 or more dimensions are supported, not ",
                     tensor.sizes());
  if (tensor.numel() == 0 || t_skip) return tensor;
  const int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const bool wide = rows < columns;
  auto [q, r] = linalg_qr(wide ? randn({columns, rows}, tensor.options().requires_grad(false))
                               : randn({rows, columns}, tensor.options().requires_grad(false)));
  // Signs that make the diagonal of r positive: then the distribution is uniform.
  q = q * r.diagonal().sign();
  if (wide) q = q.t();
  tensor.copy_((q * gain).reshape(tensor.sizes()));
  return tensor;
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  NoGradGuard no_grad;
  TANDEM_CHECK_SHAPE(
      tensor.dim() == 2,
      "sparse_: Only tensors with 2 dimensions are supported for sparse initialization, not ",
      tensor.sizes());
  TANDEM_CHECK_AS(ValueError, sparsity >= 0 && sparsity <= 1,
                  "sparse_: the share of zeros is to be between 0 and 1, but is ", sparsity);
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  const auto zeros = static_cast<int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
  if (t_skip) return tensor;
  tensor.normal_(0, std);
  if (zeros == 0 || tensor.numel() == 0) return tensor;
  const Tensor order = rand({rows, columns}).argsort(int64_t{0});
  tensor.scatter_(0, order.narrow(0, 0, zeros), 0);
  return tensor;
}

Tensor kaiming_normal_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return fill_normal(std::move(tensor), std);
}

Tensor kaiming_uniform_(Tensor tensor, double a, FanModeType mode, NonlinearityType nonlinearity) {
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return fill_uniform(std::move(tensor), std);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return fill_normal(std::move(tensor), std);
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const double std = xavier_std(tensor, gain);
  return fill_uniform(std::move(tensor), std);
}

std::tuple<int64_t, int64_t> _calculate_fan_in_and_fan_out(const Tensor& tensor) {
  TANDEM_CHECK_SHAPE(tensor.dim() >= 2,
                     "Fan in and fan out can not be computed for tensor with fewer than 2 "
                     "dimensions, here ",
                     tensor.sizes());
  int64_t field = 1;  // how many places of the input a convolution looks at
  for (int64_t d = 2; d < tensor.dim(); ++d) field *= tensor.size(d);
  return {tensor.size(1) * field, tensor.size(0) * field};
}

}  // namespace tandem::nn::init
