#include "tandem/optim/rmsprop.h"

#include "tandem/optim/step_lists_detail.h"

namespace tandem::optim {

std::vector<OptimizerParamState::Field> RMSpropParamState::fields() {
  return {{"step", &steps},
          {"square_avg", &square_avg_},
          {"momentum_buffer", &momentum_buffer_, Field::optional},
          {"grad_avg", &grad_avg_, Field::optional}};
}

bool operator==(const RMSpropParamState& a, const RMSpropParamState& b) {
  return a.step() == b.step() && same_tensor(a.square_avg(), b.square_avg()) &&
         same_tensor(a.momentum_buffer(), b.momentum_buffer()) &&
         same_tensor(a.grad_avg(), b.grad_avg());
}

RMSprop::RMSprop(std::vector<OptimizerParamGroup> param_groups, RMSpropOptions defaults)
    : Optimizer(std::move(param_groups), std::make_unique<RMSpropOptions>(defaults)) {
  check(defaults);
}

std::unique_ptr<OptimizerParamState> RMSprop::new_state() const {
  return std::make_unique<RMSpropParamState>();
}

Tensor RMSprop::step(LossClosure closure) {
  const NoGradGuard no_grad;
  const Tensor loss = evaluate(closure);
  for (OptimizerParamGroup& group : param_groups_) {
    auto& o = options_of<RMSpropOptions>(group);
    const bool centered = o.centered(), momentum = o.momentum().nonzero();
    StepLists lists;
    lists.collect(group, [&](const Tensor& p) {
      auto& state = state_of<RMSpropParamState>(p);
      if (!state.square_avg().defined()) state.square_avg(like(p));
      lists.steps.push_back(state.steps.tensor());
      lists.state[0].push_back(state.square_avg());
      if (centered) {
        if (!state.grad_avg().defined()) state.grad_avg(like(p));
        lists.state[1].push_back(state.grad_avg());
      }
      if (momentum) {
        if (!state.momentum_buffer().defined()) state.momentum_buffer(like(p));
        lists.state[2].push_back(state.momentum_buffer());
      }
    });
    if (lists.empty()) continue;
    rmsprop_step_(lists.tensors(),
                  {o.lr().tensor(), o.alpha().tensor(), o.eps().tensor(), o.weight_decay().tensor(),
                   o.momentum().tensor()},
                  centered);
  }
  return loss;
}

}  // namespace tandem::optim
