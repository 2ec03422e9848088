#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct LionParamState : OptimizerCloneableParamState<LionParamState> {
  TANDEM_ARG(Tensor, exp_avg);

 public:
  std::vector<Field> fields() override;
  friend bool operator==(const LionParamState& a, const LionParamState& b);
};

/// Steps of one size, by the sign of a running average of the gradient (Chen and others 2023). It
/// remembers half of what Adam does and wants a learning rate of about a tenth.
class Lion : public Optimizer {
 public:
  explicit Lion(std::vector<OptimizerParamGroup> param_groups, LionOptions defaults = {});
  explicit Lion(std::vector<Tensor> params, LionOptions defaults = {})
      : Lion({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "Lion"; }
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace tandem::optim
