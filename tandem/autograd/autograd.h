#pragma once

#include "tandem/core/tensor.h"

namespace tandem::autograd {

using tandem::variable_list;
using Variable = Tensor;
using Edge = tandem::Edge;
using Node = tandem::Node;

/// Adds the gradient of `tensors` to the leaves that they were computed from.
///
/// `grad_tensors` weighs each; for tensors with one element it may be left out. With `create_graph`
/// the gradients can be differentiated again. Without `retain_graph` what the record had saved is
/// freed on the way. With `inputs` only those leaves receive a gradient.
void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
              const variable_list& inputs = {});

/// The gradients of `outputs` by `inputs`, without touching any grad().
variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs = {},
                   std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                   bool allow_unused = false);

/// In its scope, forward ops note what they were called with, and backward names the forward op
/// whose gradient first had a NaN in it.
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  Mode before_;
};

}  // namespace tandem::autograd

namespace tandem {
using autograd::DetectAnomalyGuard;
}
