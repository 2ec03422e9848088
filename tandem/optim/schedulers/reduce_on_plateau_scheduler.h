#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Multiplies the rates by `factor` when a measured value has not become better for more than
/// `patience` calls of step(): call it with that value, most often the loss on held-out data, after
/// each epoch.
class ReduceLROnPlateauScheduler {
 public:
  enum SchedulerMode { min, max };  // which is better: smaller or larger
  enum ThresholdMode { rel, abs };  // by how much: by a share of the best so far, or by a number

  explicit ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min,
                                      float factor = 0.1f, int patience = 10,
                                      double threshold = 1e-4, ThresholdMode threshold_mode = rel,
                                      int cooldown = 0, const std::vector<float>& min_lr = {},
                                      double eps = 1e-8, bool verbose = false);
  virtual ~ReduceLROnPlateauScheduler() = default;

  void step(float metric);
  double best() const { return best_; }

  /// Where the schedule is, as named numbers: what a checkpoint holds.
  std::vector<std::pair<std::string, double>> state_dict() const;
  void load_state_dict(const std::vector<std::pair<std::string, double>>& saved);

 private:
  bool is_better(double value) const;
  void reduce_lr(int64_t epoch);
  std::vector<std::pair<const char*, double*>> fields();

  Optimizer& optimizer_;
  const SchedulerMode mode_;
  const double factor_, patience_, threshold_;
  const ThresholdMode threshold_mode_;
  const double cooldown_;
  std::vector<double> min_lrs_;
  const double eps_;
  const bool verbose_;
  double best_;
  double cooling_ = 0;  // calls that still do not count
  double bad_ = 0;      // calls since the value was best
  double epoch_ = 0;
};

/// As PyTorch calls it.
using ReduceLROnPlateau = ReduceLROnPlateauScheduler;

}  // namespace tandem::optim
