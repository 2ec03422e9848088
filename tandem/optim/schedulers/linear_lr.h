#pragma once

#include "tandem/optim/schedulers/lr_scheduler.h"

namespace tandem::optim {

/// Lets the rates grow, or fall, in a straight line: from start_factor times the initial rate to
/// end_factor times it after `total_iters` steps. The usual warm-up.
class LinearLR : public EpochLRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1.0,
           int64_t total_iters = 5);

 private:
  double next_lr(double current, double initial) override;

  const double start_, end_;
  const int64_t total_;
};

/// Multiplies the rates by `factor` for `total_iters` steps.
class ConstantLR : public EpochLRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);

 private:
  double next_lr(double current, double initial) override;

  const double factor_;
  const int64_t total_;
};

}  // namespace tandem::optim
