#include "tandem/optim/lion.h"

#include "tandem/optim/step_lists_detail.h"

namespace tandem::optim {

std::vector<OptimizerParamState::Field> LionParamState::fields() {
  return {{"exp_avg", &exp_avg_}};
}

bool operator==(const LionParamState& a, const LionParamState& b) {
  return same_tensor(a.exp_avg(), b.exp_avg());
}

Lion::Lion(std::vector<OptimizerParamGroup> param_groups, LionOptions defaults)
    : Optimizer(std::move(param_groups), std::make_unique<LionOptions>(defaults)) {
  check(defaults);
}

std::unique_ptr<OptimizerParamState> Lion::new_state() const {
  return std::make_unique<LionParamState>();
}

Tensor Lion::step(LossClosure closure) {
  const NoGradGuard no_grad;
  const Tensor loss = evaluate(closure);
  for (OptimizerParamGroup& group : param_groups_) {
    auto& o = options_of<LionOptions>(group);
    StepLists lists;
    lists.collect(group, [&](const Tensor& p) {
      auto& state = state_of<LionParamState>(p);
      if (!state.exp_avg().defined()) state.exp_avg(like(p));
      lists.state[0].push_back(state.exp_avg());
    });
    if (lists.empty()) continue;
    const auto& [beta1, beta2] = o.betas();
    lion_step_(lists.tensors(),
               {o.lr().tensor(), beta1.tensor(), beta2.tensor(), o.weight_decay().tensor()});
  }
  return loss;
}

}  // namespace tandem::optim
