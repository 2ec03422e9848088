#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// The norm of all gradients together. It is a number where one is wanted, and looked at only then:
/// code that is compiled must not do that and takes tensor() instead.
class GradientNorm {
 public:
  explicit GradientNorm(Tensor norm) : norm_(std::move(norm)) {}
  operator double() const { return norm_.item<double>(); }
  /// A tensor with one value.
  const Tensor& tensor() const { return norm_; }

 private:
  Tensor norm_;
};

/// Scales the gradients of the parameters by one factor such that their norm, taken over all of
/// them as one vector, is at most max_norm. Gives the norm that they had. Parameters without a
/// gradient are skipped. With error_if_nonfinite a norm that is not finite is an error, which
/// leaves the gradients as they are; that looks at the norm, hence cannot be compiled.
///
///     loss.backward();
///     nn::utils::clip_grad_norm_(net->parameters(), 1.0);
///     opt.step();
GradientNorm clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                             double norm_type = 2.0, bool error_if_nonfinite = false);
GradientNorm clip_grad_norm_(std::initializer_list<Tensor> parameters, double max_norm,
                             double norm_type = 2.0, bool error_if_nonfinite = false);
GradientNorm clip_grad_norm_(const Tensor& parameter, double max_norm, double norm_type = 2.0,
                             bool error_if_nonfinite = false);

/// Cuts every value of the gradients to at most clip_value in either direction.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value);
void clip_grad_value_(std::initializer_list<Tensor> parameters, double clip_value);
void clip_grad_value_(const Tensor& parameter, double clip_value);

}  // namespace tandem::nn::utils
