#include "tandem/optim/sgd.h"

#include "tandem/optim/step_lists_detail.h"

namespace tandem::optim {

std::vector<OptimizerParamState::Field> SGDParamState::fields() {
  return {{"steps", &steps}, {"momentum_buffer", &momentum_buffer_}};
}

bool operator==(const SGDParamState& a, const SGDParamState& b) {
  return same_tensor(a.momentum_buffer(), b.momentum_buffer());
}

SGD::SGD(std::vector<OptimizerParamGroup> param_groups, SGDOptions defaults)
    : Optimizer(std::move(param_groups), std::make_unique<SGDOptions>(defaults)) {
  check(defaults);
}

std::unique_ptr<OptimizerParamState> SGD::new_state() const {
  return std::make_unique<SGDParamState>();
}

Tensor SGD::step(LossClosure closure) {
  const NoGradGuard no_grad;
  const Tensor loss = evaluate(closure);
  for (OptimizerParamGroup& group : param_groups_) {
    auto& o = options_of<SGDOptions>(group);
    const bool momentum = o.momentum().nonzero();
    StepLists lists;
    lists.collect(group, [&](const Tensor& p) {
      if (!momentum) return;
      auto& state = state_of<SGDParamState>(p);
      if (!state.momentum_buffer().defined()) state.momentum_buffer(like(p));
      lists.steps.push_back(state.steps.tensor());
      lists.state[0].push_back(state.momentum_buffer());
    });
    if (lists.empty()) continue;
    sgd_step_(
        lists.tensors(),
        {o.lr().tensor(), o.momentum().tensor(), o.dampening().tensor(), o.weight_decay().tensor()},
        o.nesterov());
  }
  return loss;
}

}  // namespace tandem::optim
