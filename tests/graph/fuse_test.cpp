#include "tandem/graph/fuse.h"

#include <gtest/gtest.h>

#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/graph/schedule.h"
#include "tests/graph/fuse_helpers.h"

namespace tandem::test {
namespace {

// Traces fn, fuses, and checks that the fused graph gives the bits of the traced one.
template <class F>
Graph fused(F fn, const std::vector<Tensor>& x) {
  const Graph g = trace(fn, x);
  const std::vector<Tensor> wanted = g.run(x);
  Graph f = fuse(g.clone());
  const std::vector<Tensor> body = run_steps(f, x), nest = run_steps(f, x, run_nest),
                            kernel = run_steps(f, x, run_kernel), applied = f.run(x);
  EXPECT_EQ(body.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_TRUE(same_bits(body[i], wanted[i])) << "result " << i << " by the body of\n" << f;
    EXPECT_TRUE(same_bits(nest[i], wanted[i])) << "result " << i << " by nests of\n"
                                               << f << nest[i] << wanted[i];
    EXPECT_TRUE(same_bits(kernel[i], wanted[i])) << "result " << i << " by machine code of\n"
                                                 << f << kernel[i] << wanted[i];
    EXPECT_TRUE(same_bits(applied[i], wanted[i])) << "result " << i << " by ops of\n" << f;
  }
  return f;
}

// The gradient of fn by its first argument, as a function of that, the others and the gradient by
// fn's result.
template <class F>
auto gradient_of(F fn) {
  return [fn](const std::vector<Tensor>& a) -> std::vector<Tensor> {
    const Tensor x = a[0].detach().requires_grad_(true);
    std::vector<Tensor> in{x};
    in.insert(in.end(), a.begin() + 1, a.end() - 1);
    return autograd::grad({fn(in)}, {x}, {a.back()});
  };
}

Tensor softmax_of(const Tensor& x) {
  const Tensor e = (x - x.amax({-1}, true)).exp();
  return e / e.sum(-1, true);
}
Tensor log_softmax_of(const Tensor& x) {
  const Tensor y = x - x.amax({-1}, true);
  return y - y.exp().sum(-1, true).log();
}
Tensor layer_norm_of(const Tensor& x, const Tensor& w, const Tensor& b) {
  const Tensor centred = x - x.mean(-1, true);
  return centred * (centred.square().mean(-1, true) + 1e-5).rsqrt() * w + b;
}
Tensor losses_of(const Tensor& x, const Tensor& y) {
  return -log_softmax_of(x).gather(1, y.unsqueeze(1)).squeeze(1);
}

TEST(Fuse, ChainOfTwentyWithBroadcastsIsOneKernel) {
  const Tensor x = randn({6, 33}), row = randn({33}), column = randn({6, 1}), one = randn({});
  const Graph f = fused(
      [](const std::vector<Tensor>& a) {
        Tensor t = a[0];
        for (int i = 0; i < 5; ++i) {
          t = t + a[1];
          t = t * a[2];
          t = (t - a[3]).tanh();
        }
        return std::vector<Tensor>{t};
      },
      {x, row, column, one});
  ASSERT_EQ(steps(f).size(), 1u);
  const LoopNest& nest = groups(f).at(0)->nest;
  EXPECT_EQ(nest.n_inputs, 4);
  EXPECT_EQ(nest.operands.size(), 5u);
  int loads = 0;
  for (const ScalarInstr& i : nest.program) loads += i.op == ScalarOp::load;
  EXPECT_EQ(loads, 4);
  EXPECT_FALSE(nest.by_rows());
  EXPECT_EQ(nest.operands[0].along, Along::unit);
  EXPECT_EQ(nest.operands[1].along, Along::unit);
  EXPECT_EQ(nest.operands[2].along, Along::still);
  EXPECT_EQ(nest.operands[3].along, Along::scalar);
}

TEST(Fuse, PlainChainWalksOneRunOfElements) {
  const Graph f = fused([](Tensor x, Tensor y) { return ((x + y) * x).relu(); },
                        {randn({4, 5, 6}), randn({4, 5, 6})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.outer_dims, 0);
  EXPECT_EQ(groups(f)[0]->extents, Dims({120}));
}

TEST(Fuse, BiasAndActivation) {
  const Graph f =
      fused([](Tensor x, Tensor b) { return (x + b).relu(); }, {randn({7, 9}), randn({9})});
  EXPECT_EQ(steps(f).size(), 1u);
}

TEST(Fuse, RowKernels) {
  const Tensor x = randn({9, 17}), w = randn({17}), b = randn({17});
  const Tensor y = randint(0, 17, {9}, kLong);
  const auto softmax_list = [](const std::vector<Tensor>& a) { return softmax_of(a[0]); };
  const auto log_list = [](const std::vector<Tensor>& a) { return log_softmax_of(a[0]); };
  const auto norm_list = [](const std::vector<Tensor>& a) {
    return layer_norm_of(a[0], a[1], a[2]);
  };
  const auto loss_list = [](const std::vector<Tensor>& a) { return losses_of(a[0], a[1]); };
  EXPECT_EQ(steps(fused([](Tensor t) { return softmax_of(t); }, {x})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor t) { return log_softmax_of(t); }, {x})).size(), 1u);
  EXPECT_EQ(
      steps(fused([](Tensor t, Tensor s, Tensor c) { return layer_norm_of(t, s, c); }, {x, w, b}))
          .size(),
      1u);
  EXPECT_EQ(steps(fused([](Tensor t, Tensor i) { return losses_of(t, i); }, {x, y})).size(), 1u);
  // With the forward part that they need computed again, gradients are one kernel too.
  const Tensor g = randn({9, 17}), gl = randn({9});
  EXPECT_EQ(steps(fused(gradient_of(softmax_list), {x, g})).size(), 1u);
  EXPECT_EQ(steps(fused(gradient_of(log_list), {x, g})).size(), 1u);
  EXPECT_EQ(steps(fused(gradient_of(norm_list), {x, w, b, g})).size(), 1u);
  EXPECT_EQ(steps(fused(gradient_of(loss_list), {x, y, gl})).size(), 1u);
}

TEST(Fuse, VariancesOfRowsAreTakenApart) {
  const Tensor x = randn({9, 17}), w = randn({17}), b = randn({17}), g = randn({9, 17});
  const auto norm = [](const std::vector<Tensor>& a) {
    const Tensor var = a[0].var(-1, /*unbiased=*/false, /*keepdim=*/true);
    return (a[0] - a[0].mean(-1, true)) / (var + 1e-5).sqrt() * a[1] + a[2];
  };
  const auto scaled = [](Tensor t) {
    const auto [deviation, mean] = std_mean(t, IntArrayRef{1}, /*unbiased=*/true, true);
    return (t - mean) / deviation;
  };
  EXPECT_EQ(steps(fused(norm, {x, w, b})).size(), 1u);
  EXPECT_EQ(steps(fused(gradient_of(norm), {x, w, b, g})).size(), 1u);
  EXPECT_EQ(steps(fused(scaled, {x})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor t) { return t.var().sqrt() * 2; }, {x})).size(), 1u);
  // Alone, over columns and of long rows it stays what it is.
  const Graph alone = fused([](Tensor t) { return t.var(1); }, {x});
  ASSERT_EQ(steps(alone).size(), 1u);
  EXPECT_STREQ(steps(alone)[0]->op->name, "var");
  EXPECT_EQ(steps(fused([](Tensor t) { return t.var(0).sqrt(); }, {x})).size(), 2u);
  EXPECT_EQ(
      steps(fused([](Tensor t) { return (t - t.std()).exp(); }, {randn({1 << 17, 2})})).size(), 2u);
}

TEST(Fuse, ReductionOfAllElementsEndsAKernel) {
  const Graph f = fused([](Tensor x, Tensor y) { return (x - y).square().mean().sqrt(); },
                        {randn({8, 30}), randn({8, 30})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->columns(), 240);
  EXPECT_EQ(groups(f)[0]->rows(), 1);
  // The value and the elements that it scales.
  EXPECT_EQ(steps(fused([](Tensor x, Tensor y) { return (x - y) / (x - y).norm(); },
                        {randn({8, 30}), randn({8, 30})}))
                .size(),
            1u);
  // So many elements are better cut among threads.
  EXPECT_EQ(steps(fused([](Tensor x) { return x.square().sum(); }, {randn({600, 300})})).size(),
            2u);
}

TEST(Fuse, RowsAreSummedAsTheyAreMade) {
  const Tensor x = randn({70, 30}), row = randn({30});
  Graph f = fused([](Tensor x) { return (x * 2).exp().sum(0); }, {x});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->sums.each.size(), 1u);
  EXPECT_EQ(groups(f)[0]->n_stored, 0) << "nobody needs the rows themselves";
  EXPECT_EQ(groups(f)[0]->nest.stores.size(), 1u);

  // Every reduction that there is, of two values, one of them a result as well.
  f = fused(
      [](const std::vector<Tensor>& a) -> std::vector<Tensor> {
        const Tensor y = (a[0] + a[1]).tanh(), z = y * y;
        return {y,         y.sum(0),    y.mean({0}, true), y.prod(0),
                y.amax(0), z.amin({0}), z.norm(2, 0),      z.sum_to_size({1, 30})};
      },
      {x, row});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->sums.each.size(), 7u);
  EXPECT_EQ(groups(f)[0]->n_stored, 1);
  EXPECT_EQ(groups(f)[0]->nest.stores.size(), 2u);

  // All gradients of a layer norm, of its weight and bias too.
  f = fused(
      [](const std::vector<Tensor>& a) {
        const Tensor x = a[0].detach().requires_grad_(true), w = a[1].detach().requires_grad_(true),
                     b = a[2].detach().requires_grad_(true);
        return autograd::grad({layer_norm_of(x, w, b)}, {x, w, b}, {a[3]});
      },
      {x, row, randn({30}), randn({70, 30})});
  EXPECT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->sums.each.size(), 2u);

  // Over leading dimensions that are several, through a view, behind a product.
  f = fused([](Tensor x) { return (x.view({7, 10, 30}) + 1).sum({0, 1}); }, {x});
  EXPECT_EQ(steps(f).size(), 1u);
  f = fused(
      [](Tensor g, Tensor w, Tensor y) -> std::vector<Tensor> {
        const Tensor d = g.mm(w) * (y > 0);
        return {d, d.sum(0)};
      },
      {randn({70, 5}), randn({5, 30}), x});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_NE(groups(f)[0]->product.op, nullptr);
  // Rows that are only read.
  f = fused(
      [](Tensor x, Tensor y) -> std::vector<Tensor> {
        return {(x * 2 + y).tanh(), x.sum(0), y.amax(0)};
      },
      {x, randn({70, 30})});
  EXPECT_EQ(steps(f).size(), 1u);
  // A value that repeats over samples and one that repeats over samples and rows.
  f = fused(
      [](Tensor x, Tensor p, Tensor b) {
        return (x.view({7, 10, 30}) * p + b).sum({0, 1});
      },
      {x, randn({10, 30}), row});
  EXPECT_EQ(steps(f).size(), 1u);
}

TEST(Fuse, WhatIsNotSummedWithItsRows) {
  // What comes after the sums has other elements.
  EXPECT_EQ(
      steps(fused([](Tensor x) { return (x * 2).exp().sum(0) + 1; }, {randn({8, 30})})).size(), 2u);
  // A value that is needed again in the same rows.
  EXPECT_EQ(steps(fused(
                      [](Tensor x) {
                        const Tensor e = x.exp();
                        return e / e.sum(0);
                      },
                      {randn({8, 30})}))
                .size(),
            2u);
  // Neither the first nor the last dimension, integers, sums of different columns, long rows.
  EXPECT_EQ(steps(fused([](Tensor x) { return (x * 2).sum(1); }, {randn({4, 8, 5})})).size(), 2u);
  EXPECT_EQ(
      steps(fused([](Tensor x) { return (x * 2).sum(0); }, {randint(9, {8, 5}, kLong)})).size(),
      2u);
  const Graph f = fused(
      [](Tensor x) -> std::vector<Tensor> {
        const Tensor y = x.exp();
        return {y.sum(0), y.sum({0, 1})};
      },
      {randn({4, 8, 5})});
  EXPECT_EQ(steps(f).size(), 2u);
  EXPECT_EQ(groups(f).at(0)->sums.each.size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor x) { return (x * 2).sum(0); }, {randn({8, 5000})})).size(), 2u);
  // A transposed view is added up in the order of its own rows.
  EXPECT_EQ(steps(fused([](Tensor x) { return (x * 2).t().sum(0); }, {randn({8, 5})})).size(), 2u);
  // What the rows need in turn depends on the sum.
  EXPECT_EQ(
      steps(fused([](Tensor x) { return (x + x.sum(0).exp()).tanh(); }, {randn({8, 30})})).size(),
      3u);
}

TEST(Fuse, ValuesByRowJoinTheRows) {
  const Graph f = fused(
      [](Tensor x, Tensor s) {
        const Tensor scale = (s.exp() + 1).log();
        return std::vector<Tensor>{x * scale.unsqueeze(1) + 1, scale};
      },
      {randn({5, 12}), randn({5})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.stores.size(), 2u);
}

TEST(Fuse, SingleValues) {
  // Only the kernel that needs the number computes it.
  EXPECT_EQ(steps(fused([](Tensor x, Tensor s) { return x * (s + 1).sqrt() - x; },
                        {randn({5, 12}), rand({})}))
                .size(),
            1u);
  // Needed by kernels over different elements: a kernel of its own.
  const Graph f = fused(
      [](Tensor x, Tensor y, Tensor s) {
        const Tensor n = (s + 1).sqrt();
        return std::vector<Tensor>{(x * n + 1), (y * n - 1)};
      },
      {randn({5, 12}), randn({7}), rand({})});
  EXPECT_EQ(steps(f).size(), 3u);
}

TEST(Fuse, SeveralResultsOfOneWalk) {
  const Graph f = fused(
      [](Tensor x) {
        const Tensor y = x.exp();
        return std::vector<Tensor>{y, y + 1, x.sin()};
      },
      {randn({5, 12})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.n_inputs, 2);  // x and the number 1
  EXPECT_EQ(groups(f)[0]->nest.stores.size(), 3u);
}

TEST(Fuse, ViewsBecomeStrides) {
  const Tensor x = randn({6, 8}), y = randn({8, 6}), z = randn({4, 6, 8});
  Graph f = fused([](Tensor a, Tensor b) { return (a + b.t()).relu(); }, {x, y});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.operands[1].along, Along::strided);

  f = fused([](Tensor a) { return (a.slice(1, 1, 7, 2) * 3).exp() + a.select(1, 5).unsqueeze(1); },
            {x});
  ASSERT_EQ(steps(f).size(), 1u);

  f = fused(
      [](Tensor a, Tensor b) {
        return ((a + 1).view({24, 8}) * b.view({24, 8})).tanh();
      },
      {z, randn({4, 6, 8})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.outer_dims, 0);

  // Broadcasting inside, then seen in another shape.
  f = fused(
      [](Tensor a, Tensor b) {
        return ((a + b.unsqueeze(1)).view({24, 8}) * 2).tanh();
      },
      {z, randn({4, 8})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.outer_dims, 2);

  // A value that is made here and read elsewhere than where it is made must go to memory.
  f = fused([](Tensor a, Tensor b) { return (a.exp() + 1).t() * b; }, {x, y});
  EXPECT_EQ(steps(f).size(), 2u);
  f = fused([](Tensor a) { return (a.exp() + 1).slice(1, 0, 4) * 2 + 1; }, {x});
  EXPECT_EQ(steps(f).size(), 2u);
}

TEST(Fuse, ShapesThatShareNoDimensions) {
  // 6 x 4 and 8 x 3 have 24 elements each, but a row of the one is no part of the other.
  const Graph f = fused(
      [](Tensor x, Tensor b, Tensor c) {
        return ((x + b).view({8, 3}) * c).relu() + 1;
      },
      {randn({6, 4}), randn({4}), randn({3})});
  EXPECT_EQ(steps(f).size(), 2u);
  // Without broadcasting any shape will do.
  EXPECT_EQ(steps(fused(
                      [](Tensor x) {
                        return ((x + 1).view({8, 3}) * 2).view({2, 12}).relu();
                      },
                      {randn({6, 4})}))
                .size(),
            1u);
}

TEST(Fuse, NoRingsBetweenGroups) {
  // exp feeds both the product and the sum after it: the sum must not join exp's group.
  const Graph f = fused(
      [](Tensor x, Tensor w) {
        const Tensor e = x.exp() + 1;
        return e.mm(w) * 2 + e;
      },
      {randn({5, 5}), randn({5, 5})});
  EXPECT_EQ(steps(f).size(), 2u);  // the second with the product
}

TEST(Fuse, KernelsCarryOnFromProducts) {
  const Tensor x = randn({9, 7}), w = randn({5, 7}), b = randn({5}), r = randn({9, 5});
  // Bias and activation, with the weight transposed by a view.
  Graph f = fused([](Tensor x, Tensor w, Tensor b) { return (x.mm(w.t()) + b).relu(); }, {x, w, b});
  ASSERT_EQ(steps(f).size(), 1u);
  const FusedGroup& g = *groups(f)[0];
  ASSERT_NE(g.product.op, nullptr);
  EXPECT_STREQ(g.product.op->name, "mm");
  EXPECT_EQ(g.product.output, 0);
  EXPECT_EQ(std::count(g.source.begin(), g.source.end(), -1), 1);
  EXPECT_EQ(g.product.factors[1].strides, Dims({1, 7}));
  // A residual; a single op; the gradient of an activation.
  EXPECT_EQ(
      steps(fused([](Tensor x, Tensor w, Tensor r) { return x.mm(w.t()).tanh() + r; }, {x, w, r}))
          .size(),
      1u);
  EXPECT_EQ(steps(fused([](Tensor x, Tensor w) { return x.mm(w.t()).relu(); }, {x, w})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor x, Tensor w, Tensor h) { return x.mm(w) * (h > 0); }, {r, w, x}))
                .size(),
            1u);
  // addmm and batches.
  EXPECT_EQ(steps(fused([](Tensor x, Tensor w, Tensor b) { return addmm(b, x, w.t()).relu(); },
                        {x, w, b}))
                .size(),
            1u);
  EXPECT_EQ(steps(fused([](Tensor x, Tensor y) { return x.bmm(y).sigmoid() * 2; },
                        {randn({3, 4, 5}), randn({3, 5, 6})}))
                .size(),
            1u);
  // Softmax of a product, and a loss: rows.
  EXPECT_EQ(steps(fused([](Tensor x, Tensor w) { return softmax_of(x.mm(w.t())); }, {x, w})).size(),
            1u);
  // Needed elsewhere: a result of the group, which the nest does not store.
  f = fused(
      [](Tensor x, Tensor w) {
        const Tensor p = x.mm(w.t());
        return std::vector<Tensor>{p, p.relu()};
      },
      {x, w});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_TRUE(groups(f)[0]->product.kept);
  EXPECT_EQ(groups(f)[0]->product.output, 1);
  EXPECT_EQ(groups(f)[0]->nest.stores.size(), 1u);
  // Read elsewhere than where it is made, or by what the kernel needs: a step of its own.
  f = fused(
      [](Tensor x, Tensor w) {
        const Tensor p = x.mm(w.t());
        return p * p.cumsum(0);
      },
      {x, w});
  EXPECT_EQ(steps(f).size(), 3u);
  EXPECT_EQ(steps(fused([](Tensor x, Tensor w, Tensor y) { return x.mm(w.t()).t() * y; },
                        {x, w, randn({5, 9})}))
                .size(),
            2u);
  // The update of a weight by its gradient.
  Tensor weight = randn({5, 7});
  const Graph update =
      trace([&](Tensor x, Tensor r) { return weight.sub_(r.t().mm(x) * 0.1).sum(); }, {x, r});
  EXPECT_EQ(steps(fuse(update)).size(), 1u);
  // The same elements in another shape than the product has.
  EXPECT_EQ(
      steps(fused([](Tensor x, Tensor w) { return x.mm(w.t()).flatten().relu(); }, {x, w})).size(),
      1u);
  // Of two products one.
  EXPECT_EQ(steps(fused([](Tensor x, Tensor w) { return (x.mm(w.t()) + x.mm(w.t() * 2)).tanh(); },
                        {x, w}))
                .size(),
            3u);
}

TEST(Fuse, NumbersAreConstants) {
  const Graph f =
      fused([](Tensor x) { return x.sin() + ones_like(x) * zeros({1}); }, {randn({3, 4})});
  ASSERT_EQ(steps(f).size(), 1u);
  EXPECT_EQ(groups(f)[0]->nest.n_inputs, 1);
}

TEST(Fuse, OneKernelForEverySize) {
  // One over the number of samples is an argument, not a part of the kernel.
  const auto loss = [](const std::vector<Tensor>& a) { return losses_of(a[0], a[1]).mean(); };
  const auto nests = [&](int64_t samples) {
    const Graph f = fused(gradient_of(loss),
                          {randn({samples, 17}), randint(0, 17, {samples}, kLong), ones({})});
    std::vector<LoopNest> found;
    for (const FusedGroup* g : groups(f)) found.push_back(g->nest);
    return found;
  };
  const std::vector<LoopNest> a = nests(6), b = nests(9);
  EXPECT_FALSE(a.empty());
  EXPECT_TRUE(a == b);
  const auto scaled = [](Tensor x) {
    return x.exp() + full({1}, 1.0 / static_cast<double>(x.size(0)));
  };
  const Graph f = fused(scaled, {randn({6, 3})}), g = fused(scaled, {randn({7, 3})});
  EXPECT_TRUE(groups(f).at(0)->nest == groups(g).at(0)->nest);
}

TEST(Fuse, TypesAsInEager) {
  const Tensor h = randn({4, 20}).to(kHalf), b = randn({20}).to(kBFloat16),
               i = randint(-9, 9, {4, 20}, kInt);
  const Tensor c = randint(-9, 9, {4, 20}, kChar), d = randn({4, 20}, kDouble),
               big = randn({4, 20}) * 1e10;
  EXPECT_EQ(
      steps(fused([](Tensor x, Tensor y) { return ((x + 0.1) * y).exp() / 3; }, {h, h})).size(),
      1u);
  EXPECT_EQ(steps(fused([](Tensor x, Tensor y) { return (x * y + 1).tanh(); }, {h, b})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor x, Tensor y) { return (x * y + x) * 7; }, {i, c})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor x) { return (x * x * x) - x; }, {c})).size(), 1u);
  EXPECT_EQ(
      steps(fused([](Tensor x, Tensor y) { return where((x > y).logical_and(x < 3), x, y * 2); },
                  {i, d}))
          .size(),
      1u);
  EXPECT_EQ(steps(fused(
                      [](Tensor x) {
                        const Tensor y = x * 3;
                        return std::vector<Tensor>{y.to(kInt), y.to(kByte), y.to(kLong),
                                                   y.to(kBool), y.to(kHalf)};
                      },
                      {big}))
                .size(),
            1u);
  EXPECT_EQ(steps(fused([](Tensor x) { return (x > 0).sum(-1) + 1; }, {i})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor x) { return (x + 1).mean(-1) * 2; }, {h})).size(), 1u);
}

TEST(Fuse, IndicesAreCheckedBeforeTheKernelRuns) {
  const Tensor x = randn({3, 5});
  const auto fn = [](Tensor t, Tensor i) { return t.exp().gather(1, i) * 2; };
  const Graph f = fused(fn, {x, tensor({{0}, {4}, {2}}, kLong)});
  ASSERT_EQ(steps(f).size(), 1u);
  const FusedGroup& group = *groups(f)[0];
  ASSERT_EQ(group.checks.size(), 1u);
  EXPECT_TRUE(checks_values(*steps(f)[0]));
  const Tensor good = tensor({{0}, {4}, {2}}, kLong), bad = tensor({{0}, {5}, {2}}, kLong);
  const auto check = [&](const Tensor& i) {
    std::vector<Array> in;
    for (const Edge& e : {Edge{steps(f)[0]->inputs()[0]}, Edge{steps(f)[0]->inputs()[1]}})
      in.push_back((e.node == f.inputs[0] ? x : i).impl()->array());
    check_indices(group, in.data());
  };
  EXPECT_NO_THROW(check(good));
  try {
    check(bad);
    FAIL() << "an index out of range was let through";
  } catch (const IndexError& e) {
    EXPECT_STREQ(e.what(), "gather: index 5 is out of bounds for dimension 1 with size 5");
  }
  EXPECT_THROW(run_steps(f, {x, bad}), IndexError);
}

TEST(Fuse, GatherKeepsTheSignOfZero) {
  const Tensor x = tensor({{1.f, -0.f}, {-0.f, 2.f}});
  fused([](Tensor t, Tensor i) { return (t * 1).gather(1, i) * 1; },
        {x, tensor({{1}, {0}}, kLong)});
}

TEST(Fuse, DivisionOfIntegersMayFailAndStaysApart) {
  const auto fn = [](Tensor x, Tensor y) { return (x + 1).div(y, "floor") * 2; };
  const Tensor x = randint(0, 9, {10}, kLong), y = randint(1, 9, {10}, kLong);
  const Graph f = fused(fn, {x, y});
  EXPECT_EQ(steps(f).size(), 3u);
  EXPECT_THROW(run_steps(f, {x, zeros({10}, kLong)}), Error);
}

TEST(Fuse, EmptyAndTiny) {
  EXPECT_EQ(steps(fused([](Tensor x) { return (x + 1).relu(); }, {randn({0, 3})})).size(), 2u);
  EXPECT_EQ(steps(fused([](Tensor x) { return (x + 1).relu(); }, {randn({})})).size(), 1u);
  EXPECT_EQ(steps(fused([](Tensor x) { return (x + 1).relu().sum(); }, {randn({1, 1})})).size(),
            2u);
  EXPECT_EQ(steps(fused([](Tensor x) { return softmax_of(x); }, {randn({1, 7})})).size(), 1u);
}

TEST(Fuse, GraphsWithNothingToFuseStayTheSame) {
  const Graph g =
      trace([](Tensor x, Tensor y) { return x.mm(y).sum(0); }, {randn({3, 4}), randn({4, 5})});
  EXPECT_EQ(fuse(g).str(), g.str());
}

TEST(Fuse, SameGraphSameResult) {
  const Tensor x = randn({9, 17}), g = randn({9, 17});
  const auto list = [](const std::vector<Tensor>& a) { return softmax_of(a[0]); };
  const Graph t = trace(gradient_of(list), {x, g});
  EXPECT_TRUE(same(fuse(t.clone()), fuse(t.clone())));
}

// -- random programs ----------------------------------------------------------------------------

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  int operator()(int sides) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int>(state_ >> 33) % sides;
  }

 private:
  uint64_t state_;
};

// A few dozen ops on values of related shapes: pointwise, views, reductions, products.
std::vector<Tensor> random_program(uint64_t seed, const std::vector<Tensor>& inputs) {
  Dice dice(seed);
  std::vector<Tensor> pool = inputs;
  const auto any = [&] { return pool[static_cast<size_t>(dice(static_cast<int>(pool.size())))]; };
  const auto fits = [](const Tensor& a, const Tensor& b) {
    const int64_t n = std::min(a.dim(), b.dim());
    for (int64_t d = 1; d <= n; ++d)
      if (a.size(-d) != b.size(-d) && a.size(-d) != 1 && b.size(-d) != 1) return false;
    return true;
  };
  for (int i = 0; i < 30; ++i) {
    const Tensor a = any(), b = any();
    switch (dice(16)) {
      case 0:
      case 1:
      case 2:
        if (fits(a, b)) pool.push_back(dice(2) ? a + b : a * b);
        break;
      case 3:
        if (fits(a, b)) pool.push_back(maximum(a, b) - 0.25);
        break;
      case 4:
        pool.push_back(a.tanh());
        break;
      case 5:
        pool.push_back(a.sigmoid() * 2);
        break;
      case 6:
        if (a.dim() > 0) pool.push_back(dice(2) ? a.sum(-1, true) : a.amax({-1}, true));
        break;
      case 7:
        if (a.dim() > 0) pool.push_back(dice(2) ? a.mean(0) : a.mean(-1));
        break;
      case 8:
        if (a.dim() == 2) pool.push_back(a.t());
        break;
      case 9:
        if (a.dim() > 0 && a.size(0) > 1) pool.push_back(a.slice(0, 0, a.size(0) / 2));
        break;
      case 10:
        if (a.dim() > 0) pool.push_back(a.flatten());
        break;
      case 11:
        if (fits(a, b)) pool.push_back(where(a > b, a, b * 0.5));
        break;
      case 12:
        pool.push_back(a.to(dice(2) ? kHalf : kDouble).to(kFloat) + 1);
        break;
      case 13:
        if (a.dim() > 0) pool.push_back(a.unsqueeze(dice(static_cast<int>(a.dim()) + 1)));
        break;
      case 14:
        if (a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0)) pool.push_back(a.mm(b));
        break;
      default:
        pool.push_back(dice(2) ? a.clamp(-1, 1) : (a + ones_like(a)).abs().sqrt());
        break;
    }
  }
  std::vector<Tensor> results;
  for (size_t i = pool.size() - std::min<size_t>(pool.size(), 4); i < pool.size(); ++i)
    results.push_back(pool[i] * 1);
  results.push_back(any() - 1);
  return results;
}

TEST(Fuse, RandomPrograms) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    manual_seed(seed);
    const std::vector<Tensor> x{randn({6, 4}), randn({4}), randn({6, 1}), randn({4, 6}), randn({})};
    SCOPED_TRACE(seed);
    fused([&](const std::vector<Tensor>& a) { return random_program(seed, a); }, x);
    if (HasFailure()) return;
  }
}

// -- schedule -----------------------------------------------------------------------------------

TEST(Schedule, UsesAndFreesEarly) {
  // Recorded in the worst order: all products first, then their sums.
  const auto fn = [](Tensor x) {
    std::vector<Tensor> wide;
    for (int i = 0; i < 8; ++i) wide.push_back(x.mm(x));
    Tensor total = wide[0].sum();
    for (int i = 1; i < 8; ++i) total = total + wide[static_cast<size_t>(i)].sum();
    return total;
  };
  const Tensor x = randn({16, 16});
  const Graph g = trace(fn, {x});
  const Graph s = schedule(g.clone());
  EXPECT_EQ(s.nodes.size(), g.nodes.size());
  EXPECT_LE(peak_bytes(s) * 3, peak_bytes(g));
  EXPECT_TRUE(same_bits(s.run({x})[0], g.run({x})[0]));
  EXPECT_EQ(schedule(g.clone()).str(), s.str());
}

TEST(Schedule, NeverWorseAndAlwaysValid) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    manual_seed(seed);
    const std::vector<Tensor> x{randn({6, 4}), randn({4}), randn({6, 1}), randn({4, 6}), randn({})};
    const Graph g = trace([&](const std::vector<Tensor>& a) { return random_program(seed, a); }, x);
    const Graph s = schedule(fuse(g.clone()));
    EXPECT_LE(peak_bytes(s), peak_bytes(fuse(g.clone())));
    const std::vector<Tensor> wanted = g.run(x), got = run_steps(s, x);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(same_bits(got[i], wanted[i])) << seed;
  }
}

}  // namespace
}  // namespace tandem::test
