#include "tandem/autograd/clear_grad.h"

#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"

namespace tandem::autograd {

void clear_grad(const Tensor& parameter, bool set_to_none) {
  TensorImpl& p = *parameter.impl();
  if (t_mode.recorder && p.wants_grad() && p.is_leaf() &&
      t_mode.recorder->clear_grad(p.leaf_node(), set_to_none))
    return;
  // Asking for the place would make one.
  if (!parameter.grad().defined()) return;
  Tensor& grad = parameter.mutable_grad();
  if (set_to_none) {
    grad.reset();
    return;
  }
  if (grad.requires_grad()) grad = grad.detach();
  grad.zero_();
}

}  // namespace tandem::autograd
