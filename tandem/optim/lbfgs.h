#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Kept for the first parameter only: everything is about all parameters as one long vector.
struct LBFGSParamState : OptimizerCloneableParamState<LBFGSParamState> {
  TANDEM_ARG(int64_t, func_evals) = 0;
  TANDEM_ARG(int64_t, n_iter) = 0;
  TANDEM_ARG(double, t) = 0;
  TANDEM_ARG(double, prev_loss) = 0;
  TANDEM_ARG(Tensor, d);
  TANDEM_ARG(Tensor, H_diag);
  TANDEM_ARG(Tensor, prev_flat_grad);
  TANDEM_ARG(std::deque<Tensor>, old_dirs);
  TANDEM_ARG(std::deque<Tensor>, old_stps);
  TANDEM_ARG(std::deque<Tensor>, ro);
  /// Coefficients of the last direction. They are computed anew in each step, hence not saved.
  TANDEM_ARG(std::optional<std::vector<Tensor>>, al);

 public:
  std::vector<Field> fields() override;
  friend bool operator==(const LBFGSParamState& a, const LBFGSParamState& b);
};

/// Quasi-Newton steps from the last gradients, for losses that are cheap and free of noise (Liu and
/// Nocedal 1989). `line_search_fn("strong_wolfe")` looks for a good length of each step.
///
/// A step calls the closure several times and looks at values, so it cannot be part of a compiled
/// function; the closure may call one.
class LBFGS : public Optimizer {
 public:
  explicit LBFGS(std::vector<OptimizerParamGroup> param_groups, LBFGSOptions defaults = {});
  explicit LBFGS(std::vector<Tensor> params, LBFGSOptions defaults = {})
      : LBFGS({OptimizerParamGroup(std::move(params))}, std::move(defaults)) {}

  Tensor step(LossClosure closure) override;

 protected:
  const char* name() const override { return "LBFGS"; }
  std::unique_ptr<OptimizerParamState> new_state() const override;

 private:
  const std::vector<Tensor>& params() const { return param_groups_[0].params(); }
  Tensor flat_grad() const;
  void move(double length, const Tensor& direction);
};

}  // namespace tandem::optim
