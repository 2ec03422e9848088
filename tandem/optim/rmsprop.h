#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct RMSpropParamState : OptimizerCloneableParamState<RMSpropParamState> {
  int64_t step() const { return steps.get(); }
  auto& step(int64_t value) {
    steps.set(value);
    return *this;
  }
  TANDEM_ARG(Tensor, square_avg);
  /// Undefined without momentum.
  TANDEM_ARG(Tensor, momentum_buffer);
  /// Undefined unless centered.
  TANDEM_ARG(Tensor, grad_avg);

 public:
  Counter steps;
  std::vector<Field> fields() override;
  friend bool operator==(const RMSpropParamState& a, const RMSpropParamState& b);
};

/// Steps divided by the root of a running average of the squared gradient (Hinton 2012).
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(std::vector<OptimizerParamGroup> param_groups, RMSpropOptions defaults = {});
  explicit RMSprop(std::vector<Tensor> params, RMSpropOptions defaults = {})
      : RMSprop({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "RMSprop"; }
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace tandem::optim
