#include "tandem/nn/utils/clip_grad.h"

#include <cmath>
#include <limits>

#include "tandem/ops/ops.h"

namespace tandem::nn::utils {

namespace {

std::vector<Tensor> gradients_of(const char* name, const std::vector<Tensor>& parameters) {
  std::vector<Tensor> grads;
  grads.reserve(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    TANDEM_CHECK(parameters[i].defined(), name, ": parameter ", i, " is an undefined tensor");
    const Tensor& grad = parameters[i].grad();
    if (grad.defined()) grads.push_back(grad.detach());
  }
  return grads;
}

Tensor total_norm(const std::vector<Tensor>& grads, double norm_type) {
  if (norm_type == 0) return full({}, static_cast<double>(grads.size()));
  std::vector<Tensor> norms;
  for (const Tensor& grad : grads) {
    if (grad.numel() == 0) continue;
    norms.push_back(norm_type == std::numeric_limits<double>::infinity() ? grad.abs().max()
                                                                         : grad.norm(norm_type));
  }
  if (norms.empty()) return zeros({});
  if (norms.size() == 1) return norms[0];
  for (Tensor& norm : norms) norm = norm.to(norms[0].options());
  const Tensor all = stack(norms);
  return norm_type == std::numeric_limits<double>::infinity() ? all.max() : all.norm(norm_type);
}

}  // namespace

GradientNorm clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                             double norm_type, bool error_if_nonfinite) {
  NoGradGuard no_grad;
  TANDEM_CHECK_AS(ValueError, !std::isnan(norm_type),
                  "clip_grad_norm_: the type of the norm is not a number");
  const std::vector<Tensor> grads = gradients_of("clip_grad_norm_", parameters);
  if (grads.empty()) return GradientNorm(zeros({}));
  const Tensor norm = total_norm(grads, norm_type);
  if (error_if_nonfinite)
    TANDEM_CHECK(std::isfinite(norm.item<double>()), "The total norm of order ", norm_type,
                 " for gradients from `parameters` is non-finite, so it cannot be clipped. To "
                 "disable this error and scale the gradients with the non-finite norm anyway, set "
                 "`error_if_nonfinite=false`");
  const Tensor factor = (max_norm / (norm + 1e-6)).clamp_max(1.0);
  for (const Tensor& grad : grads) grad.mul_(factor.to(grad.options()));
  return GradientNorm(norm);
}

GradientNorm clip_grad_norm_(std::initializer_list<Tensor> parameters, double max_norm,
                             double norm_type, bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>(parameters), max_norm, norm_type, error_if_nonfinite);
}

GradientNorm clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type,
                             bool error_if_nonfinite) {
  return clip_grad_norm_(std::vector<Tensor>{parameter}, max_norm, norm_type, error_if_nonfinite);
}

void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value) {
  NoGradGuard no_grad;
  for (const Tensor& grad : gradients_of("clip_grad_value_", parameters))
    grad.clamp_(-clip_value, clip_value);
}

void clip_grad_value_(std::initializer_list<Tensor> parameters, double clip_value) {
  clip_grad_value_(std::vector<Tensor>(parameters), clip_value);
}

void clip_grad_value_(const Tensor& parameter, double clip_value) {
  clip_grad_value_(std::vector<Tensor>{parameter}, clip_value);
}

}  // namespace tandem::nn::utils
