#pragma once

#include "tandem/optim/schedulers/lr_scheduler.h"

namespace tandem::optim {

struct OneCycleLROptions {
  /// The highest rate, for all groups or for each.
  OneCycleLROptions(double max_lr, int64_t total_steps)
      : max_lr_({max_lr}), total_steps_(total_steps) {}
  OneCycleLROptions(std::vector<double> max_lr, int64_t total_steps)
      : max_lr_(std::move(max_lr)), total_steps_(total_steps) {}
  OneCycleLROptions(double max_lr, int64_t epochs, int64_t steps_per_epoch)
      : OneCycleLROptions(max_lr, epochs * steps_per_epoch) {}

  enum class Anneal { cos, linear };
  TANDEM_ARG(std::vector<double>, max_lr);
  TANDEM_ARG(int64_t, total_steps);
  /// The part of the cycle in which the rates grow.
  TANDEM_ARG(double, pct_start) = 0.3;
  TANDEM_ARG(Anneal, anneal_strategy) = Anneal::cos;
  /// Whether the momentum, or Adam's first beta, moves the other way.
  TANDEM_ARG(bool, cycle_momentum) = true;
  TANDEM_ARG(double, base_momentum) = 0.85;
  TANDEM_ARG(double, max_momentum) = 0.95;
  /// The first rate is the highest divided by div_factor, the last is that by final_div_factor.
  TANDEM_ARG(double, div_factor) = 25;
  TANDEM_ARG(double, final_div_factor) = 1e4;
  /// Fall as slowly as they grew, and then further; otherwise all the way in one.
  TANDEM_ARG(bool, three_phase) = false;
};

/// One cycle of the rates from low to high to very low (Smith and Topin 2017): call step() after
/// each step of the optimiser, total_steps - 1 times.
class OneCycleLR : public EpochLRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, OneCycleLROptions options);

 private:
  struct Rates {
    double initial, max, min;
  };
  struct Phase {
    double end;  // its last step
    double Rates::*from;
    double Rates::*to;
    double from_momentum, to_momentum;
  };
  std::vector<Phase> phases() const;
  std::vector<double> get_lrs() override;
  double next_lr(double current, double) override { return current; }
  double between(double from, double to, double part) const;

  const OneCycleLROptions options_;
  std::vector<Rates> rates_;
};

}  // namespace tandem::optim
