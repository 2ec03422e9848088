#pragma once

#include "tandem/ops/optim_step.h"
#include "tandem/optim/optimizer.h"

/// For the .cpp files of the optimisers.
namespace tandem::optim {

/// The parameters of a group that have a gradient, in the lists that the ops of ops/optim_step.h
/// take.
struct StepLists {
  std::vector<Tensor> params, grads, steps, state[3];

  /// Collects them and calls `remember(p)` for each, which is to add to `steps` and `state`.
  template <class F>
  void collect(const OptimizerParamGroup& group, const F& remember) {
    params.reserve(group.params().size());
    grads.reserve(group.params().size());
    for (const Tensor& p : group.params()) {
      const Tensor& grad = p.grad();
      if (!grad.defined()) continue;
      params.push_back(p);
      grads.push_back(grad);
      remember(p);
    }
  }

  bool empty() const { return params.empty(); }
  StepTensors tensors() const {
    StepTensors t{params, grads, steps, {}};
    for (const auto& list : state)
      if (!list.empty()) t.state.push_back(list);
    return t;
  }
};

/// True iff both are undefined or have the same values.
bool same_tensor(const Tensor& a, const Tensor& b);

}  // namespace tandem::optim
