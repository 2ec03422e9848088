#include "tandem/optim/schedulers/linear_lr.h"

namespace tandem::optim {

LinearLR::LinearLR(Optimizer& optimizer, double start_factor, double end_factor,
                   int64_t total_iters)
    : EpochLRScheduler(optimizer), start_(start_factor), end_(end_factor), total_(total_iters) {
  TANDEM_CHECK(start_ > 0 && start_ <= 1,
               "LinearLR: Starting multiplicative factor expected to be between 0 and 1, got ",
               start_);
  TANDEM_CHECK(end_ >= 0 && end_ <= 1,
               "LinearLR: Ending multiplicative factor expected to be between 0 and 1, got ", end_);
  TANDEM_CHECK(total_ > 0, "LinearLR: Expected positive total_iters, but got ", total_);
  begin();
}

double LinearLR::next_lr(double current, double) {
  if (epoch_ == 0) return current * start_;
  if (epoch_ > total_) return current;
  const double rise = end_ - start_;
  return current * (1 + rise / (static_cast<double>(total_) * start_ +
                                static_cast<double>(epoch_ - 1) * rise));
}

ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : EpochLRScheduler(optimizer), factor_(factor), total_(total_iters) {
  TANDEM_CHECK(factor_ > 0 && factor_ <= 1,
               "ConstantLR: Constant multiplicative factor expected to be between 0 and 1, got ",
               factor_);
  TANDEM_CHECK(total_ >= 0, "ConstantLR: Expected non-negative total_iters, but got ", total_);
  begin();
}

double ConstantLR::next_lr(double current, double) {
  if (epoch_ == 0) return current * factor_;
  return epoch_ == total_ ? current / factor_ : current;
}

}  // namespace tandem::optim
