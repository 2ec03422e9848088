#include "tandem/optim/adam.h"

#include "tandem/optim/adamw.h"
#include "tandem/optim/step_lists_detail.h"

namespace tandem::optim {
namespace {

template <class State>
bool same_moments(const State& a, const State& b) {
  return a.step() == b.step() && same_tensor(a.exp_avg(), b.exp_avg()) &&
         same_tensor(a.exp_avg_sq(), b.exp_avg_sq()) &&
         same_tensor(a.max_exp_avg_sq(), b.max_exp_avg_sq());
}

}  // namespace

bool operator==(const AdamParamState& a, const AdamParamState& b) { return same_moments(a, b); }
bool operator==(const AdamWParamState& a, const AdamWParamState& b) { return same_moments(a, b); }

namespace detail {

template <class Options, class State, bool kDecoupled>
AdamRule<Options, State, kDecoupled>::AdamRule(std::vector<OptimizerParamGroup> param_groups,
                                               Options defaults)
    : Optimizer(std::move(param_groups), std::make_unique<Options>(defaults)) {
  check(defaults);
}

template <class Options, class State, bool kDecoupled>
Tensor AdamRule<Options, State, kDecoupled>::step(LossClosure closure) {
  const NoGradGuard no_grad;
  const Tensor loss = evaluate(closure);
  for (OptimizerParamGroup& group : param_groups_) {
    auto& o = options_of<Options>(group);
    const bool amsgrad = o.amsgrad();
    StepLists lists;
    lists.collect(group, [&](const Tensor& p) {
      auto& state = state_of<State>(p);
      if (!state.exp_avg().defined()) state.exp_avg(like(p));
      if (!state.exp_avg_sq().defined()) state.exp_avg_sq(like(p));
      lists.steps.push_back(state.steps.tensor());
      lists.state[0].push_back(state.exp_avg());
      lists.state[1].push_back(state.exp_avg_sq());
      if (!amsgrad) return;
      if (!state.max_exp_avg_sq().defined()) state.max_exp_avg_sq(like(p));
      lists.state[2].push_back(state.max_exp_avg_sq());
    });
    if (lists.empty()) continue;
    const auto& [beta1, beta2] = o.betas();
    adam_step_(lists.tensors(),
               {o.lr().tensor(), beta1.tensor(), beta2.tensor(), o.eps().tensor(),
                o.weight_decay().tensor()},
               kDecoupled);
  }
  return loss;
}

template class AdamRule<AdamOptions, AdamParamState, false>;
template class AdamRule<AdamWOptions, AdamWParamState, true>;

}  // namespace detail
}  // namespace tandem::optim
