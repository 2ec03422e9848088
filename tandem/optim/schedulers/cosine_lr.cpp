#include "tandem/optim/schedulers/cosine_lr.h"

#include <cmath>
#include <numbers>

namespace tandem::optim {

using std::numbers::pi;

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : EpochLRScheduler(optimizer), T_max_(T_max), eta_min_(eta_min) {
  TANDEM_CHECK(T_max > 0, "CosineAnnealingLR: Expected positive integer T_max, but got ", T_max);
  begin();
}

double CosineAnnealingLR::next_lr(double current, double initial) {
  if (epoch_ == 0) return current;
  const auto period = static_cast<double>(T_max_), epoch = static_cast<double>(epoch_);
  // From the bottom, where the next formula would divide zero by zero.
  if ((epoch_ - 1 - T_max_) % (2 * T_max_) == 0)
    return current + (initial - eta_min_) * (1 - std::cos(pi / period)) / 2;
  return (1 + std::cos(pi * epoch / period)) / (1 + std::cos(pi * (epoch - 1) / period)) *
             (current - eta_min_) +
         eta_min_;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0,
                                                         int64_t T_mult, double eta_min)
    : EpochLRScheduler(optimizer), T_0_(T_0), T_mult_(T_mult), eta_min_(eta_min), T_i_(T_0) {
  TANDEM_CHECK(T_0 > 0, "CosineAnnealingWarmRestarts: Expected positive integer T_0, but got ",
               T_0);
  TANDEM_CHECK(T_mult >= 1, "CosineAnnealingWarmRestarts: Expected integer T_mult >= 1, but got ",
               T_mult);
  begin();
}

double CosineAnnealingWarmRestarts::next_lr(double, double initial) {
  return eta_min_ +
         (initial - eta_min_) * (1 + std::cos(pi * T_cur_ / static_cast<double>(T_i_))) / 2;
}

void CosineAnnealingWarmRestarts::step() {
  T_cur_ += 1;
  if (T_cur_ >= static_cast<double>(T_i_)) {
    T_cur_ -= static_cast<double>(T_i_);
    T_i_ *= T_mult_;
  }
  EpochLRScheduler::step();
}

void CosineAnnealingWarmRestarts::step(double epoch) {
  TANDEM_CHECK(epoch >= 0 && epoch < 0x1p53,
               "CosineAnnealingWarmRestarts: Expected non-negative epoch, but got ", epoch);
  T_i_ = T_0_;
  T_cur_ = epoch;
  if (T_mult_ == 1) {
    T_cur_ = std::fmod(epoch, static_cast<double>(T_0_));
  } else {
    for (; T_cur_ >= static_cast<double>(T_i_); T_i_ *= T_mult_)
      T_cur_ -= static_cast<double>(T_i_);
  }
  epoch_ = static_cast<int64_t>(std::floor(epoch));
  set_optimizer_lrs(get_lrs());
}

void CosineAnnealingWarmRestarts::restart() {
  T_cur_ = 0;
  T_i_ = T_0_;
  EpochLRScheduler::restart();
}

std::vector<LRScheduler::Field> CosineAnnealingWarmRestarts::fields() {
  std::vector<Field> all = EpochLRScheduler::fields();
  all.push_back({"T_cur", &T_cur_});
  all.push_back({"T_i", &T_i_});
  return all;
}

}  // namespace tandem::optim
