#pragma once

#include "tandem/core/tensor.h"

namespace tandem::autograd {

using Variable = Tensor;
using tandem::AutoGradMode;
using tandem::CreationMeta;
using tandem::Edge;
using tandem::GradMode;
using tandem::InferenceMode;
using tandem::Node;
using tandem::NoGradGuard;
using tandem::variable_list;
using tensor_list = variable_list;
using DifferentiableViewMeta = tandem::ViewInfo;

/// Adds the gradient of `tensors` to the leaves that they were computed from.
///
/// `grad_tensors` weighs each; for tensors with one element it may be left out. With `create_graph`
/// the gradients can be differentiated again. Without `retain_graph` what the record had saved is
/// freed on the way. With `inputs` only those tensors receive a gradient, and they need not be
/// leaves.
void backward(const variable_list& tensors, const variable_list& grad_tensors = {},
              std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
              const variable_list& inputs = {});

/// The gradients of `outputs` by `inputs`, without touching any grad().
variable_list grad(const variable_list& outputs, const variable_list& inputs,
                   const variable_list& grad_outputs = {},
                   std::optional<bool> retain_graph = std::nullopt, bool create_graph = false,
                   bool allow_unused = false);

/// A tensor with the same values that autograd knows nothing of yet.
Variable make_variable(const Tensor& data, bool requires_grad = false,
                       bool allow_tensor_metadata_change = true);

/// In its scope, forward ops note what they were called with, and backward names the forward op
/// whose gradient failed, or first had a NaN in it.
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true);
  ~DetectAnomalyGuard();
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;
  DetectAnomalyGuard& operator=(const DetectAnomalyGuard&) = delete;

 private:
  Mode before_;
};

struct AnomalyMode {
  static bool is_enabled() { return t_mode.anomaly; }
  static bool should_check_nan() { return t_mode.anomaly_check_nan; }
  static void set_enabled(bool on, bool check_nan = true) {
    t_mode.anomaly = on;
    t_mode.anomaly_check_nan = check_nan;
  }
};

}  // namespace tandem::autograd

namespace tandem {
using autograd::DetectAnomalyGuard;
}
