#include "tandem/runtime/executor.h"

#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include "tandem/autograd/autograd.h"
#include "tandem/base/memory.h"
#include "tandem/compile/trace.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/matmul_op.h"
#include "tandem/ops/reduction_op.h"
#include "tandem/ops/view_op.h"
#include "tests/helpers.h"
#include "tests/runtime/graphs.h"

namespace tandem::runtime {
namespace {

using test::error_of;

Tensor numbers(IntArrayRef sizes) { return randn(sizes); }

TEST(Executor, RunsOpsInOrder) {
  Builder b;
  const Edge x = b.input({3, 4}), y = b.input({4});
  b.result(b.op("tanh", {b.op("mul", {b.op("exp", {x}), y})}));
  const Tensor a = numbers({3, 4}), c = numbers({4});
  const Executor executor(make_plan(b.g));
  EXPECT_TRUE(same_bits(executor.run({a, c})[0], tanh(exp(a) * c)));
  expect_same_as_graph(b.g, {a, c});
  // exp's memory serves mul and tanh: all of them write the result's.
  EXPECT_EQ(executor.plan().arena_bytes, 0);
  EXPECT_EQ(executor.plan().intermediate_bytes, 2 * 48);
}

TEST(Executor, ViewsAreNoSteps) {
  Builder b;
  const Edge x = b.input({4, 6});
  const Edge e = b.op("exp", {x});
  const Edge t = b.op("permute", {e}, PermuteAttrs{{1, 0}});
  const Edge part = b.op("slice", {t}, SliceAttrs{0, 1, 3, 2});
  const Edge row = b.op("select", {e}, SelectAttrs{0, 2});
  const Edge piece = b.op("slice", {row}, SliceAttrs{0, 1, 4, 1});
  b.result(b.op("mul", {part, piece}));
  const Executor executor(make_plan(b.g));
  EXPECT_EQ(executor.plan().steps.size(), 2u);
  expect_same_as_graph(b.g, {numbers({4, 6})});
}

TEST(Executor, ResultsThatAreInputsOrViewsOfThem) {
  Builder b;
  const Tensor w = numbers({5});
  const Edge x = b.input({2, 3}), c = b.capture(w);
  b.result(x);
  b.result(b.op("permute", {x}, PermuteAttrs{{1, 0}}));
  b.result(c);
  b.result(b.op("slice", {c}, SliceAttrs{0, 1, 2, 2}));
  const Executor executor(make_plan(b.g));
  const Tensor a = numbers({2, 3});
  const std::vector<Tensor> out = executor.run({a});
  EXPECT_EQ(out[0].data_ptr(), a.data_ptr());
  EXPECT_FALSE(out[0].is_same(a));  // a history of the result is none of the input's
  EXPECT_EQ(out[1].data_ptr(), a.data_ptr());
  EXPECT_TRUE(same_bits(out[1], a.t()));
  EXPECT_EQ(out[2].data_ptr(), w.data_ptr());
  EXPECT_TRUE(same_bits(out[3], w.slice(0, 1, 5, 2)));
  out[3].zero_();
  EXPECT_EQ(w[1].item<float>(), 0) << "a view of a captured tensor shares its memory";
}

TEST(Executor, ResultsThatAreViewsOfWhatWasComputed) {
  Builder b;
  const Edge x = b.input({3, 4});
  const Edge y = b.op("exp", {x});
  b.result(b.op("permute", {y}, PermuteAttrs{{1, 0}}));
  b.result(y);
  b.result(b.op("select", {y}, SelectAttrs{0, 1}));
  const Executor executor(make_plan(b.g));
  const Tensor a = numbers({3, 4});
  const std::vector<Tensor> out = executor.run({a});
  EXPECT_TRUE(same_bits(out[0], exp(a).t()));
  EXPECT_TRUE(same_bits(out[1], exp(a)));
  EXPECT_TRUE(same_bits(out[2], exp(a)[1]));
  EXPECT_EQ(out[0].data_ptr(), out[1].data_ptr());
  EXPECT_EQ(executor.plan().steps.size(), 1u);
  expect_same_as_graph(b.g, {a});
}

TEST(Executor, OneValueReturnedTwiceIsTwoTensors) {
  Builder b;
  const Edge x = b.input({3});
  const Edge y = b.op("exp", {x});
  b.result(y);
  b.result(y);
  b.result(b.constant(tensor({1.0f, 2.0f})));
  const Executor executor(make_plan(b.g));
  const Tensor a = numbers({3});
  const std::vector<Tensor> out = executor.run({a});
  EXPECT_TRUE(same_bits(out[0], out[1]));
  out[0].zero_();
  out[2].zero_();
  EXPECT_TRUE(same_bits(out[1], exp(a)));
  EXPECT_TRUE(same_bits(executor.run({a})[2], tensor({1.0f, 2.0f}))) << "constants stay";
}

TEST(Executor, ResultsOfOneCallOutliveTheNext) {
  Builder b;
  const Edge x = b.input({3});
  b.result(b.op("exp", {x}));
  const Executor executor(make_plan(b.g));
  const Tensor first = executor.run({zeros({3})})[0], second = executor.run({ones({3})})[0];
  EXPECT_TRUE(same_bits(first, ones({3})));
  EXPECT_TRUE(same_bits(second, exp(ones({3}))));
}

// -- writes ------------------------------------------------------------------------------------

TEST(ExecutorWrites, AnUpdateIsComputedInTheTensorItself) {
  Builder b;
  const Tensor w = numbers({4});
  const Tensor before = w.clone();
  const Edge g = b.input({4}), c = b.capture(w);
  b.write(c, b.op("sub", {c, g}, MapAttrs{0.5}));
  const Executor executor(make_plan(b.g));
  EXPECT_EQ(executor.plan().steps.size(), 1u);
  EXPECT_EQ(executor.plan().arena_bytes, 0);
  const Tensor grad = numbers({4});
  const uint32_t version = w._version();
  EXPECT_TRUE(executor.run({grad}).empty());
  EXPECT_TRUE(same_bits(w, before.sub(grad, 0.5)));
  EXPECT_GT(w._version(), version) << "autograd must learn of the write";
  expect_same_as_graph(b.g, {grad, before});
}

TEST(ExecutorWrites, WaitForReadersOfTheOldContents) {
  Builder b;
  const Edge x = b.input({4}), w = b.input({4});
  const Edge fresh = b.op("mul", {x, x});
  const Edge late = b.op("add", {w, fresh}, MapAttrs{1});  // reads the old w and the new one
  b.result(late);
  b.write(w, fresh);
  const Plan plan = make_plan(b.g);
  EXPECT_EQ(plan.steps.size(), 3u) << "computed aside and copied in the end";
  expect_same_as_graph(b.g, {numbers({4}), numbers({4})});
}

TEST(ExecutorWrites, AnUpdateIsPutOffUntilTheOldContentsHaveBeenRead) {
  Builder b;
  const Edge x = b.input({4}), w = b.input({4});
  const Edge fresh = b.op("sub", {w, x}, MapAttrs{0.1});
  b.result(b.op("mul", {b.op("exp", {w}), x}));
  b.write(w, fresh);
  const Plan plan = make_plan(b.g);
  ASSERT_EQ(plan.steps.size(), 3u) << "no copy";
  EXPECT_STREQ(plan.steps[0].op->name, "exp");
  EXPECT_STREQ(plan.steps[1].op->name, "sub");
  expect_same_as_graph(b.g, {numbers({4}), numbers({4})});
}

TEST(ExecutorWrites, AMatrixIsNotMultipliedIntoItself) {
  Builder b;
  const Edge w = b.input({4, 4}), x = b.input({4, 4});
  b.write(w, b.op("mm", {w, x}, MatmulAttrs{}));
  EXPECT_EQ(make_plan(b.g).steps.size(), 2u);
  expect_same_as_graph(b.g, {numbers({4, 4}), numbers({4, 4})});
}

TEST(ExecutorWrites, AMapThatReadsAnotherLayoutIsComputedAside) {
  Builder b;
  const Edge w = b.input({4, 4});
  b.write(w, b.op("add", {w, b.op("permute", {w}, PermuteAttrs{{1, 0}})}, MapAttrs{1}));
  EXPECT_EQ(make_plan(b.g).steps.size(), 2u);
  expect_same_as_graph(b.g, {numbers({4, 4})});
}

TEST(ExecutorWrites, TensorsThatTradePlaces) {
  Builder b;
  const Edge p = b.input({3}), q = b.input({3}), r = b.input({3});
  b.result(p);
  b.write(p, q);
  b.write(q, p);
  b.write(r, b.op("exp", {q}));
  expect_same_as_graph(b.g, {numbers({3}), numbers({3}), numbers({3})});
}

TEST(ExecutorWrites, ATensorGetsItsOwnViewOrStays) {
  Builder b;
  const Edge w = b.input({3, 3}), v = b.input({2});
  b.result(b.op("exp", {w}));
  b.write(w, b.op("permute", {w}, PermuteAttrs{{1, 0}}));
  b.write(v, v);
  expect_same_as_graph(b.g, {numbers({3, 3}), numbers({2})});
  EXPECT_EQ(make_plan(b.g).written, std::vector<uint32_t>{0});
}

TEST(ExecutorWrites, OneValueGoesToAResultAndTwoTensors) {
  Builder b;
  const Edge p = b.input({3}), q = b.input({3}), x = b.input({3});
  const Edge y = b.op("add", {p, x}, MapAttrs{1});
  b.result(y);
  b.write(p, y);
  b.write(q, y);
  expect_same_as_graph(b.g, {numbers({3}), numbers({3}), numbers({3})});

  Builder c;
  const Edge s = c.input({3}), t = c.input({3});
  const Edge z = c.op("exp", {s});
  c.write(s, z);
  c.write(t, z);
  EXPECT_EQ(make_plan(c.g).steps.size(), 2u);
  expect_same_as_graph(c.g, {numbers({3}), numbers({3})});
}

TEST(ExecutorWrites, ConstantsAndOtherInputs) {
  Builder b;
  const Edge p = b.input({2}), q = b.input({2}), x = b.input({2});
  b.write(p, b.constant(tensor({3.0f, 4.0f})));
  b.write(q, x);
  expect_same_as_graph(b.g, {numbers({2}), numbers({2}), numbers({2})});
}

TEST(ExecutorWrites, ATensorThatIsNotRowMajor) {
  Builder b;
  const Edge x = b.input({3, 2}), w = b.input({3, 2});
  b.result(b.op("mul", {w, x}));
  b.write(w, b.op("add", {w, x}, MapAttrs{1}));
  const Executor executor(make_plan(b.g));
  const Tensor memory = numbers({2, 3}), w_now = memory.t(), before = memory.clone().t();
  const Tensor x_now = numbers({2, 3}).t();
  const Tensor out = executor.run({x_now, w_now})[0];
  EXPECT_TRUE(same_bits(out, before * x_now));
  EXPECT_TRUE(same_bits(memory.t(), before + x_now));
}

TEST(ExecutorWrites, AnArgumentThatSharesMemoryWithAWrittenTensor) {
  Builder b;
  const Edge x = b.input({4}), w = b.input({4});
  const Edge fresh = b.op("exp", {w});
  b.result(b.op("add", {x, fresh}, MapAttrs{1}));
  b.write(w, fresh);
  const Executor executor(make_plan(b.g));
  const Tensor t = numbers({4}), before = t.clone();
  const Tensor sum = executor.run({t, t})[0];
  EXPECT_TRUE(same_bits(sum, before + exp(before)));
  EXPECT_TRUE(same_bits(t, exp(before)));
  const Tensor again = t.clone(), second = executor.run({t, t})[0];
  EXPECT_TRUE(same_bits(second, again + exp(again))) << "on a second call, too";
  const Tensor other = numbers({4}), third = executor.run({other, t})[0];
  EXPECT_TRUE(same_bits(third, other + t));
}

// -- what goes wrong ---------------------------------------------------------------------------

#define EXPECT_MESSAGE(call, text)                               \
  do {                                                           \
    const std::string message = error_of([&] { call; });         \
    EXPECT_NE(message.find(text), std::string::npos) << message; \
  } while (false)

TEST(ExecutorErrors, NameTheInputAndBothTypes) {
  Builder b;
  const Edge x = b.input({3, 4}, kFloat, "x"), w = b.capture(numbers({4}));
  b.result(b.op("mul", {x, w}));
  const Executor executor(make_plan(b.g));
  EXPECT_MESSAGE(executor.run({numbers({3, 5})}),
                 "argument 0 (x): expected float32 [3, 4], got float32 [3, 5]");
  EXPECT_MESSAGE(executor.run({numbers({3, 4}).to(kDouble)}),
                 "argument 0 (x): expected float32 [3, 4], got float64 [3, 4]");
  EXPECT_MESSAGE(executor.run({Tensor()}), "argument 0 (x) is an undefined tensor");
  EXPECT_MESSAGE(executor.run({numbers({3, 4}), numbers({5})}),
                 "captured tensor 0: expected float32 [4], got float32 [5]");
  EXPECT_MESSAGE(executor.run({}), "expected 1 arguments");
  EXPECT_EQ(executor.run({numbers({3, 4})}).size(), 1u) << "it works afterwards";
}

TEST(ExecutorErrors, AnIndexOutOfRangeLeavesTensorsAsTheyWere) {
  const Tensor table = numbers({5, 2}), counter = zeros({1});
  const Graph g = trace(
      [&](Tensor index) {
        counter.add_(1);  // comes first, is written last
        return table.index_select(0, index) * 2;
      },
      {zeros({3}, kLong)});
  const Executor executor(make_plan(g));
  const Tensor good = tensor({0, 4, 2}, kLong), bad = tensor({0, 5, 2}, kLong);
  EXPECT_TRUE(same_bits(executor.run({good})[0], table.index_select(0, good) * 2));
  EXPECT_EQ(counter.item<float>(), 1);
  for (int i = 0; i < 3; ++i) EXPECT_THROW(executor.run({bad}), IndexError);
  EXPECT_EQ(counter.item<float>(), 1);
  EXPECT_TRUE(same_bits(executor.run({good})[0], table.index_select(0, good) * 2));
  EXPECT_EQ(counter.item<float>(), 2);
}

// -- whole programs ----------------------------------------------------------------------------

/// Two layers, their gradients by backward and an update with momentum.
struct Mlp {
  Tensor w1 = (randn({16, 32}) * 0.1).requires_grad_(), b1 = zeros({32}).requires_grad_();
  Tensor w2 = (randn({32, 4}) * 0.1).requires_grad_(), b2 = zeros({4}).requires_grad_();
  std::vector<Tensor> momentum = {zeros_like(w1), zeros_like(b1), zeros_like(w2), zeros_like(b2)};

  std::vector<Tensor> parameters() const { return {w1, b1, w2, b2}; }
  std::vector<Tensor> state() const {
    std::vector<Tensor> all = momentum;
    for (const Tensor& p : parameters()) all.push_back(p);
    return all;
  }
  Tensor step(const Tensor& x, const Tensor& y) const {
    const Tensor hidden = relu(x.mm(w1) + b1);
    const Tensor loss = (hidden.mm(w2) + b2 - y).pow(2).mean();
    const std::vector<Tensor> grads = autograd::grad({loss}, parameters());
    const NoGradGuard no_grad;
    for (size_t i = 0; i < grads.size(); ++i) {
      momentum[i].mul_(0.9).add_(grads[i]);
      parameters()[i].sub_(momentum[i], 0.1);
    }
    return loss.detach();
  }
};

TEST(ExecutorPrograms, TrainingStepsEqualEagerOnes) {
  manual_seed(3);
  const Mlp net;
  const Tensor x = randn({8, 16}), y = randn({8, 4});
  const Graph g = trace([&](Tensor a, Tensor b) { return net.step(a, b); }, {x, y});
  std::vector<Tensor> before, losses, after;
  const std::vector<Tensor> state = net.state();
  for (const Tensor& t : state) before.push_back(t.detach().clone());
  for (int i = 0; i < 5; ++i) losses.push_back(net.step(x, y));
  for (size_t i = 0; i < state.size(); ++i) {
    after.push_back(state[i].detach().clone());
    state[i].detach().copy_(before[i]);
  }
  const Executor executor(make_plan(g));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(same_bits(executor.run({x, y})[0], losses[i])) << i;
  for (size_t i = 0; i < state.size(); ++i) EXPECT_TRUE(same_bits(state[i].detach(), after[i]));

  const Plan& plan = executor.plan();
  EXPECT_EQ(plan.written.size(), 8u);
  EXPECT_LE(2 * plan.arena_bytes, plan.intermediate_bytes)
      << plan.arena_bytes << " of " << plan.intermediate_bytes;
  for (const Step& s : plan.steps) EXPECT_NE(s.op, &kCopy) << "updates are computed in place";
}

TEST(ExecutorPrograms, SteadyCallsAllocateTheirResultsOnly) {
  const Mlp net;
  const Tensor x = randn({8, 16}), y = randn({8, 4});
  const Executor executor(
      make_plan(trace([&](Tensor a, Tensor b) { return net.step(a, b); }, {x, y})));
  executor.run({x, y});
  const memory::Stats before = memory::stats();
  for (int i = 0; i < 10; ++i) executor.run({x, y});
  const memory::Stats after = memory::stats();
  EXPECT_EQ(after.allocations - before.allocations, 10);
  EXPECT_EQ(after.current, before.current);
  EXPECT_EQ(after.objects, before.objects);
}

TEST(ExecutorPrograms, TheArenaIsCountedAndFreed) {
  const memory::Stats before = memory::stats();
  {
    Builder b;
    const Edge x = b.input({64, 64});
    b.result(b.op("mm", {b.op("mm", {x, x}, MatmulAttrs{}), x}, MatmulAttrs{}));
    const Executor executor(make_plan(b.g));
    EXPECT_EQ(executor.plan().arena_bytes, 64 * 64 * 4);
    const Tensor a = numbers({64, 64});
    const int64_t with_argument = memory::stats().current;
    executor.run({a});
    EXPECT_EQ(memory::stats().current - with_argument, 64 * 64 * 4);
  }
  EXPECT_EQ(memory::stats().current, before.current);
}

TEST(ExecutorPrograms, ManyThreadsAtOnce) {
  Builder b;
  const Edge x = b.input({50, 20}), w = b.capture(numbers({20, 20}));
  Edge h = x;
  for (int i = 0; i < 5; ++i) h = b.op("tanh", {b.op("mm", {h, w}, MatmulAttrs{})});
  b.result(h);
  const Executor executor(make_plan(b.g));
  std::vector<Tensor> inputs, want;
  for (int t = 0; t < 4; ++t) {
    inputs.push_back(numbers({50, 20}));
    want.push_back(b.g.run({inputs.back()})[0]);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i)
        if (!same_bits(executor.run({inputs[t]})[0], want[t])) ++wrong;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ExecutorPrograms, ObserversSeeEveryStep) {
  struct Counter : StepObserver {
    std::vector<std::string> names;
    void ran(const Plan& plan, size_t step, int64_t begin, int64_t end) override {
      EXPECT_LE(begin, end);
      names.push_back(plan.steps[step].op->name);
    }
  };
  Builder b;
  const Edge x = b.input({3});
  b.result(b.op("exp", {b.op("sin", {x})}));
  const Executor executor(make_plan(b.g));
  executor.run({numbers({3})});
  {
    Counter counter;
    executor.run({numbers({3})});
    EXPECT_EQ(counter.names, (std::vector<std::string>{"sin", "exp"}));
  }
  executor.run({numbers({3})});
}

TEST(ExecutorPrograms, WhatNothingDependsOnIsLeftOut) {
  Builder b;
  const Edge x = b.input({3});
  b.op("exp", {x});
  b.result(b.op("sin", {x}));
  EXPECT_EQ(make_plan(b.g).steps.size(), 1u);
}

TEST(ExecutorPrograms, EmptyTensorsAndScalars) {
  Builder b;
  const Edge x = b.input({0, 3}), s = b.input({});
  b.result(b.op("exp", {x}));
  b.result(b.op("sum", {b.op("mul", {x, s})}, ReduceAttrs{{0, 1}}));
  b.result(b.op("tanh", {s}));
  expect_same_as_graph(b.g, {numbers({0, 3}), numbers({})});
}

/// Programs of pointwise ops, products, sums, views and writes, put together at random.
Builder random_program(std::mt19937& random) {
  Builder b;
  std::vector<Edge> values;
  const auto pick = [&] { return values[random() % values.size()]; };
  for (int i = 0; i < 4; ++i) values.push_back(b.input({4, 4}));
  const int n = 5 + static_cast<int>(random() % 30);
  for (int i = 0; i < n; ++i) {
    switch (random() % 9) {
      case 0:
        values.push_back(b.op("tanh", {pick()}));
        break;
      case 1:
        values.push_back(b.op("mul", {pick(), pick()}));
        break;
      case 2:
        values.push_back(b.op("sub", {pick(), pick()}, MapAttrs{0.5}));
        break;
      case 3:
        values.push_back(b.op("mm", {pick(), pick()}, MatmulAttrs{}));
        break;
      case 4:
        values.push_back(b.op("permute", {pick()}, PermuteAttrs{{1, 0}}));
        break;
      case 5: {
        const Edge sum = b.op("sum", {pick()}, ReduceAttrs{{1}, true});
        values.push_back(b.op("expand", {sum}, ExpandAttrs{{4, 4}}));
        break;
      }
      case 6: {
        const Edge x = pick();
        const Edge top = b.op("slice", {x}, SliceAttrs{0, 0, 2, 1});
        const Edge other = b.op("slice", {x}, SliceAttrs{0, 1, 2, 2});
        const Edge row = b.op("sum", {b.op("mul", {top, other})}, ReduceAttrs{{0}, true});
        values.push_back(b.op("expand", {row}, ExpandAttrs{{4, 4}}));
        break;
      }
      case 7:
        values.push_back(b.op("copy", {pick()}, CopyAttrs{{4, 4}, kFloat}));
        break;
      case 8:
        values.push_back(b.op("tanh", {b.op("sub", {pick(), pick()}, MapAttrs{1})}));
        break;
    }
  }
  const int results = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < results; ++i) b.result(pick());
  for (size_t i = 0; i < 4; ++i)
    if (random() % 2) b.write({b.g.inputs[i], 0}, pick());
  return b;
}

TEST(ExecutorPrograms, RandomOnesEqualTheirGraphs) {
  std::mt19937 random(11);
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    const Builder b = random_program(random);
    std::vector<Tensor> inputs;
    for (int i = 0; i < 4; ++i) inputs.push_back(numbers({4, 4}));
    expect_same_as_graph(b.g, inputs);
  }
}

// -- what is kept from call to call ------------------------------------------------------------

struct Names : StepObserver {
  std::vector<std::string> names;
  void ran(const Plan& plan, size_t step, int64_t, int64_t) override {
    names.push_back(plan.steps[step].op->name);
  }
};

class Prepared : public testing::Test {
 protected:
  Prepared() {
    const Edge x = b_.input({4, 4}), w = b_.capture(w_);
    b_.result(b_.op("mm", {x, b_.op("tanh", {w})}, MatmulAttrs{}));
    executor_.emplace(make_plan(b_.g, {.keep_prepared = true}));
  }
  /// The steps of a call, whose result is compared with eager.
  std::vector<std::string> run(const Tensor& w) {
    const Tensor x = numbers({4, 4});
    Names names;
    EXPECT_TRUE(same_bits(executor_->run({x}, {w})[0], x.mm(w.tanh())));
    return names.names;
  }
  const std::vector<std::string> all_ = {"tanh", "mm"}, rest_ = {"mm"};
  Tensor w_ = numbers({4, 4});
  Builder b_;
  std::optional<Executor> executor_;
};

TEST_F(Prepared, IsMadeOnceWhileNothingChanges) {
  EXPECT_EQ(run(w_), all_);
  EXPECT_EQ(run(w_), rest_);
  EXPECT_EQ(run(w_), rest_);
}

TEST_F(Prepared, IsMadeAgainAfterEveryKindOfWrite) {
  run(w_);
  w_.mul_(2);
  EXPECT_EQ(run(w_), all_);
  w_.select(0, 1).zero_();
  EXPECT_EQ(run(w_), all_);
  w_.data().add_(1);  // of which autograd is not told
  EXPECT_EQ(run(w_), all_);
  w_.set_data(numbers({4, 4}));
  EXPECT_EQ(run(w_), all_);
  EXPECT_EQ(run(w_), rest_);
}

TEST_F(Prepared, IsMadeInEachCallOnceSomebodyHasAPointer) {
  run(w_);
  static_cast<float*>(w_.data_ptr())[3] = 7;
  EXPECT_EQ(run(w_), all_);
  EXPECT_EQ(run(w_), all_);
}

TEST_F(Prepared, IsMadeAgainForAnotherTensor) {
  run(w_);
  EXPECT_EQ(run(numbers({4, 4})), all_);
  EXPECT_EQ(run(numbers({4, 4})), all_);  // which may lie where the last one did
  EXPECT_EQ(run(w_), all_);
  EXPECT_EQ(run(numbers({4, 4}).t()), all_);
}

TEST_F(Prepared, ACallThatThrowsKeepsNothing) {
  const Graph g =
      trace([&](Tensor x, Tensor index) { return x.mm(w_.tanh()).index_select(0, index); },
            {zeros({4, 4}), zeros({1}, kLong)});
  const Executor executor(make_plan(g, {.keep_prepared = true}));
  const Tensor a = numbers({4, 4}), good = tensor({2}, kLong), bad = tensor({4}, kLong);
  executor.run({a, good});
  w_.neg_();
  EXPECT_THROW(executor.run({a, bad}), IndexError);
  EXPECT_TRUE(same_bits(executor.run({a, good})[0], a.mm(w_.tanh()).index_select(0, good)));
}

TEST_F(Prepared, RandomProgramsEqualTheirGraphs) {
  std::mt19937 random(12);
  size_t kept = 0;
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    Builder b = random_program(random);
    // The last two are captured.
    std::vector<Tensor> captured = {numbers({4, 4}), numbers({4, 4})};
    b.g.captured = captured;
    const Executor executor(make_plan(b.g, {.keep_prepared = true}));
    for (const Step& s : executor.plan().steps) kept += s.kept;
    for (int call = 0; call < 4; ++call) {
      if (call == 3) captured[1].add_(1);
      std::vector<Tensor> mine = {numbers({4, 4}), numbers({4, 4})}, theirs;
      for (const Tensor& t : mine) theirs.push_back(t.clone());
      for (const Tensor& t : captured) theirs.push_back(t.clone());
      const std::vector<Tensor> want = b.g.run(theirs), got = executor.run(mine, captured);
      for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(same_bits(want[k], got[k])) << b.g;
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(theirs[i], mine[i])) << b.g;
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(same_bits(theirs[2 + i], captured[i])) << b.g;
    }
  }
  EXPECT_GT(kept, 100u);
}

/// Follows the plan step by step: whatever is written must not be needed any more by a later step
/// that was not told of the write.
TEST(ExecutorPrograms, StepsNeverDestroyWhatLaterOnesRead) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const Plan plan = make_plan(random_program(random).g);
    std::vector<int> writer(static_cast<size_t>(plan.arena_bytes), -1);
    for (size_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      for (uint32_t k = 0; k < step.n_inputs; ++k) {
        const PlannedArray& a = plan.arrays[step.first + k];
        if (a.place.kind != Place::Kind::arena || a.numel == 0) continue;
        // All elements of a value come from one step.
        int64_t last = 0;
        for (size_t d = 0; d < a.strides.size(); ++d) last += (a.type.sizes[d] - 1) * a.strides[d];
        const int from = writer[static_cast<size_t>(a.place.offset)];
        EXPECT_GE(from, 0);
        EXPECT_EQ(writer[static_cast<size_t>(a.place.offset + last * 4)], from);
      }
      for (uint32_t k = step.n_inputs; k < step.n_inputs + step.n_outputs; ++k) {
        const PlannedArray& a = plan.arrays[step.first + k];
        if (a.place.kind == Place::Kind::arena)
          std::fill_n(writer.begin() + a.place.offset, a.bytes(), static_cast<int>(s));
      }
    }
  }
}

}  // namespace
}  // namespace tandem::runtime
