// Whole training steps: forward, backward, running statistics, dropout, optimiser with state, a
// schedule. 200 steps eager, compiled and lazy have the same losses and the same weights.
#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/base/memory.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/lazy.h"
#include "tandem/compile/trace.h"
#include "tandem/graph/pipeline.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/runtime/plan.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

enum class Method { kMomentum, kAdam };

/// A perceptron with dropout and a normalisation that keeps running statistics, trained by hand.
class Training {
 public:
  explicit Training(Method method) : method_(method) {
    manual_seed(3);
    const auto weight = [&](int64_t in, int64_t out) {
      return (randn({in, out}) * (1 / std::sqrt(static_cast<double>(in)))).set_requires_grad(true);
    };
    parameters_ = {weight(12, 16), zeros({16}, requires_grad()), ones({16}, requires_grad()),
                   weight(16, 3), zeros({3}, requires_grad())};
    for (const Tensor& p : parameters_) {
      first_.push_back(zeros_like(p.detach()));
      second_.push_back(zeros_like(p.detach()));
    }
    x_ = randn({8, 12});
    y_ = randint(0, 3, {8}, kLong);
  }

  // The rate is a tensor: a number would be part of the program.
  Tensor rate = full({}, 0.05);
  Tensor mean = zeros({16}), var = ones({16}), step_count = zeros({});

  Tensor step(const Tensor& x, const Tensor& y) {
    for (const Tensor& p : parameters_) p.mutable_grad() = Tensor();
    Tensor h = x.mm(parameters_[0]) + parameters_[1];
    const Tensor m = h.mean(0), v = h.var(0, /*unbiased=*/false);
    {
      const NoGradGuard no_grad;
      mean.mul_(0.9).add_(m.detach() * 0.1);
      var.mul_(0.9).add_(v.detach() * 0.1);
    }
    h = ((h - m) / (v + 1e-5).sqrt() * parameters_[2]).relu();
    h = h * (rand_like(h.detach()) > 0.25) / 0.75;
    const Tensor scores = h.mm(parameters_[3]) + parameters_[4];
    const Tensor loss = -scores.log_softmax(1).gather(1, y.unsqueeze(1)).mean();
    loss.backward();
    update();
    return loss;
  }
  Tensor step() { return step(x_, y_); }

  const std::vector<Tensor>& parameters() const { return parameters_; }
  const Tensor& x() const { return x_; }
  const Tensor& y() const { return y_; }

 private:
  void update() {
    const NoGradGuard no_grad;
    step_count.add_(1);
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor& p = parameters_[i];
      const Tensor g = p.grad();
      if (method_ == Method::kMomentum) {
        first_[i].mul_(0.9).add_(g);
        p.sub_(first_[i] * rate);
      } else {
        first_[i].mul_(0.9).add_(g * 0.1);
        second_[i].mul_(0.999).add_(g * g * 0.001);
        const Tensor a = first_[i] / (1 - pow(0.9, step_count));
        const Tensor b = second_[i] / (1 - pow(0.999, step_count));
        p.sub_(rate * a / (b.sqrt() + 1e-8));
      }
    }
  }

  Method method_;
  std::vector<Tensor> parameters_, first_, second_;
  Tensor x_, y_;
};

class TrainingSteps : public testing::TestWithParam<Method> {};
INSTANTIATE_TEST_SUITE_P(Both, TrainingSteps, testing::Values(Method::kMomentum, Method::kAdam),
                         [](const auto& info) {
                           return info.param == Method::kAdam ? "Adam" : "Momentum";
                         });

constexpr int kSteps = 200;

// The schedule: another rate every 50 steps.
template <class Step>
std::vector<float> losses(Training& t, const Step& step) {
  manual_seed(17);
  std::vector<float> list;
  for (int i = 0; i < kSteps; ++i) {
    t.rate.fill_(0.05 / (1 + i / 50));
    list.push_back(step());
  }
  return list;
}

void expect_equal_state(const Training& got, const Training& expected) {
  for (size_t i = 0; i < expected.parameters().size(); ++i) {
    expect_same(got.parameters()[i], expected.parameters()[i]);
    expect_same(got.parameters()[i].grad(), expected.parameters()[i].grad());
  }
  expect_same(got.mean, expected.mean);
  expect_same(got.var, expected.var);
  expect_same(got.step_count, expected.step_count);
}

TEST_P(TrainingSteps, CompiledLazyAndEagerAgree) {
  Training eager(GetParam());
  const auto expected = losses(eager, [&] { return eager.step().item<float>(); });
  EXPECT_LT(expected.back(), 0.7 * expected.front());

  Training compiled(GetParam());
  const auto step = compile([&](const Tensor& x, const Tensor& y) { return compiled.step(x, y); });
  EXPECT_EQ(losses(compiled, [&] { return step(compiled.x(), compiled.y()).item<float>(); }),
            expected);
  expect_equal_state(compiled, eager);
  // With no gradient before the first step and one before the others.
  EXPECT_EQ(step.graph_count(), 2);

  Training deferred(GetParam());
  EXPECT_EQ(losses(deferred,
                   [&] {
                     const LazyGuard lazy;
                     return deferred.step().item<float>();
                   }),
            expected);
  expect_equal_state(deferred, eager);
}

// The study's perceptron of W1: the arena is at most half of what op by op would hold.
TEST(TrainingMemory, ThePlannedArenaIsAtMostHalfOfTheIntermediates) {
  std::vector<Tensor> p = {randn({784, 512}, requires_grad()), zeros({512}, requires_grad()),
                           randn({512, 10}, requires_grad()), zeros({10}, requires_grad())};
  const auto step = [&](const Tensor& x, const Tensor& y) {
    for (const Tensor& t : p) t.mutable_grad() = Tensor();
    const Tensor h = (x.mm(p[0]) + p[1]).relu();
    const Tensor loss = (y - (h.mm(p[2]) + p[3]).relu()).norm();
    loss.backward();
    const NoGradGuard no_grad;
    for (const Tensor& t : p) t.sub_(t.grad() * 1e-3);
    return loss;
  };
  const Graph g = trace(step, {randn({128, 784}), randn({128, 10})});
  const runtime::Plan unfused = runtime::make_plan(optimise(g, {.without = {"fuse", "schedule"}}));
  const runtime::Plan plan = runtime::make_plan(optimise(g));
  EXPECT_LE(plan.arena_bytes * 2, unfused.intermediate_bytes);
  EXPECT_LT(plan.steps.size(), unfused.steps.size());
}

// Gradients that a step throws away are gone before it makes new ones, as in eager.
TEST(TrainingMemory, OldGradientsMakeRoomForNewOnes) {
  Tensor w = randn({512, 1024}).requires_grad_();
  const Tensor x = randn({8, 512});
  const auto step = compile([&](Tensor x) {
    w.mutable_grad().reset();
    const Tensor loss = x.mm(w).pow(2).sum();
    loss.backward();
    return loss.detach();
  });
  for (int i = 0; i < 3; ++i) step(x);
  jit::wait_idle();
  step(x);
  const int64_t before = memory::stats().current;
  memory::reset_peak();
  for (int i = 0; i < 3; ++i) step(x);
  EXPECT_LT(memory::stats().peak - before, static_cast<int64_t>(w.nbytes()) / 2);
  EXPECT_EQ(memory::stats().current, before);

  // One that is added to is neither lost nor made twice.
  const auto add = compile([&](Tensor x) {
    const Tensor loss = x.mm(w).pow(2).sum();
    loss.backward();
    return loss.detach();
  });
  const Tensor once = w.grad().clone();
  add(x);
  EXPECT_TRUE(allclose(w.grad(), once * 2));
}

// What a step throws away before it fails is gone, compiled as eager; what it adds to is not.
TEST(TrainingMemory, GradientsAfterAFailure) {
  for (const bool compiled : {false, true}) {
    Tensor table = randn({5, 3}).requires_grad_();
    bool reset = false;
    const auto body = [&](Tensor at) {
      if (reset) table.mutable_grad().reset();
      const Tensor loss = table.index_select(0, at).pow(2).sum();
      loss.backward();
      return loss.detach();
    };
    for (const bool discards : {false, true}) {
      reset = discards;
      const auto step = compile(body);
      const auto call = [&](const Tensor& at) { return compiled ? step(at) : body(at); };
      for (int i = 0; i < 3; ++i) call(tensor({0, 4}));
      const Tensor before = table.grad().clone();
      EXPECT_THROW(call(tensor({0, 5})), IndexError) << compiled << discards;
      EXPECT_EQ(table.grad().defined(), !discards) << compiled << discards;
      EXPECT_TRUE(discards || table.grad().equal(before)) << compiled;
      call(tensor({1, 2}));
      EXPECT_TRUE(table.grad().defined()) << compiled << discards;
    }
  }
}

TEST(TrainingMemory, ALongRunEndsWithTheMemoryItBeganWith) {
  Training t(Method::kMomentum);
  const auto step = compile([&](const Tensor& x, const Tensor& y) { return t.step(x, y); });
  for (int i = 0; i < 5; ++i) step(t.x(), t.y());
  jit::wait_idle();
  for (int i = 0; i < 5; ++i) step(t.x(), t.y());
  const auto before = memory::stats();
  for (int i = 0; i < 2000; ++i) step(t.x(), t.y());
  EXPECT_EQ(memory::stats().current, before.current);
}

}  // namespace
}  // namespace tandem
