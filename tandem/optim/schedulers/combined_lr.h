#pragma once

#include "tandem/optim/schedulers/lr_scheduler.h"

namespace tandem::optim {

/// One schedule after another: the i-th ends, and the next begins, at epoch milestones[i]. A
/// warm-up before another schedule:
///
///     auto warm_up = std::make_shared<LinearLR>(optimizer, 0.1, 1.0, 10);
///     auto rest = std::make_shared<CosineAnnealingLR>(optimizer, 90);
///     SequentialLR schedule(optimizer, {warm_up, rest}, {10});
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<std::shared_ptr<LRScheduler>> schedulers,
               std::vector<int64_t> milestones);

  void step() override;
  void restart() override;

 private:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
  std::vector<Field> fields() override;

  const std::vector<std::shared_ptr<LRScheduler>> schedulers_;
  const std::vector<int64_t> milestones_;
  int64_t epoch_ = 0;
};

/// Several schedules at once: each step is a step of all, one after the other.
class ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers);

  void step() override;
  void restart() override;

 private:
  std::vector<double> get_lrs() override { return get_current_lrs(); }
  std::vector<Field> fields() override;

  const std::vector<std::shared_ptr<LRScheduler>> schedulers_;
};

}  // namespace tandem::optim
