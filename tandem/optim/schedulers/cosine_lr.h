#pragma once

#include "tandem/optim/schedulers/lr_scheduler.h"

namespace tandem::optim {

/// Lets the rates fall along half a cosine from the initial rate to eta_min in T_max steps, and
/// rise again in the next T_max.
class CosineAnnealingLR : public EpochLRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);

 private:
  double next_lr(double current, double initial) override;

  const int64_t T_max_;
  const double eta_min_;
};

/// Lets the rates fall along half a cosine again and again: the first time in T_0 steps, then each
/// time in T_mult times as many.
class CosineAnnealingWarmRestarts : public EpochLRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1,
                              double eta_min = 0);

  void step() override;
  /// Straight to an epoch, which may be a fraction: `step(epoch + batch / batches)`.
  void step(double epoch);
  void restart() override;

 private:
  double next_lr(double current, double initial) override;
  std::vector<Field> fields() override;

  const int64_t T_0_, T_mult_;
  const double eta_min_;
  double T_cur_ = 0;  // since the last restart
  int64_t T_i_;       // from the last restart to the next
};

}  // namespace tandem::optim
