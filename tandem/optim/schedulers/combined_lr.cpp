#include "tandem/optim/schedulers/combined_lr.h"

#include <algorithm>

namespace tandem::optim {
namespace {

Optimizer& optimizer_of_first(const std::vector<std::shared_ptr<LRScheduler>>& schedulers,
                              Optimizer& (*get)(const LRScheduler&)) {
  TANDEM_CHECK(!schedulers.empty() && schedulers[0], "ChainedScheduler: there is no schedule");
  return get(*schedulers[0]);
}

}  // namespace

SequentialLR::SequentialLR(Optimizer& optimizer,
                           std::vector<std::shared_ptr<LRScheduler>> schedulers,
                           std::vector<int64_t> milestones)
    : LRScheduler(optimizer),
      schedulers_(std::move(schedulers)),
      milestones_(std::move(milestones)) {
  TANDEM_CHECK(schedulers_.size() == milestones_.size() + 1,
               "SequentialLR: expected one milestone less than schedulers, got ",
               milestones_.size(), " and ", schedulers_.size());
  TANDEM_CHECK(std::is_sorted(milestones_.begin(), milestones_.end()),
               "SequentialLR: the milestones must be in order");
  for (const auto& s : schedulers_)
    TANDEM_CHECK(s && &s->optimizer_ == &optimizer,
                 "SequentialLR: all schedules must be for the same optimizer");
  restart();
}

void SequentialLR::restart() {
  epoch_ = 0;
  step_count_ = 0;
  schedulers_[0]->restart();
}

void SequentialLR::step() {
  ++epoch_;
  ++step_count_;
  const auto at = std::upper_bound(milestones_.begin(), milestones_.end(), epoch_);
  LRScheduler& current = *schedulers_[static_cast<size_t>(at - milestones_.begin())];
  if (at != milestones_.begin() && *(at - 1) == epoch_)
    current.restart();
  else
    current.step();
}

std::vector<LRScheduler::Field> SequentialLR::fields() {
  std::vector<Field> all = LRScheduler::fields();
  all.push_back({"last_epoch", &epoch_});
  for (size_t i = 0; i < schedulers_.size(); ++i)
    for (Field& f : schedulers_[i]->fields()) all.push_back({str(i, ".", f.name), f.value});
  return all;
}

ChainedScheduler::ChainedScheduler(std::vector<std::shared_ptr<LRScheduler>> schedulers)
    : LRScheduler(optimizer_of_first(
          schedulers, [](const LRScheduler& s) -> Optimizer& { return s.optimizer_; })),
      schedulers_(std::move(schedulers)) {
  for (const auto& s : schedulers_)
    TANDEM_CHECK(s && &s->optimizer_ == &optimizer_,
                 "ChainedScheduler: all schedules must be for the same optimizer");
}

void ChainedScheduler::step() {
  ++step_count_;
  for (const auto& s : schedulers_) s->step();
}

void ChainedScheduler::restart() {
  step_count_ = 0;
  // Each begins by itself; together they make of the initial rates what their factors make of them.
  const std::vector<double> initial = initial_lrs();
  std::vector<double> together = initial;
  for (const auto& s : schedulers_) {
    s->restart();
    const std::vector<double> own = get_current_lrs();
    for (size_t i = 0; i < together.size(); ++i)
      together[i] = initial[i] == 0 ? own[i] : together[i] * (own[i] / initial[i]);
  }
  set_optimizer_lrs(together);
}

std::vector<LRScheduler::Field> ChainedScheduler::fields() {
  std::vector<Field> all = LRScheduler::fields();
  for (size_t i = 0; i < schedulers_.size(); ++i)
    for (Field& f : schedulers_[i]->fields()) all.push_back({str(i, ".", f.name), f.value});
  return all;
}

}  // namespace tandem::optim
