#pragma once

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Changes the learning rates of an optimiser's groups as training goes on: call step() after each
/// epoch, or after each step of the optimiser, whichever the schedule is meant for. Compiled steps
/// follow. The optimiser must live as long as the schedule.
///
/// To write one, derive from it and give the next rates in get_lrs().
class LRScheduler {
 public:
  explicit LRScheduler(Optimizer& optimizer);
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  virtual void step();
  /// Back to the rates that the schedule begins with.
  virtual void restart();
  /// The rates that are set now, one for each group.
  std::vector<double> get_last_lr() const { return get_current_lrs(); }

  /// Where the schedule is, as named numbers: what a checkpoint holds. The learning rates belong to
  /// the optimiser's state.
  std::vector<std::pair<std::string, double>> state_dict() const;
  void load_state_dict(const std::vector<std::pair<std::string, double>>& saved);

 protected:
  friend class SequentialLR;
  friend class ChainedScheduler;

  virtual std::vector<double> get_lrs() = 0;
  std::vector<double> get_current_lrs() const;
  void set_optimizer_lrs(const std::vector<double>& learning_rates);
  /// The rates that schedules start from, one for each group.
  std::vector<double> initial_lrs() const;

  /// One number of the state.
  struct Field {
    std::string name;
    std::variant<unsigned*, int64_t*, double*> value;
  };
  virtual std::vector<Field> fields() { return {{"step_count", &step_count_}}; }

  unsigned step_count_ = 0;
  Optimizer& optimizer_;
};

/// A base of schedules that count epochs as PyTorch's do: they begin with epoch 0 when they are
/// made, and the n-th step() gives the rates of epoch n. What get_lrs() gives may depend on the
/// current rates, so that several schedules can act on one optimiser.
class EpochLRScheduler : public LRScheduler {
 public:
  void step() override;
  void restart() override;
  int64_t last_epoch() const { return epoch_; }

 protected:
  explicit EpochLRScheduler(Optimizer& optimizer);
  /// Sets the rates of epoch 0; for the constructors of derived classes.
  void begin();
  /// The next rate of a group from its current and its initial one.
  virtual double next_lr(double current, double initial) = 0;
  std::vector<double> get_lrs() override;
  std::vector<Field> fields() override;

  int64_t epoch_ = 0;
  std::vector<double> base_lrs_;
};

}  // namespace tandem::optim
