// Fused steps: machine code where it is ready, the body op by op where it is not.
#include <random>

#include "tandem/autograd/autograd.h"
#include "tandem/base/memory.h"
#include "tandem/base/parallel.h"
#include "tandem/compile/trace.h"
#include "tandem/core/apply.h"
#include "tandem/graph/pipeline.h"
#include "tandem/jit/code_generator.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/runtime/explain.h"
#include "tests/runtime/graphs.h"

namespace tandem::runtime {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Compares an optimised plan with the recorded graph: at once, which may be op by op, and again
/// when all kernels are there. Bits are compared, or values where a tolerance is given.
void expect_same(const Graph& g, const std::vector<Tensor>& inputs, double tolerance = 0) {
  const auto same = [&](const Tensor& a, const Tensor& b) {
    return tolerance > 0 ? allclose(a, b, tolerance, tolerance) : same_bits(a, b);
  };
  const Graph optimised = optimise(g);
  const Executor executor(make_plan(optimised));
  for (int round = 0; round < 3; ++round) {
    if (round == 1) jit::wait_idle();
    std::vector<Tensor> a, b;
    for (const Tensor& t : inputs) a.push_back(t.clone()), b.push_back(t.clone());
    const std::vector<Tensor> want = g.run(a), got = executor.run(b);
    ASSERT_EQ(want.size(), got.size());
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_TRUE(same(want[k], got[k])) << "result " << k << ", round " << round << '\n'
                                         << g << optimised << explain(executor);
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(same(a[i], b[i])) << "input " << i << ", round " << round << '\n'
                                    << g << optimised << explain(executor);
  }
}

size_t fused_steps(const Plan& plan) { return plan.loops.size(); }

TEST(Fused, AChainIsOneStepWithoutAnArena) {
  const Tensor x = randn({30, 20}), b = randn({20});
  const Graph g = trace([](Tensor x, Tensor b) { return tanh(x * 2 + b).exp() * x - b; }, {x, b});
  const Plan plan = make_plan(optimise(g));
  EXPECT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(fused_steps(plan), 1u);
  EXPECT_EQ(plan.arena_bytes, 0);
  expect_same(g, {x, b});
}

TEST(Fused, RowsWithReductions) {
  const Tensor x = randn({40, 33});
  expect_same(trace([](Tensor x) { return softmax(x, 1) * 3; }, {x}), {x});
  expect_same(trace(
                  [](Tensor x) {
                    const Tensor centred = x - x.mean(1, true);
                    return centred / (centred.pow(2).mean(1, true) + 1e-5).sqrt();
                  },
                  {x}),
              {x});
}

TEST(Fused, UpdatesAreWrittenWhereTheParametersAre) {
  const Tensor w = randn({50, 7}), m = randn({50, 7}), g = randn({50, 7});
  const Graph graph = trace(
      [](Tensor w, Tensor m, Tensor g) {
        m.mul_(0.9).add_(g, 0.1);
        w.sub_(m / (m.abs().sqrt() + 1e-3), 0.01);
        return w.sum(1);
      },
      {w, m, g});
  const Plan plan = make_plan(optimise(graph));
  EXPECT_EQ(plan.arena_bytes, 0) << "nothing is computed aside";
  expect_same(graph, {w, m, g});
}

TEST(Fused, ProductsAreCarriedOn) {
  const Tensor x = randn({24, 40}), w = randn({40, 16}), b = randn({16}), r = randn({24, 16});
  expect_same(trace([](Tensor x, Tensor w, Tensor b) { return relu(x.mm(w) + b); }, {x, w, b}),
              {x, w, b});
  expect_same(trace([](Tensor x, Tensor w, Tensor r) { return tanh(x.mm(w)) * r + r; }, {x, w, r}),
              {x, w, r});
  // The product's memory must not be that of a factor, even where it fits and is free.
  const Tensor s = randn({16, 16});
  expect_same(trace([](Tensor s) { return relu((s + 1).mm(s * 2) - 1).mm(s).exp(); }, {s}), {s});
}

TEST(Fused, LargeOnesAreSplitAmongThreads) {
  const Tensor x = randn({300, 1000}), y = randn({1000});
  expect_same(trace([](Tensor x, Tensor y) { return (x * y).sin() + x; }, {x, y}), {x, y});
  expect_same(trace([](Tensor x) { return log_softmax(x, 1); }, {x}), {x});
}

TEST(Fused, RowsAreSummedAsTheyAreMade) {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {2, 3}, {64, 10}, {200, 10}, {1000, 3}, {70, 600}, {513, 1024}, {130, 33}, {5000, 64}}) {
    const Tensor x = randn({rows, columns}), b = randn({columns}), w = randn({columns});
    // Rows that only their sums need, and rows that are a result.
    expect_same(trace(
                    [](Tensor x, Tensor b) -> std::vector<Tensor> {
                      const Tensor y = relu(x + b);
                      return {y, y.sum(0), (y * y).mean({0}), (x * 2).amax(0)};
                    },
                    {x, b}),
                {x, b});
    // Rows that the kernel reads: what it overwrites is summed before, or not at all in its place.
    expect_same(trace(
                    [](Tensor x, Tensor b) -> std::vector<Tensor> {
                      const Tensor e = x.exp(), sum = e.sum(0), all = x.sum(0);
                      x.mul_(b).add_(1);
                      return {sum, all, (e + x).sum(0)};
                    },
                    {x, b}),
                {x, b});
    // Reductions of the rows themselves come first; a parameter is updated by its gradient.
    const Graph g = trace(
        [](Tensor x, Tensor w, Tensor b, Tensor up) {
          const Tensor xx = x.detach().requires_grad_(), ww = w.detach().requires_grad_(),
                       bb = b.detach().requires_grad_();
          const Tensor centred = xx - xx.mean(1, true);
          const Tensor y = centred * (centred.square().mean(1, true) + 1e-5).rsqrt() * ww + bb;
          const auto grads = autograd::grad({y}, {xx, ww, bb}, {up});
          const NoGradGuard no_grad;
          w.sub_(grads[1], 0.1);
          b.sub_(grads[2], 0.1);
          return grads[0];
        },
        {x, w, b, randn({rows, columns})});
    expect_same(g, {x, w, b, randn({rows, columns})});
  }
}

TEST(Fused, SumsOfRowsOfAProduct) {
  const Tensor g = randn({200, 20}), w = randn({20, 48}), y = randn({200, 48});
  const Graph graph = trace(
      [](Tensor g, Tensor w, Tensor y) -> std::vector<Tensor> {
        const Tensor d = g.mm(w) * (y > 0);
        return {d, d.sum(0), g.sum(0)};
      },
      {g, w, y});
  const Plan plan = make_plan(optimise(graph));
  EXPECT_EQ(plan.steps.size(), 2u) << "the product with its sums, and the sums of g";
  expect_same(graph, {g, w, y});
  // Products that would be taken in parts are not, where their rows are summed.
  const Tensor big = randn({1024, 64}), to = randn({64, 512}), mask = randn({1024, 512});
  expect_same(trace(
                  [](Tensor g, Tensor w, Tensor y) -> std::vector<Tensor> {
                    const Tensor p = g.mm(w), d = p * (y > 0);
                    return {d, d.sum(0), p};
                  },
                  {big, to, mask}),
              {big, to, mask});
}

TEST(Fused, SumsOfTwoResultsOfOneOp) {
  // Both sums are of results of channel_sums.
  const Tensor x = randn({5, 4, 2, 2}), w = randn({4}), b = randn({4}), up = randn({5, 4, 2, 2});
  expect_same(trace(
                  [](Tensor x, Tensor w, Tensor b, Tensor up) {
                    const Tensor ww = w.detach().requires_grad_(), bb = b.detach().requires_grad_();
                    return autograd::grad({group_norm(x, 2, ww, bb, 1e-5)}, {ww, bb}, {up});
                  },
                  {x, w, b, up}),
              {x, w, b, up});
}

TEST(Fused, SumsOfRowsAllocateNothingAndDoNotDependOnThreads) {
  const Tensor x = randn({3000, 100}), b = randn({100});
  const Graph g = trace([](Tensor x, Tensor b) { return tanh(x * b).sum(0); }, {x, b});
  const Executor executor(make_plan(optimise(g)));
  executor.run({x, b});
  jit::wait_idle();
  const Tensor wanted = executor.run({x, b})[0];
  const memory::Stats before = memory::stats();
  for (int i = 0; i < 10; ++i) executor.run({x, b});
  EXPECT_EQ(memory::stats().allocations - before.allocations, 10);
  const int threads = get_num_threads();
  for (int n : {1, 2, 3, 7}) {
    set_num_threads(n);
    EXPECT_TRUE(same_bits(executor.run({x, b})[0], wanted)) << n << " threads";
  }
  set_num_threads(threads);
}

TEST(Fused, AnIndexOutOfRangeIsRefusedWithAndWithoutMachineCode) {
  const Tensor scores = randn({6, 5}), counter = zeros({1});
  const Graph g = trace(
      [&](Tensor x, Tensor target) {
        counter.add_(1);
        return -log_softmax(x, 1).gather(1, target.unsqueeze(1)).mean();
      },
      {scores, zeros({6}, kLong)});
  const Executor executor(make_plan(optimise(g)));
  const Tensor good = tensor({0, 4, 2, 1, 1, 3}, kLong), bad = tensor({0, 4, 2, 5, 1, 3}, kLong);
  for (int round = 0; round < 2; ++round) {
    EXPECT_THROW(executor.run({scores, bad}), IndexError);
    EXPECT_EQ(counter.item<float>(), static_cast<float>(round));
    executor.run({scores, good});
    EXPECT_EQ(counter.item<float>(), static_cast<float>(round + 1));
    jit::wait_idle();
  }
}

TEST(Fused, TrainingStep) {
  manual_seed(5);
  const Tensor w1 = randn({20, 30}) * 0.2, b1 = zeros({30}), w2 = randn({30, 6}) * 0.2;
  const Tensor x = randn({12, 20}), target = randint(0, 6, {12}, kLong);
  const Graph g = trace(
      [](std::vector<Tensor> in) -> std::vector<Tensor> {
        Tensor w1 = in[0].detach().requires_grad_(), b1 = in[1].detach().requires_grad_(),
               w2 = in[2].detach().requires_grad_();
        const Tensor scores = relu(in[3].mm(w1) + b1).mm(w2);
        const Tensor loss = -log_softmax(scores, 1).gather(1, in[4].unsqueeze(1)).mean();
        const std::vector<Tensor> grads = autograd::grad({loss}, {w1, b1, w2});
        const NoGradGuard no_grad;
        for (int i = 0; i < 3; ++i) in[i].sub_(grads[i], 0.1);
        return {loss.detach()};
      },
      {w1, b1, w2, x, target});
  expect_same(g, {w1, b1, w2, x, target});

  const Executor executor(make_plan(optimise(g)));
  const std::vector<Tensor> inputs = {w1, b1, w2, x, target};
  executor.run(inputs);
  jit::wait_idle();
  executor.run(inputs);
  const memory::Stats before = memory::stats();
  for (int i = 0; i < 10; ++i) executor.run(inputs);
  EXPECT_EQ(memory::stats().allocations - before.allocations, 10) << explain(executor);
  EXPECT_EQ(memory::stats().objects, before.objects);
}

TEST(Fused, LargeUpdatesTakeTheirProductsInParts) {
  manual_seed(6);
  const Tensor w1 = randn({784, 512}) * 0.03, b1 = zeros({512}), w2 = randn({512, 10}) * 0.05;
  const Tensor x = randn({128, 784}), y = randn({128, 10});
  const std::vector<Tensor> inputs = {w1, b1, w2, x, y};
  const Graph g = trace(
      [](std::vector<Tensor> in) -> std::vector<Tensor> {
        Tensor w1 = in[0].detach().requires_grad_(), b1 = in[1].detach().requires_grad_(),
               w2 = in[2].detach().requires_grad_();
        const Tensor loss = (relu(in[3].mm(w1) + b1).mm(w2) - in[4]).norm();
        const std::vector<Tensor> grads = autograd::grad({loss}, {w1, b1, w2});
        const NoGradGuard no_grad;
        for (int i = 0; i < 3; ++i) in[i].sub_(grads[i], 0.01);
        return {loss.detach()};
      },
      inputs);
  const Executor executor(make_plan(optimise(g)));
  const Plan& plan = executor.plan();
  bool in_parts = false;
  for (const PlannedLoop& l : plan.loops) in_parts |= l.panel > 0;
  EXPECT_TRUE(in_parts) << explain(executor);
  EXPECT_LE(2 * plan.arena_bytes, plan.intermediate_bytes) << explain(executor);
  for (const Step& s : plan.steps) EXPECT_NE(s.op, &kCopy) << explain(executor);
  expect_same(g, inputs, 1e-5);
}

// Parts of a product, what comes after them, and sums of its rows: each thread for itself.
TEST(Fused, ProductsInPartsWithSumsOfTheirRows) {
  const int before = get_num_threads();
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    for (const int64_t rows : {192, 200, 331}) {
      const Tensor dy = randn({rows, 96}), w = randn({96, 150}), h = randn({rows, 150});
      const std::vector<Tensor> inputs{dy, w, h};
      // As a linear layer and an activation have it on the way back.
      const Graph g = trace(
          [](std::vector<Tensor> in) -> std::vector<Tensor> {
            const Tensor dx = in[0].mm(in[1]) * (in[2] > 0).to(kFloat);
            return {dx, dx.sum(0), (dx * in[2]).sum(0)};
          },
          inputs);
      const Executor executor(make_plan(optimise(g)));
      ASSERT_EQ(executor.plan().loops.size(), 1u) << explain(executor);
      const PlannedLoop& loop = executor.plan().loops[0];
      EXPECT_EQ(loop.group->sums.each.size(), 2u) << explain(executor);
      EXPECT_EQ(loop.panel > 0, threads > 1) << explain(executor);
      expect_same(g, inputs, 0);
    }
  }
  set_num_threads(before);
}

// The product is made where the result goes, in parts too.
TEST(Fused, ProductsInPartsInPlace) {
  const int before = get_num_threads();
  set_num_threads(2);
  const Tensor x = randn({300, 100}), w = randn({100, 140}), b = randn({140});
  const std::vector<Tensor> inputs{x, w, b};
  const Graph g = trace(
      [](std::vector<Tensor> in) -> std::vector<Tensor> { return {relu(in[0].mm(in[1]) + in[2])}; },
      inputs);
  const Executor executor(make_plan(optimise(g)));
  ASSERT_EQ(executor.plan().loops.size(), 1u) << explain(executor);
  EXPECT_GT(executor.plan().loops[0].panel, 0) << explain(executor);
  EXPECT_FALSE(executor.plan().loops[0].aside);
  EXPECT_EQ(executor.plan().arena_bytes, 0) << explain(executor);
  expect_same(g, inputs, 0);
  set_num_threads(before);
}

// A product of the very value that it updates: no part may be overwritten that another still reads.
TEST(Fused, ProductsInPartsReadWhatTheUpdateWrites) {
  const Tensor w = randn({1024, 512}) * 0.05, m = randn({1024, 1024}) * 0.05;
  const Graph g = trace(
      [](Tensor w, Tensor m) {
        w.sub_(m.mm(w), 0.5);
        return w.sum();
      },
      {w, m});
  expect_same(g, {w, m}, 1e-4);
  const Tensor r = randn({512, 512}) * 0.05;
  const Graph by_rows = trace(
      [](Tensor w, Tensor r) {
        w.sub_(w.mm(r), 0.5);
        return w.sum();
      },
      {w, r});
  expect_same(by_rows, {w, r}, 1e-4);
}

// The usual step of training: the gradient is left behind, and the parameter is updated.
TEST(Fused, ProductsThatAreResultsAreCarriedOn) {
  for (const int64_t n : {16, 1024}) {
    const Tensor w = randn({n, 512}), x = randn({64, n}), dy = randn({64, 512});
    const std::vector<Tensor> inputs{w, x, dy};
    const Graph g = trace(
        [](Tensor w, Tensor x, Tensor dy) {
          const Tensor grad = x.t().mm(dy);
          w.sub_(grad, 0.5);
          return grad;
        },
        inputs);
    const Executor executor(make_plan(optimise(g)));
    EXPECT_EQ(executor.plan().steps.size(), 1u) << explain(executor);
    EXPECT_EQ(executor.plan().arena_bytes, 0) << explain(executor);
    EXPECT_EQ(executor.plan().loops.at(0).panel > 0, n == 1024) << explain(executor);
    EXPECT_EQ(executor.plan().loops.at(0).overwritten.size(), n == 1024 ? 1u : 0u);
    expect_same(g, inputs, 1e-4);
  }
}

// Others read the product on the way to what would carry it on: there is no order for that.
TEST(Fused, ProductsThatOthersReadOnTheWay) {
  const Tensor w = randn({32, 48}), v = randn({32, 48}), x = randn({64, 32}), dy = randn({64, 48});
  const std::vector<Tensor> inputs{w, v, x, dy};
  // By the norm of both gradients, as clipping does; and one by the other's column sums.
  const auto clipped = [](Tensor w, Tensor v, Tensor x, Tensor dy) {
    const Tensor p = x.t().mm(dy), q = x.t().mm(dy * 2);
    const Tensor norm = (p.pow(2).sum() + q.pow(2).sum()).sqrt() + 1;
    w.sub_(p / norm);
    v.sub_(q / norm);
    return p + q;
  };
  const auto crossed = [](Tensor w, Tensor v, Tensor x, Tensor dy) {
    const Tensor p = x.t().mm(dy), q = x.t().mm(dy * 2);
    w.sub_(p * q.cumsum(0));
    v.sub_(q * p.cumsum(0));
    return std::vector<Tensor>{p, q};
  };
  expect_same(trace(clipped, inputs), inputs, 1e-4);
  expect_same(trace(crossed, inputs), inputs, 1e-4);
}

TEST(Fused, RandomProgramsInPlace) {
  std::mt19937 random(3);
  for (int round = 0; round < 60 && !::testing::Test::HasFailure(); ++round) {
    const unsigned seed = random();
    const Tensor a = randn({5, 9}), b = randn({5, 9}), c = randn({9});
    const Graph g = trace(
        [seed](Tensor a, Tensor b, Tensor c) {
          std::mt19937 choose(seed);
          std::vector<Tensor> values = {a, b, c.expand({5, 9})};
          const auto pick = [&] { return values[choose() % values.size()]; };
          for (int i = 0; i < 14; ++i) {
            switch (choose() % 8) {
              case 0:
                values.push_back(pick().tanh());
                break;
              case 1:
                values.push_back(pick() * pick());
                break;
              case 2:
                values.push_back(pick() - pick());
                break;
              case 3:
                values.push_back(pick() - pick().amax(1, true));
                break;
              case 4:
                values.push_back(pick() * pick().sum(1, true));
                break;
              case 5:
                values.push_back(pick().t().mm(pick()).tanh().slice(0, 0, 5));
                break;
              case 6:
                a.add_(pick(), 0.5);
                break;
              case 7:
                b.select(0, 2).mul_(pick().select(0, 1));
                break;
            }
          }
          return values.back() + pick() * 0.25;
        },
        {a, b, c});
    expect_same(g, {a, b, c});
  }
}

// Products large enough to be taken in parts, in every role: read by what they update, results,
// carried on once or twice.
TEST(Fused, RandomProgramsWithLargeProducts) {
  std::mt19937 random(4);
  size_t in_parts = 0, kept = 0;
  for (int round = 0; round < 8 && !::testing::Test::HasFailure(); ++round) {
    const unsigned seed = random();
    const Tensor a = randn({400, 400}), b = randn({400, 400}), c = randn({400});
    const Graph g = trace(
        [seed](Tensor a, Tensor b, Tensor c) {
          std::mt19937 choose(seed);
          std::vector<Tensor> values = {a, b, c.expand({400, 400}), a.t()}, results;
          const auto pick = [&] { return values[choose() % values.size()]; };
          const auto product = [&] { return pick().mm(pick()); };
          for (int i = 0; i < 8; ++i) {
            switch (choose() % 8) {
              case 0:
                values.push_back((product() * 0.05 + c).tanh());
                break;
              case 1:
                a.sub_(product(), 1e-3);
                break;
              case 2:
                b.sub_(pick().t().mm(b), 1e-3);
                break;
              case 3:
                results.push_back(product());
                a.sub_(results.back(), 1e-3);
                break;
              case 4:
                values.push_back((product() * pick()).sin());
                break;
              case 5:
                results.push_back(product());
                values.push_back(results.back().tanh() - pick() * results.back().cos());
                break;
              case 6:
                values.push_back((pick() - pick().amax(1, true)).tanh());
                break;
              case 7:
                b.mul_(0.9).add_(a.t().mm(a), 1e-3);
                break;
            }
          }
          results.push_back(values.back() + pick() * 0.25);
          return results;
        },
        {a, b, c});
    const Plan plan = make_plan(optimise(g));
    for (const PlannedLoop& l : plan.loops) {
      in_parts += l.panel > 0;
      kept += l.group->product.kept;
    }
    expect_same(g, {a, b, c}, 2e-3);
  }
  EXPECT_GT(in_parts, 5u);
  EXPECT_GT(kept, 5u);
}

TEST(Fused, ExplainSaysWhatWasFusedAndHowLongItTook) {
  const Tensor x = randn({30, 20}), w = randn({20, 20});
  const Graph g =
      trace([](Tensor x, Tensor w) { return (x.mm(w).tanh() * 2 + x).exp().sum(); }, {x, w});
  const Executor executor(make_plan(optimise(g)));
  executor.run({x, w});
  EXPECT_EQ(explain(executor).steps.at(0).calls, 0) << "the first call meets cold memory";
  jit::wait_idle();
  for (int i = 1; i < 64; ++i) executor.run({x, w});
  const PlanReport report = explain(executor);
  ASSERT_FALSE(report.steps.empty());
  EXPECT_GE(report.kernels, 1u);
  EXPECT_EQ(report.result_bytes, 4);
  std::string fused;
  for (const StepReport& s : report.steps) {
    EXPECT_EQ(s.calls, 6) << "calls 2, 4, 8, 16, 32 and 64";
    EXPECT_GT(s.microseconds, 0);
    EXPECT_GT(s.bytes_written, 0);
    for (const char* name : s.fused) fused += std::string(name) + ' ';
  }
  EXPECT_NE(fused.find("tanh"), std::string::npos) << fused;
  EXPECT_NE(str(report).find("its steps take"), std::string::npos) << str(report);
  for (int i = 0; i < 64; ++i) executor.run({x, w});
  EXPECT_EQ(explain(executor).steps[0].calls, 7);
}

TEST(Fused, StepsAreTimedAnewWhenTheyRunAsMachineCode) {
  if (!jit::can_generate()) GTEST_SKIP() << "this build has no LLVM, so no machine code is made";
  const Tensor x = randn({30, 20});
  // A pause lasts some milliseconds at most: on a busy machine the kernel may be there too early.
  for (int more = 0; more < 10; ++more) {
    const Graph g = trace(
        [&](Tensor x) {
          for (int i = 0; i <= more; ++i) x = (x.tanh() * 2 + x).cos();
          return x;
        },
        {x});
    auto pause = std::make_unique<Pause>();
    const Executor executor(make_plan(optimise(g)));
    for (int i = 0; i < 16; ++i) executor.run({x});
    const int64_t op_by_op = explain(executor).steps.at(0).calls;
    if (executor.is_ready(0)) continue;
    EXPECT_EQ(op_by_op, 4);
    pause.reset();
    jit::wait_idle();
    ASSERT_TRUE(executor.is_ready(0));
    EXPECT_EQ(explain(executor).steps.at(0).calls, 0) << "what was timed is no longer what runs";
    for (int i = 0; i < 16; ++i) executor.run({x});
    EXPECT_EQ(explain(executor).steps.at(0).calls, 1);
    return;
  }
  FAIL() << "ten kernels were there before sixteen calls";
}

}  // namespace
}  // namespace tandem::runtime
