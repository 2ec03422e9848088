#include "tandem/optim/schedulers/lr_scheduler.h"

#include <cmath>
#include <map>

namespace tandem::optim {

LRScheduler::LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {
  // Remembered by the groups from now on.
  initial_lrs();
}

std::vector<double> LRScheduler::get_current_lrs() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups())
    rates.push_back(group.options().get_lr());
  return rates;
}

std::vector<double> LRScheduler::initial_lrs() const {
  std::vector<double> rates;
  for (OptimizerParamGroup& group : optimizer_.param_groups()) {
    if (!group.initial_lr()) group.initial_lr() = group.options().get_lr();
    rates.push_back(*group.initial_lr());
  }
  return rates;
}

void LRScheduler::set_optimizer_lrs(const std::vector<double>& learning_rates) {
  auto& groups = optimizer_.param_groups();
  TANDEM_CHECK(learning_rates.size() == groups.size(), "LRScheduler: there are ", groups.size(),
               " groups of parameters, the schedule has ", learning_rates.size(),
               " learning rates");
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(learning_rates[i]);
}

void LRScheduler::step() {
  set_optimizer_lrs(get_lrs());
  ++step_count_;
}

void LRScheduler::restart() {
  step_count_ = 0;
  set_optimizer_lrs(initial_lrs());
}

std::vector<std::pair<std::string, double>> LRScheduler::state_dict() const {
  std::vector<std::pair<std::string, double>> state;
  for (const Field& f : const_cast<LRScheduler*>(this)->fields())
    state.emplace_back(f.name,
                       std::visit([](const auto* v) { return static_cast<double>(*v); }, f.value));
  return state;
}

void LRScheduler::load_state_dict(const std::vector<std::pair<std::string, double>>& saved) {
  std::map<std::string, double> values;
  for (const auto& [name, value] : saved)
    TANDEM_CHECK(values.emplace(name, value).second, "LRScheduler: '", name,
                 "' is twice in the state");
  const std::vector<Field> own = fields();
  for (const Field& f : own) {
    const auto at = values.find(f.name);
    TANDEM_CHECK(at != values.end(), "LRScheduler: '", f.name, "' is missing in the state");
    const bool whole = !std::holds_alternative<double*>(f.value);
    TANDEM_CHECK(!whole || (std::trunc(at->second) == at->second && std::abs(at->second) < 0x1p53),
                 "LRScheduler: '", f.name, "' must be a whole number, got ", at->second);
    TANDEM_CHECK(
        !std::holds_alternative<unsigned*>(f.value) || (at->second >= 0 && at->second < 0x1p32),
        "LRScheduler: '", f.name, "' must be a count, got ", at->second);
  }
  TANDEM_CHECK(values.size() == own.size(), "LRScheduler: the state has ", values.size(),
               " numbers, this schedule has ", own.size());
  for (const Field& f : own)
    std::visit([&](auto* v) { *v = static_cast<std::decay_t<decltype(*v)>>(values.at(f.name)); },
               f.value);
}

EpochLRScheduler::EpochLRScheduler(Optimizer& optimizer)
    : LRScheduler(optimizer), base_lrs_(initial_lrs()) {}

void EpochLRScheduler::begin() {
  epoch_ = 0;
  set_optimizer_lrs(get_lrs());
}

void EpochLRScheduler::step() {
  ++epoch_;
  set_optimizer_lrs(get_lrs());
  ++step_count_;
}

void EpochLRScheduler::restart() {
  set_optimizer_lrs(base_lrs_);
  begin();
}

std::vector<double> EpochLRScheduler::get_lrs() {
  std::vector<double> rates = get_current_lrs();
  TANDEM_CHECK(rates.size() == base_lrs_.size(), "LRScheduler: the optimizer has ", rates.size(),
               " groups of parameters; it had ", base_lrs_.size(), " when the schedule was made");
  for (size_t i = 0; i < rates.size(); ++i) rates[i] = next_lr(rates[i], base_lrs_[i]);
  return rates;
}

std::vector<LRScheduler::Field> EpochLRScheduler::fields() {
  std::vector<Field> all = LRScheduler::fields();
  all.push_back({"last_epoch", &epoch_});
  for (size_t i = 0; i < base_lrs_.size(); ++i) all.push_back({str("base_lrs.", i), &base_lrs_[i]});
  return all;
}

}  // namespace tandem::optim
