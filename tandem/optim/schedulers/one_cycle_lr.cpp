#include "tandem/optim/schedulers/one_cycle_lr.h"

#include <cmath>
#include <numbers>
#include <string_view>

namespace tandem::optim {
namespace {

// What a group has for a momentum; null if it has none.
Number* momentum_of(OptimizerParamGroup& group) {
  for (const OptimizerOptions::Field& f : group.options().fields())
    if (f.name == std::string_view("momentum") || f.name == std::string_view("beta1"))
      return std::get<Number*>(f.value);
  return nullptr;
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, OneCycleLROptions options)
    : EpochLRScheduler(optimizer), options_(std::move(options)) {
  const OneCycleLROptions& o = options_;
  auto& groups = optimizer.param_groups();
  TANDEM_CHECK(o.total_steps() > 0, "OneCycleLR: Expected positive integer total_steps, but got ",
               o.total_steps());
  TANDEM_CHECK(o.pct_start() >= 0 && o.pct_start() <= 1,
               "OneCycleLR: Expected pct_start between 0 and 1, but got ", o.pct_start());
  TANDEM_CHECK(o.div_factor() > 0 && o.final_div_factor() > 0,
               "OneCycleLR: the factors that rates are divided by must be positive, got ",
               o.div_factor(), " and ", o.final_div_factor());
  TANDEM_CHECK(o.max_lr().size() == 1 || o.max_lr().size() == groups.size(),
               "OneCycleLR: expected ", groups.size(), " values for max_lr, got ",
               o.max_lr().size());
  for (size_t i = 0; i < groups.size(); ++i) {
    const double max = o.max_lr()[o.max_lr().size() == 1 ? 0 : i];
    const double initial = max / o.div_factor();
    rates_.push_back({initial, max, initial / o.final_div_factor()});
    groups[i].initial_lr() = base_lrs_[i] = initial;
    TANDEM_CHECK(!o.cycle_momentum() || momentum_of(groups[i]),
                 "OneCycleLR: the optimizer must support momentum with `cycle_momentum` enabled");
  }
  begin();
}

std::vector<OneCycleLR::Phase> OneCycleLR::phases() const {
  const OneCycleLROptions& o = options_;
  const auto total = static_cast<double>(o.total_steps());
  const double low = o.base_momentum(), high = o.max_momentum();
  const Phase up{o.pct_start() * total - 1, &Rates::initial, &Rates::max, high, low};
  if (o.three_phase())
    return {up,
            {2 * o.pct_start() * total - 2, &Rates::max, &Rates::initial, low, high},
            {total - 1, &Rates::initial, &Rates::min, high, high}};
  return {up, {total - 1, &Rates::max, &Rates::min, low, high}};
}

double OneCycleLR::between(double from, double to, double part) const {
  if (options_.anneal_strategy() == OneCycleLROptions::Anneal::linear)
    return (to - from) * part + from;
  return to + (from - to) / 2 * (std::cos(std::numbers::pi * part) + 1);
}

std::vector<double> OneCycleLR::get_lrs() {
  auto& groups = optimizer_.param_groups();
  TANDEM_CHECK(epoch_ <= options_.total_steps(), "OneCycleLR: Tried to step ", epoch_,
               " times. The specified number of total steps is ", options_.total_steps());
  TANDEM_CHECK(groups.size() == rates_.size(), "OneCycleLR: the optimizer has ", groups.size(),
               " groups of parameters; it had ", rates_.size(), " when the schedule was made");
  const auto now = static_cast<double>(epoch_);
  const std::vector<Phase> all = phases();
  size_t k = 0;
  while (k + 1 < all.size() && now > all[k].end) ++k;
  const double start = k ? all[k - 1].end : 0;
  const double part = all[k].end == start ? 1 : (now - start) / (all[k].end - start);
  std::vector<double> rates;
  for (size_t i = 0; i < groups.size(); ++i) {
    rates.push_back(between(rates_[i].*all[k].from, rates_[i].*all[k].to, part));
    if (options_.cycle_momentum())
      *momentum_of(groups[i]) = between(all[k].from_momentum, all[k].to_momentum, part);
  }
  return rates;
}

}  // namespace tandem::optim
