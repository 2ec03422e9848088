// What an optimiser remembers, saved and put back.
#include <sstream>

#include "tandem/compile/compile.h"
#include "tandem/serialize/archive.h"
#include "tests/optim/helpers.h"

namespace tandem::optim {
namespace {

const std::vector<std::pair<const char*, Make>>& optimizers() {
  static const auto* list = new std::vector<std::pair<const char*, Make>>{
      {"SGD",
       [](const auto& p) {
         return std::make_unique<SGD>(p, SGDOptions(0.1).momentum(0.9).dampening(0.5));
       }},
      {"Adam",
       [](const auto& p) { return std::make_unique<Adam>(p, AdamOptions(0.1).amsgrad(true)); }},
      {"AdamW", [](const auto& p) { return std::make_unique<AdamW>(p, AdamWOptions(0.1)); }},
      {"RMSprop",
       [](const auto& p) {
         return std::make_unique<RMSprop>(p, RMSpropOptions(0.1).momentum(0.9).centered(true));
       }},
      {"Adagrad",
       [](const auto& p) {
         return std::make_unique<Adagrad>(p, AdagradOptions(0.1).lr_decay(0.1));
       }},
      {"Lion", [](const auto& p) { return std::make_unique<Lion>(p, LionOptions(0.1)); }},
  };
  return *list;
}

void steps(Problem& problem, Optimizer& optimizer, int64_t from, int64_t to) {
  for (int64_t t = from; t < to; ++t) {
    problem.set_gradients(t);
    optimizer.step();
  }
}

void copy_params(const Problem& from, Problem& to) {
  for (size_t i = 0; i < from.params.size(); ++i) to.params[i].copy_(from.params[i]);
}

TEST(OptimizerStates, ResumeExactly) {
  for (const auto& [name, make] : optimizers()) {
    SCOPED_TRACE(name);
    Problem straight, resumed;
    const auto whole = make(straight.params);
    steps(straight, *whole, 0, 4);
    whole->param_groups()[0].options().set_lr(0.03);
    // Into a new optimiser, and into one that has gone elsewhere.
    const auto other = make(resumed.params);
    steps(resumed, *other, 7, 9);
    copy_params(straight, resumed);
    other->load_state_dict(whole->state_dict());
    Problem third;
    copy_params(straight, third);
    const auto fresh = make(third.params);
    std::stringstream file;
    save(*whole, file);
    load(*fresh, file);
    EXPECT_EQ(fresh->param_groups()[0].options().get_lr(), 0.03);
    steps(straight, *whole, 4, 8);
    steps(resumed, *other, 4, 8);
    steps(third, *fresh, 4, 8);
    EXPECT_EQ(resumed.values(), straight.values());
    EXPECT_EQ(third.values(), straight.values());
  }
}

TEST(OptimizerStates, LBFGSResumesToo) {
  const auto closure = [](const Tensor& x, Optimizer& o) {
    return [&] {
      o.zero_grad();
      Tensor loss = ((x - 3).pow(4) + x.pow(2)).sum();
      loss.backward();
      return loss;
    };
  };
  const Tensor x = tensor({5.0, -2.0}, kDouble).set_requires_grad(true);
  LBFGS a({x}, LBFGSOptions(0.1).max_iter(4));
  a.step(closure(x, a));
  const Tensor y = x.detach().clone().set_requires_grad(true);
  LBFGS b({y}, LBFGSOptions(0.5));
  std::stringstream file;
  save(a, file);
  load(b, file);
  a.step(closure(x, a));
  b.step(closure(y, b));
  expect_same(y, x);
}

TEST(OptimizerStates, ACompiledStepGoesOnAfterALoad) {
  Problem eager, compiled;
  Adam expected(eager.params, 0.1), optimizer(compiled.params, 0.1);
  const auto step = compile([&](const Tensor& g) {
    for (const Tensor& p : compiled.params) p.mutable_grad() = p * g;
    optimizer.step();
    return g * 1;
  });
  const auto reference = [&] {
    for (const Tensor& p : eager.params) p.mutable_grad() = p * full({}, 0.5, kDouble);
    expected.step();
  };
  const OptimizerState before = optimizer.state_dict();
  for (int i = 0; i < 3; ++i) {
    step(full({}, 0.5, kDouble));
    reference();
  }
  // Back to the beginning, where nothing was remembered.
  optimizer.load_state_dict(before);
  expected.load_state_dict(before);
  for (int i = 0; i < 3; ++i) {
    step(full({}, 0.5, kDouble));
    reference();
  }
  EXPECT_EQ(compiled.values(), eager.values());
}

TEST(OptimizerStates, NamesAndOrder) {
  Problem problem;
  SGD optimizer(problem.params, SGDOptions(0.1).momentum(0.9));
  steps(problem, optimizer, 0, 1);
  const OptimizerState s = optimizer.state_dict();
  std::vector<std::string> names;
  for (const auto& [name, value] : s.numbers) names.push_back(name);
  for (const auto& [name, value] : s.tensors) names.push_back(name);
  EXPECT_EQ(s.optimizer, "SGD");
  EXPECT_EQ(names, (std::vector<std::string>{
                       "groups.0.params", "groups.0.lr", "groups.0.momentum", "groups.0.dampening",
                       "groups.0.weight_decay", "groups.0.nesterov", "state.0.steps",
                       "state.1.steps", "state.0.momentum_buffer", "state.1.momentum_buffer"}));
}

TEST(OptimizerStates, WhatDoesNotFitChangesNothing) {
  Problem problem;
  Adam optimizer(problem.params, 0.1);
  steps(problem, optimizer, 0, 2);
  const auto expect_refused = [&](const std::function<void(OptimizerState&)>& change,
                                  const char* words) {
    OptimizerState s = optimizer.state_dict();
    for (auto& [name, t] : s.tensors) t = t.clone() + 1;
    for (auto& [name, v] : s.numbers)
      if (name == "groups.0.lr") v = 7.0;
    change(s);
    EXPECT_THROW_WITH(optimizer.load_state_dict(s), words);
    EXPECT_EQ(optimizer.param_groups()[0].options().get_lr(), 0.1);
    EXPECT_LT(optimizer.state_dict().tensors[0].second.abs().max().item<double>(), 1);
  };
  expect_refused([](auto& s) { s.optimizer = "SGD"; }, "that of SGD");
  expect_refused([](auto& s) { s.numbers.pop_back(); }, "'state.1.step' is missing");
  expect_refused([](auto& s) { s.numbers[0].second = 5; }, "5 parameters in the state and 2 here");
  expect_refused([](auto& s) { s.tensors.erase(s.tensors.begin()); },
                 "'state.0.exp_avg' is missing");
  expect_refused([](auto& s) { s.tensors[0].second = ones({9}, kDouble); }, "shape");
  expect_refused([](auto& s) { s.tensors[0].second = ones({3}); }, "its parameter is");
  expect_refused([](auto& s) { s.tensors[0].second = Tensor(); }, "undefined");
  expect_refused([](auto& s) { s.tensors.push_back(s.tensors[0]); }, "twice");
  expect_refused([](auto& s) { s.numbers.emplace_back("state.2.step", 3); }, "nothing that is");
  std::stringstream file;
  save(ones({2}), file);
  EXPECT_THROW_WITH(load(optimizer, file), "optimizer");
}

/// Writes lists as LibTorch did before it saved options, and loads them.
void load_old(Optimizer& optimizer,
              const std::vector<std::pair<std::string, std::vector<Tensor>>>& lists,
              const std::vector<std::pair<std::string, Tensor>>& tensors = {},
              int64_t promised = -1) {
  serialize::OutputArchive out;
  for (const auto& [key, list] : lists) {
    out.write(key + "/size", tensor(promised < 0 ? static_cast<int64_t>(list.size()) : promised));
    for (size_t i = 0; i < list.size(); ++i) out.write(str(key, '/', i), list[i], true);
  }
  for (const auto& [key, t] : tensors) out.write(key, t, true);
  std::stringstream file;
  out.save_to(file);
  load(optimizer, file);
}

TEST(OptimizerStates, LibTorchsFirstFormat) {
  Problem straight, resumed;
  Adam adam(straight.params, AdamOptions(0.1)), other(resumed.params, AdamOptions(0.1));
  steps(straight, adam, 0, 3);
  std::vector<Tensor> step, average, square;
  for (const Tensor& p : straight.params) {
    const auto& s = static_cast<const AdamParamState&>(*adam.state().at(p.unsafeGetTensorImpl()));
    step.push_back(tensor(s.step()));
    average.push_back(s.exp_avg());
    square.push_back(s.exp_avg_sq());
  }
  copy_params(straight, resumed);
  load_old(other, {{"step_buffers", step},
                   {"exp_average_buffers", average},
                   {"exp_average_sq_buffers", square},
                   {"max_exp_average_sq_buffers", {}}});
  steps(straight, adam, 3, 6);
  steps(resumed, other, 3, 6);
  for (size_t i = 0; i < straight.params.size(); ++i)
    EXPECT_TRUE(equal(straight.params[i], resumed.params[i]));
  EXPECT_THROW_WITH(load_old(other, {{"step_buffers", step}}, {}, 77), "but promises");
  EXPECT_THROW_WITH(load_old(other, {{"step_buffers", {ones({2})}}}), "expected one number");
  EXPECT_THROW_WITH(load_old(other, {{"sum_buffers", average}}), "not Adam");
}

TEST(OptimizerStates, LibTorchsFirstFormatOfLBFGS) {
  // A quadratic function of two numbers.
  const auto closure_of = [](const Tensor& w, LBFGS& lbfgs) {
    return [&w, &lbfgs] {
      lbfgs.zero_grad();
      const Tensor loss = (w * w * tensor({1.0, 10.0})).sum() + w.prod();
      loss.backward();
      return loss;
    };
  };
  Tensor w = tensor({3.0, 1.0}, requires_grad()), v = tensor({3.0, 1.0}, requires_grad());
  const LBFGSOptions options = LBFGSOptions(0.1).max_iter(4);
  LBFGS lbfgs({w}, options), other({v}, options);
  lbfgs.step(closure_of(w, lbfgs));
  const auto& s = static_cast<const LBFGSParamState&>(*lbfgs.state().at(w.unsafeGetTensorImpl()));
  ASSERT_FALSE(s.old_dirs().empty());
  EXPECT_EQ(s.al()->size(), s.old_dirs().size());
  {
    const NoGradGuard no_grad;
    v.copy_(w);
  }
  load_old(other,
           {{"old_dirs", {s.old_dirs().begin(), s.old_dirs().end()}},
            {"old_stps", {s.old_stps().begin(), s.old_stps().end()}}},
           {{"d", s.d()},
            {"t", tensor(s.t())},
            {"H_diag", s.H_diag()},
            {"prev_flat_grad", s.prev_flat_grad()},
            {"prev_loss", tensor(s.prev_loss())}});
  lbfgs.step(closure_of(w, lbfgs));
  other.step(closure_of(v, other));
  EXPECT_TRUE(allclose(w, v)) << w << v;
  EXPECT_THROW_WITH(
      load_old(other, {{"old_dirs", {ones({2}, kDouble)}}},
               {{"t", tensor(1.0)}, {"prev_loss", tensor(1.0)}, {"prev_flat_grad", ones({2})}}),
      "1 old_dirs, but 0 old_stps");
}

}  // namespace
}  // namespace tandem::optim
