#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

struct AdagradParamState : OptimizerCloneableParamState<AdagradParamState> {
  int64_t step() const { return steps.get(); }
  auto& step(int64_t value) {
    steps.set(value);
    return *this;
  }
  TANDEM_ARG(Tensor, sum);

 public:
  Counter steps;
  std::vector<Field> fields() override;
  friend bool operator==(const AdagradParamState& a, const AdagradParamState& b);
};

/// Steps divided by the root of the sum of all squared gradients (Duchi and others 2011).
class Adagrad : public Optimizer {
 public:
  explicit Adagrad(std::vector<OptimizerParamGroup> param_groups, AdagradOptions defaults = {});
  explicit Adagrad(std::vector<Tensor> params, AdagradOptions defaults = {})
      : Adagrad({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

  Tensor step(LossClosure closure = nullptr) override;

 protected:
  const char* name() const override { return "Adagrad"; }
  std::unique_ptr<OptimizerParamState> new_state() const override;
};

}  // namespace tandem::optim
