#include "tandem/optim/schedulers/reduce_on_plateau_scheduler.h"

#include <algorithm>
#include <iostream>
#include <limits>
#include <map>

namespace tandem::optim {

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode,
                                                       float factor, int patience, double threshold,
                                                       ThresholdMode threshold_mode, int cooldown,
                                                       const std::vector<float>& min_lr, double eps,
                                                       bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      threshold_mode_(threshold_mode),
      cooldown_(cooldown),
      min_lrs_(min_lr.begin(), min_lr.end()),
      eps_(eps),
      verbose_(verbose),
      best_(mode == min ? std::numeric_limits<double>::infinity()
                        : -std::numeric_limits<double>::infinity()) {
  const size_t n = optimizer.param_groups().size();
  TANDEM_CHECK(factor < 1.0f, "ReduceLROnPlateau: Factor should be < 1.0, got ", factor);
  if (min_lrs_.empty()) min_lrs_.assign(n, 0);
  if (min_lrs_.size() == 1) min_lrs_.assign(n, min_lrs_[0]);
  TANDEM_CHECK(min_lrs_.size() == n,
               "ReduceLROnPlateau: Number of learning rates not equal to the "
               "number of param groups: Expected ",
               n, ", given ", min_lrs_.size());
}

bool ReduceLROnPlateauScheduler::is_better(double value) const {
  const double sign = mode_ == min ? -1 : 1;
  const double bound =
      threshold_mode_ == rel ? best_ * (1 + sign * threshold_) : best_ + sign * threshold_;
  return mode_ == min ? value < bound : value > bound;
}

void ReduceLROnPlateauScheduler::step(float metric) {
  ++epoch_;
  if (is_better(metric)) {
    best_ = metric;
    bad_ = 0;
  } else {
    ++bad_;
  }
  if (cooling_ > 0) {
    --cooling_;
    bad_ = 0;
  }
  if (bad_ > patience_) {
    reduce_lr(static_cast<int64_t>(epoch_));
    cooling_ = cooldown_;
    bad_ = 0;
  }
}

void ReduceLROnPlateauScheduler::reduce_lr(int64_t epoch) {
  auto& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const double old = groups[i].options().get_lr();
    const double rate = std::max(old * factor_, min_lrs_[std::min(i, min_lrs_.size() - 1)]);
    if (old - rate <= eps_) continue;
    groups[i].options().set_lr(rate);
    if (verbose_)
      std::cout << "Epoch " << epoch << ": reducing learning rate of group " << i << " to " << rate
                << std::endl;
  }
}

std::vector<std::pair<const char*, double*>> ReduceLROnPlateauScheduler::fields() {
  return {{"best", &best_},
          {"cooldown_counter", &cooling_},
          {"num_bad_epochs", &bad_},
          {"last_epoch", &epoch_}};
}

std::vector<std::pair<std::string, double>> ReduceLROnPlateauScheduler::state_dict() const {
  std::vector<std::pair<std::string, double>> state;
  for (const auto& [name, value] : const_cast<ReduceLROnPlateauScheduler*>(this)->fields())
    state.emplace_back(name, *value);
  return state;
}

void ReduceLROnPlateauScheduler::load_state_dict(
    const std::vector<std::pair<std::string, double>>& saved) {
  const std::map<std::string, double> values(saved.begin(), saved.end());
  const auto own = fields();
  for (const auto& [name, value] : own)
    TANDEM_CHECK(values.contains(name), "ReduceLROnPlateau: '", name, "' is missing in the state");
  TANDEM_CHECK(saved.size() == own.size(), "ReduceLROnPlateau: the state has ", saved.size(),
               " numbers, expected ", own.size());
  for (const auto& [name, value] : own) *value = values.at(name);
}

}  // namespace tandem::optim
