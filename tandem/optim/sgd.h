#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct SGDParamState : OptimizerCloneableParamState<SGDParamState> {
  /// Undefined until there is a momentum.
  TANDEM_ARG(Tensor, momentum_buffer);

 public:
  /// Steps with momentum so far: the first one begins the buffer with its gradient.
  Counter steps;
  std::vector<Field> fields() override;
  friend bool operator==(const SGDParamState& a, const SGDParamState& b);
};

/// Stochastic gradient descent, with momentum and weight decay if wanted.
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<OptimizerParamGroup> param_groups, SGDOptions defaults);
  explicit SGD(std::vector<Tensor> params, SGDOptions defaults)
      : SGD({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "SGD"; }
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace tandem::optim
