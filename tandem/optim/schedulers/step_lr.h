#pragma once

#include "tandem/optim/schedulers/lr_scheduler.h"

namespace tandem::optim {

/// Multiplies the rates by gamma at every `step_size`-th step, counted as LibTorch does: from 0, so
/// that the first change comes with step number step_size + 1. MultiStepLR counts as PyTorch does.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, const unsigned step_size, const double gamma = 0.1);

 private:
  std::vector<double> get_lrs() override;

  const unsigned step_size_;
  const double gamma_;
};

/// Multiplies the rates by gamma at each of the given epochs.
class MultiStepLR : public EpochLRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);

 private:
  double next_lr(double current, double initial) override;

  const std::vector<int64_t> milestones_;
  const double gamma_;
};

/// Multiplies the rates by gamma at every step.
class ExponentialLR : public EpochLRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);

 private:
  double next_lr(double current, double initial) override;

  const double gamma_;
};

/// Multiplies the initial rate by what the function gives for the epoch; one function for all
/// groups, or one for each.
class LambdaLR : public EpochLRScheduler {
 public:
  using Lambda = std::function<double(int64_t epoch)>;
  LambdaLR(Optimizer& optimizer, Lambda lr_lambda);
  LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas);

 private:
  std::vector<double> get_lrs() override;
  double next_lr(double current, double) override { return current; }

  std::vector<Lambda> lambdas_;
};

}  // namespace tandem::optim
