#include "tandem/optim/schedulers/step_lr.h"

#include <algorithm>
#include <cmath>

namespace tandem::optim {

StepLR::StepLR(Optimizer& optimizer, const unsigned step_size, const double gamma)
    : LRScheduler(optimizer), step_size_(step_size), gamma_(gamma) {
  TANDEM_CHECK(step_size > 0, "StepLR: step_size must not be 0");
}

std::vector<double> StepLR::get_lrs() {
  std::vector<double> rates = get_current_lrs();
  if (step_count_ != 0 && step_count_ % step_size_ == 0)
    for (double& rate : rates) rate *= gamma_;
  return rates;
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : EpochLRScheduler(optimizer), milestones_(std::move(milestones)), gamma_(gamma) {
  begin();
}

double MultiStepLR::next_lr(double current, double) {
  const auto times = std::count(milestones_.begin(), milestones_.end(), epoch_);
  return times ? current * std::pow(gamma_, static_cast<double>(times)) : current;
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : EpochLRScheduler(optimizer), gamma_(gamma) {
  begin();
}

double ExponentialLR::next_lr(double current, double) {
  return epoch_ == 0 ? current : current * gamma_;
}

LambdaLR::LambdaLR(Optimizer& optimizer, Lambda lr_lambda)
    : LambdaLR(optimizer,
               std::vector<Lambda>(optimizer.param_groups().size(), std::move(lr_lambda))) {}

LambdaLR::LambdaLR(Optimizer& optimizer, std::vector<Lambda> lr_lambdas)
    : EpochLRScheduler(optimizer), lambdas_(std::move(lr_lambdas)) {
  TANDEM_CHECK(lambdas_.size() == base_lrs_.size(), "LambdaLR: Expected ", base_lrs_.size(),
               " lr_lambdas, but got ", lambdas_.size());
  for (const Lambda& f : lambdas_) TANDEM_CHECK(f, "LambdaLR: a function is empty");
  begin();
}

std::vector<double> LambdaLR::get_lrs() {
  std::vector<double> rates = base_lrs_;
  for (size_t i = 0; i < rates.size(); ++i) rates[i] *= lambdas_[i](epoch_);
  return rates;
}

}  // namespace tandem::optim
