#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {
namespace detail {

template <class Derived>
struct AdamMoments : OptimizerCloneableParamState<Derived> {
  int64_t step() const { return steps.get(); }
  auto& step(int64_t value) {
    steps.set(value);
    return *this;
  }
  TANDEM_ARG(Tensor, exp_avg);
  TANDEM_ARG(Tensor, exp_avg_sq);
  /// Undefined without AMSGrad.
  TANDEM_ARG(Tensor, max_exp_avg_sq);

 public:
  Counter steps;
  std::vector<OptimizerParamState::Field> fields() override {
    return {{"step", &steps},
            {"exp_avg", &exp_avg_},
            {"exp_avg_sq", &exp_avg_sq_},
            {"max_exp_avg_sq", &max_exp_avg_sq_, OptimizerParamState::Field::optional}};
  }
};

/// Adam and AdamW differ in where the weight decay goes.
template <class Options, class State, bool kDecoupled>
class AdamRule : public Optimizer {
 public:
  explicit AdamRule(std::vector<OptimizerParamGroup> param_groups, Options defaults = {});
  explicit AdamRule(std::vector<Tensor> params, Options defaults = {})
      : AdamRule({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return kDecoupled ? "AdamW" : "Adam"; }
  std::unique_ptr<OptimizerParamState> new_state() const override {
    return std::make_unique<State>();
  }
};

}  // namespace detail

struct AdamParamState : detail::AdamMoments<AdamParamState> {
  friend bool operator==(const AdamParamState& a, const AdamParamState& b);
};

/// Steps scaled by running averages of the gradient and of its square (Kingma and Ba 2014), with
/// AMSGrad if wanted.
class Adam : public detail::AdamRule<AdamOptions, AdamParamState, false> {
 public:
  using AdamRule::AdamRule;
};

}  // namespace tandem::optim
