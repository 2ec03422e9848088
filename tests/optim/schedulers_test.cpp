// Schedules against PyTorch's formulas.
#include <numbers>

#include "tests/optim/helpers.h"

namespace tandem::optim {
namespace {

using std::numbers::pi;

struct Schedules : testing::Test {
  const std::vector<Tensor> params = {ones({1})};
  SGD optimizer{params, SGDOptions(1.0).momentum(0.5)};

  double lr(size_t group = 0) { return optimizer.param_groups()[group].options().get_lr(); }
  /// The rate now and after each of n steps.
  template <class S>
  std::vector<double> rates(S& schedule, int n) {
    std::vector<double> list{lr()};
    for (int i = 0; i < n; ++i) {
      schedule.step();
      list.push_back(lr());
    }
    return list;
  }
};

// Counted by LibTorch 1.13 itself.
TEST_F(Schedules, StepLRCountsAsLibTorchDoes) {
  StepLR s(optimizer, 3, 0.5);
  EXPECT_EQ(rates(s, 10),
            (std::vector<double>{1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125}));
  s.restart();
  EXPECT_EQ(lr(), 1);
  EXPECT_THROW_WITH(StepLR(optimizer, 0), "step_size");
}

TEST_F(Schedules, MultiStepLR) {
  MultiStepLR s(optimizer, {2, 4, 4}, 0.5);
  EXPECT_EQ(rates(s, 5), (std::vector<double>{1, 1, 0.5, 0.5, 0.125, 0.125}));
}

TEST_F(Schedules, ExponentialLR) {
  ExponentialLR s(optimizer, 0.5);
  EXPECT_EQ(rates(s, 3), (std::vector<double>{1, 0.5, 0.25, 0.125}));
  EXPECT_EQ(s.last_epoch(), 3);
  EXPECT_EQ(s.get_last_lr(), std::vector<double>{0.125});
}

TEST_F(Schedules, LambdaLR) {
  optimizer.add_param_group(
      OptimizerParamGroup(std::vector<Tensor>{ones({1})}, std::make_unique<SGDOptions>(2.0)));
  LambdaLR s(optimizer, {[](int64_t e) { return 1.0 / static_cast<double>(e + 1); },
                         [](int64_t e) { return static_cast<double>(e); }});
  EXPECT_EQ(lr(1), 0);
  s.step();
  s.step();
  EXPECT_EQ(lr(0), 1.0 / 3);
  EXPECT_EQ(lr(1), 4);
  EXPECT_THROW_WITH(LambdaLR(optimizer, std::vector<LambdaLR::Lambda>{}), "Expected 2 lr_lambdas");
}

TEST_F(Schedules, LinearLR) {
  LinearLR s(optimizer, 0.25, 1.0, 3);
  expect_values(rates(s, 5), {0.25, 0.5, 0.75, 1, 1, 1}, 1e-15);
  EXPECT_THROW_WITH(LinearLR(optimizer, 0), "between 0 and 1");
  EXPECT_THROW_WITH(LinearLR(optimizer, 0.5, 2), "between 0 and 1");
}

TEST_F(Schedules, ConstantLR) {
  ConstantLR s(optimizer, 0.5, 2);
  EXPECT_EQ(rates(s, 3), (std::vector<double>{0.5, 0.5, 1, 1}));
}

TEST_F(Schedules, CosineAnnealingLR) {
  CosineAnnealingLR s(optimizer, 4, 0.2);
  std::vector<double> expected;
  for (int e = 0; e <= 10; ++e) expected.push_back(0.2 + 0.8 * (1 + std::cos(pi * e / 4)) / 2);
  expect_values(rates(s, 10), expected, 1e-14);
  EXPECT_THROW_WITH(CosineAnnealingLR(optimizer, 0), "T_max");
}

TEST_F(Schedules, CosineAnnealingWarmRestarts) {
  CosineAnnealingWarmRestarts s(optimizer, 2, 2, 0.1);
  const auto at = [](double part) { return 0.1 + 0.9 * (1 + std::cos(pi * part)) / 2; };
  expect_values(rates(s, 7), {at(0), at(0.5), at(0), at(0.25), at(0.5), at(0.75), at(0), at(0.125)},
                1e-15);
  // Straight to an epoch: the third cycle begins with epoch 6.
  s.step(8.5);
  EXPECT_NEAR(lr(), at(2.5 / 8), 1e-15);
  EXPECT_THROW_WITH(s.step(-1.0), "non-negative");
}

TEST_F(Schedules, OneCycleLR) {
  OneCycleLR s(optimizer, OneCycleLROptions(1.0, 10));
  const auto mix = [](double from, double to, double part) {
    return to + (from - to) / 2 * (std::cos(pi * part) + 1);
  };
  auto& options = static_cast<SGDOptions&>(optimizer.param_groups()[0].options());
  EXPECT_EQ(options.momentum(), 0.95);
  for (int step = 0; step < 10; ++step) {
    // Three of ten steps up, to number 2, then down.
    const bool up = step <= 2;
    const double part = up ? step / 2.0 : (step - 2) / 7.0;
    EXPECT_NEAR(lr(), up ? mix(0.04, 1, part) : mix(1, 0.04e-4, part), 1e-14) << step;
    EXPECT_NEAR(options.momentum(), up ? mix(0.95, 0.85, part) : mix(0.85, 0.95, part), 1e-14);
    s.step();
  }
  EXPECT_THROW_WITH(s.step(), "Tried to step 11 times");
}

TEST_F(Schedules, OneCycleLRInThreeLinearPhases) {
  OneCycleLR s(optimizer, OneCycleLROptions(2.0, 10)
                              .three_phase(true)
                              .pct_start(0.4)
                              .anneal_strategy(OneCycleLROptions::Anneal::linear)
                              .cycle_momentum(false)
                              .div_factor(4)
                              .final_div_factor(10));
  // Up to step 3, down to step 6, further down to step 9.
  expect_values(rates(s, 9), {0.5, 1, 1.5, 2, 1.5, 1, 0.5, 0.35, 0.2, 0.05}, 1e-14);
  Adagrad without(std::vector<Tensor>{ones({1})});
  EXPECT_THROW_WITH(OneCycleLR(without, OneCycleLROptions(1, 10)), "momentum");
  Adam adam(std::vector<Tensor>{ones({1})});
  OneCycleLR betas(adam, OneCycleLROptions(1, 10));
  EXPECT_EQ(std::get<0>(static_cast<AdamOptions&>(adam.param_groups()[0].options()).betas()), 0.95);
}

TEST_F(Schedules, SequentialLRWarmsUp) {
  const auto warm_up = std::make_shared<LinearLR>(optimizer, 0.25, 1.0, 3);
  const auto rest = std::make_shared<ExponentialLR>(optimizer, 0.5);
  SequentialLR s(optimizer, {warm_up, rest}, {3});
  expect_values(rates(s, 6), {0.25, 0.5, 0.75, 1, 0.5, 0.25, 0.125}, 1e-15);
  s.restart();
  EXPECT_EQ(lr(), 0.25);
  EXPECT_THROW_WITH(SequentialLR(optimizer, {warm_up}, {3}), "one milestone less");
  SGD other(std::vector<Tensor>{ones({1})}, 1.0);
  EXPECT_THROW_WITH(SequentialLR(other, {warm_up, rest}, {3}), "same optimizer");
}

TEST_F(Schedules, ChainedSchedulerMultiplies) {
  const auto constant = std::make_shared<ConstantLR>(optimizer, 0.5, 2);
  const auto falling = std::make_shared<ExponentialLR>(optimizer, 0.5);
  ChainedScheduler s({constant, falling});
  EXPECT_EQ(rates(s, 3), (std::vector<double>{0.5, 0.25, 0.25, 0.125}));
  s.restart();
  EXPECT_EQ(lr(), 0.5);
  EXPECT_THROW_WITH(ChainedScheduler({}), "no schedule");
}

TEST_F(Schedules, ReduceLROnPlateau) {
  ReduceLROnPlateauScheduler s(optimizer, ReduceLROnPlateauScheduler::min, 0.5f, /*patience=*/1,
                               /*threshold=*/0.1, ReduceLROnPlateauScheduler::rel, /*cooldown=*/1,
                               {0.2f});
  std::vector<double> got;
  for (const float metric : {1.0f, 0.95f, 0.94f, 0.94f, 0.94f, 0.94f, 0.5f, 0.5f, 0.5f}) {
    s.step(metric);
    got.push_back(lr());
  }
  // Not better by a tenth twice: half; one call of rest; twice again: half; better; twice: 0.2.
  EXPECT_EQ(got, (std::vector<double>{1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.20000000298023224}));
  EXPECT_EQ(s.best(), 0.5);
  ReduceLROnPlateau up(optimizer, ReduceLROnPlateau::max, 0.5f, 0, 0.5, ReduceLROnPlateau::abs);
  up.step(1);
  up.step(1.4f);
  EXPECT_EQ(lr(), 0.20000000298023224 * 0.5);
  EXPECT_THROW_WITH(ReduceLROnPlateau(optimizer, ReduceLROnPlateau::min, 1.0f), "Factor");
}

TEST_F(Schedules, StateGoesOnWhereItWas) {
  const auto make = [](Optimizer& o) {
    return SequentialLR(o,
                        {std::make_shared<LinearLR>(o, 0.5, 1.0, 2),
                         std::make_shared<CosineAnnealingWarmRestarts>(o, 2, 2)},
                        {2});
  };
  auto s = make(optimizer);
  (void)rates(s, 5);
  SGD again(std::vector<Tensor>{ones({1})}, SGDOptions(1.0));
  auto t = make(again);
  t.load_state_dict(s.state_dict());
  again.load_state_dict(optimizer.state_dict());
  for (int i = 0; i < 6; ++i) {
    s.step();
    t.step();
    EXPECT_EQ(again.param_groups()[0].options().get_lr(), lr());
  }
  auto state = s.state_dict();
  state.pop_back();
  EXPECT_THROW_WITH(t.load_state_dict(state), "missing");
  state = s.state_dict();
  state[0].second = 0.5;
  EXPECT_THROW_WITH(t.load_state_dict(state), "whole number");
}

// A schedule of one's own, as LibTorch has them.
TEST_F(Schedules, OwnSchedules) {
  struct Halving : LRScheduler {
    using LRScheduler::LRScheduler;
    std::vector<double> get_lrs() override {
      auto rates = get_current_lrs();
      for (double& r : rates) r /= 2;
      return rates;
    }
  } s(optimizer);
  EXPECT_EQ(rates(s, 2), (std::vector<double>{1, 0.5, 0.25}));
}

}  // namespace
}  // namespace tandem::optim
