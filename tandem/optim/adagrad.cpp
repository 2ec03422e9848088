#include "tandem/optim/adagrad.h"

#include "tandem/optim/step_lists_detail.h"

namespace tandem::optim {

std::vector<OptimizerParamState::Field> AdagradParamState::fields() {
  return {{"step", &steps}, {"sum", &sum_}};
}

bool operator==(const AdagradParamState& a, const AdagradParamState& b) {
  return a.step() == b.step() && same_tensor(a.sum(), b.sum());
}

Adagrad::Adagrad(std::vector<OptimizerParamGroup> param_groups, AdagradOptions defaults)
    : Optimizer(std::move(param_groups), std::make_unique<AdagradOptions>(defaults)) {
  check(defaults);
  for (const OptimizerParamGroup& group : param_groups_)
    for (const Tensor& p : group.params())
      state_of<AdagradParamState>(p).sum(like(p, defaults.initial_accumulator_value()));
}

std::unique_ptr<OptimizerParamState> Adagrad::new_state() const {
  return std::make_unique<AdagradParamState>();
}

Tensor Adagrad::step(LossClosure closure) {
  const NoGradGuard no_grad;
  const Tensor loss = evaluate(closure);
  for (OptimizerParamGroup& group : param_groups_) {
    auto& o = options_of<AdagradOptions>(group);
    StepLists lists;
    lists.collect(group, [&](const Tensor& p) {
      auto& state = state_of<AdagradParamState>(p);
      // For parameters that were added later.
      if (!state.sum().defined()) state.sum(like(p, o.initial_accumulator_value()));
      lists.steps.push_back(state.steps.tensor());
      lists.state[0].push_back(state.sum());
    });
    if (lists.empty()) continue;
    adagrad_step_(lists.tensors(), {o.lr().tensor(), o.lr_decay().tensor(),
                                    o.weight_decay().tensor(), o.eps().tensor()});
  }
  return loss;
}

}  // namespace tandem::optim
