// A training step with an optimiser is the same eager, compiled and lazy.
#include "tandem/compile/compile.h"
#include "tandem/compile/lazy.h"
#include "tandem/compile/trace.h"
#include "tandem/graph/pipeline.h"
#include "tandem/nn/utils/clip_grad.h"
#include "tandem/runtime/plan.h"
#include "tests/optim/helpers.h"

namespace tandem::optim {
namespace {

/// A perceptron in two groups with options of their own, and a parameter that is not used.
struct Net {
  Net() {
    manual_seed(7);
    w1 = (randn({6, 9}) * 0.4).set_requires_grad(true);
    b1 = zeros({9}, requires_grad());
    w2 = (randn({9, 4}) * 0.3).set_requires_grad(true);
    unused = ones({5}, requires_grad());
    x = randn({8, 6});
    y = randn({8, 4});
  }
  Tensor loss(const Tensor& in, const Tensor& out) const {
    return ((in.mm(w1) + b1).tanh().mm(w2) - out).pow(2).mean();
  }
  std::vector<Tensor> all() const { return {w1, b1, w2, unused}; }

  Tensor w1, b1, w2, unused, x, y;
};

template <class O, class Options>
std::unique_ptr<Optimizer> two_groups(const Net& net, Options first, Options second) {
  std::vector<OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{net.w1, net.unused},
                      std::make_unique<Options>(std::move(first)));
  groups.emplace_back(std::vector<Tensor>{net.b1, net.w2},
                      std::make_unique<Options>(std::move(second)));
  return std::make_unique<O>(std::move(groups), Options(0.01));
}

struct Case {
  const char* name;
  std::function<std::unique_ptr<Optimizer>(const Net&)> make;
};

const Case kCases[] = {
    {"SGD",
     [](const Net& n) {
       return two_groups<SGD>(n, SGDOptions(0.1), SGDOptions(0.05).weight_decay(0.01));
     }},
    {"Momentum",
     [](const Net& n) {
       return two_groups<SGD>(n, SGDOptions(0.05).momentum(0.9).nesterov(true),
                              SGDOptions(0.02).momentum(0.8).dampening(0.4).weight_decay(0.01));
     }},
    {"Adam",
     [](const Net& n) {
       return two_groups<Adam>(n, AdamOptions(0.01).weight_decay(0.01),
                               AdamOptions(0.02).amsgrad(true).betas({0.8, 0.9}));
     }},
    {"AdamW",
     [](const Net& n) {
       return two_groups<AdamW>(n, AdamWOptions(0.01), AdamWOptions(0.02).weight_decay(0.1));
     }},
    {"RMSprop",
     [](const Net& n) {
       return two_groups<RMSprop>(n, RMSpropOptions(0.01).momentum(0.5),
                                  RMSpropOptions(0.01).centered(true).weight_decay(0.01));
     }},
    {"Adagrad",
     [](const Net& n) {
       return two_groups<Adagrad>(n, AdagradOptions(0.1).lr_decay(0.01),
                                  AdagradOptions(0.1).weight_decay(0.01));
     }},
    {"Lion",
     [](const Net& n) {
       return two_groups<Lion>(n, LionOptions(0.01), LionOptions(0.002).weight_decay(0.1));
     }},
};

enum class Mode { kEager, kCompiled, kLazy };

struct Outcome {
  std::vector<float> losses;
  std::vector<Tensor> params;
  OptimizerState state;
  size_t graphs = 0;
};

/// 100 steps with gradients clipped, a schedule, and options changed by hand half way.
Outcome train(const Case& c, Mode mode, bool set_to_none) {
  Net net;
  const auto optimizer = c.make(net);
  CosineAnnealingLR schedule(*optimizer, 60, 1e-4);
  const auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer->zero_grad(set_to_none);
    const Tensor loss = net.loss(x, y);
    loss.backward();
    nn::utils::clip_grad_norm_({net.w1, net.b1, net.w2}, 0.5);
    optimizer->step();
    return loss.detach();
  };
  const auto compiled = compile(step);
  Outcome out;
  for (int i = 0; i < 100; ++i) {
    if (i == 50)
      for (const auto& f : optimizer->param_groups()[1].options().fields())
        if (f.name == std::string("weight_decay")) *std::get<Number*>(f.value) = 0.05;
    if (mode == Mode::kLazy) {
      const LazyGuard lazy;
      out.losses.push_back(step(net.x, net.y).item<float>());
    } else {
      out.losses.push_back(
          (mode == Mode::kCompiled ? compiled(net.x, net.y) : step(net.x, net.y)).item<float>());
    }
    if (i % 2 == 1) schedule.step();
  }
  out.params = net.all();
  out.state = optimizer->state_dict();
  out.graphs = compiled.graph_count();
  return out;
}

void expect_same_outcome(const Outcome& got, const Outcome& expected) {
  EXPECT_EQ(got.losses, expected.losses);
  for (size_t i = 0; i < expected.params.size(); ++i)
    expect_same(got.params[i], expected.params[i]);
  ASSERT_EQ(got.state.tensors.size(), expected.state.tensors.size());
  for (size_t i = 0; i < expected.state.tensors.size(); ++i) {
    EXPECT_EQ(got.state.tensors[i].first, expected.state.tensors[i].first);
    expect_same(got.state.tensors[i].second, expected.state.tensors[i].second);
  }
  ASSERT_EQ(got.state.numbers.size(), expected.state.numbers.size());
  for (size_t i = 0; i < expected.state.numbers.size(); ++i)
    EXPECT_EQ(got.state.numbers[i].second.toDouble(), expected.state.numbers[i].second.toDouble())
        << expected.state.numbers[i].first;
}

class Compiled : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(All, Compiled, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(Compiled, StepsEqualEagerOnes) {
  const Outcome eager = train(GetParam(), Mode::kEager, false);
  EXPECT_LT(eager.losses.back(), eager.losses.front());
  const Outcome compiled = train(GetParam(), Mode::kCompiled, false);
  expect_same_outcome(compiled, eager);
  // Before the first step there are no gradients, but nobody looks.
  EXPECT_EQ(compiled.graphs, 1u);
  const Outcome forgetting = train(GetParam(), Mode::kCompiled, true);
  expect_same_outcome(forgetting, eager);
  EXPECT_EQ(forgetting.graphs, 1u);
  expect_same_outcome(train(GetParam(), Mode::kLazy, false), eager);
}

TEST(CompiledOptimizer, OneStepForAListInPlace) {
  Net net;
  Adam optimizer({net.w1, net.b1, net.w2}, 0.01);
  const auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad(/*set_to_none=*/true);
    const Tensor loss = net.loss(x, y);
    loss.backward();
    optimizer.step();
    return loss;
  };
  const runtime::Plan plan = runtime::make_plan(optimise(trace(step, {net.x, net.y})));
  int updates = 0;
  for (const runtime::Step& s : plan.steps) {
    EXPECT_STRNE(s.op->name, "copy");
    if (s.op->name != std::string("adam_step")) continue;
    ++updates;
    // Each of the twelve outputs lies where the input of the same number is.
    ASSERT_EQ(s.n_outputs, 12u);
    for (uint32_t k = 0; k < s.n_outputs; ++k) {
      const runtime::Place &in = plan.arrays[s.first + k].place,
                           &out = plan.arrays[s.first + s.n_inputs + k].place;
      EXPECT_EQ(out.kind, runtime::Place::Kind::input);
      EXPECT_EQ(out.index, in.index);
    }
  }
  EXPECT_EQ(updates, 1);
}

TEST(CompiledOptimizer, StructureThatChangesIsRecordedAnew) {
  const auto run = [](bool compiled) {
    Net net;
    SGD optimizer({net.w1, net.b1}, SGDOptions(0.05));
    const auto step = [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = net.loss(x, y);
      loss.backward();
      optimizer.step();
      return loss.detach();
    };
    const auto fast = compile(step);
    auto& options = static_cast<SGDOptions&>(optimizer.param_groups()[0].options());
    for (int i = 0; i < 20; ++i) {
      if (i == 5) options.momentum(0.9);    // needs buffers
      if (i == 10) options.nesterov(true);  // another formula
      if (i == 15) optimizer.add_param_group(OptimizerParamGroup({net.w2}));
      if (i == 18) optimizer.param_groups()[1].set_options(std::make_unique<SGDOptions>(0.2));
      compiled ? fast(net.x, net.y) : step(net.x, net.y);
    }
    return net;
  };
  const Net eager = run(false), compiled = run(true);
  for (size_t i = 0; i < 4; ++i) expect_same(compiled.all()[i], eager.all()[i]);
}

TEST(CompiledOptimizer, WhatCannotBeRecordedSaysSo) {
  Net net;
  LBFGS lbfgs({net.w1}, LBFGSOptions(1));
  const auto search =
      compile([&](const Tensor& x) { return lbfgs.step([&] { return net.loss(x, net.y); }); });
  EXPECT_THROW_WITH(search(net.x), "LBFGS: a step looks at values");

  Adam adam({net.w1}, 0.1);
  ExponentialLR schedule(adam, 0.5);
  const auto scheduled = compile([&](const Tensor& x) {
    net.loss(x, net.y).backward();
    adam.step();
    schedule.step();
    return x.sum();
  });
  EXPECT_THROW_WITH(scheduled(net.x), "while a function was being recorded");
}

TEST(CompiledOptimizer, ApplyGradientsInsideACompiledFunction) {
  const auto run = [](bool compiled) {
    Net net;
    Adam optimizer({net.w1, net.b1, net.w2}, 0.01);
    const auto step = [&](const Tensor& x, const Tensor& y) {
      const auto grads = autograd::grad({net.loss(x, y)}, {net.w1, net.w2});
      optimizer.apply_gradients({{grads[0], net.w1}, {grads[1], net.w2}});
      return x.sum();
    };
    const auto fast = compile(step);
    for (int i = 0; i < 10; ++i) compiled ? fast(net.x, net.y) : step(net.x, net.y);
    return net;
  };
  const Net eager = run(false), compiled = run(true);
  for (size_t i = 0; i < 4; ++i) expect_same(compiled.all()[i], eager.all()[i]);
  EXPECT_FALSE(compiled.w1.grad().defined());
}

TEST(CompiledOptimizer, AParameterGivenTwiceMovesTwice) {
  const auto run = [](bool compiled) {
    Net net;
    SGD optimizer({net.w1, net.w2, net.w1}, SGDOptions(0.1).momentum(0.9));
    const auto step = [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      net.loss(x, y).backward();
      optimizer.step();
      return x.sum();
    };
    const auto fast = compile(step);
    for (int i = 0; i < 4; ++i) compiled ? fast(net.x, net.y) : step(net.x, net.y);
    return net;
  };
  const Net eager = run(false), compiled = run(true);
  for (size_t i = 0; i < 4; ++i) expect_same(compiled.all()[i], eager.all()[i]);
}

}  // namespace
}  // namespace tandem::optim
