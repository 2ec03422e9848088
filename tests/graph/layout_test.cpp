#include "tandem/graph/layout.h"

#include <gtest/gtest.h>

#include <map>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/core/graph.h"
#include "tandem/graph/pipeline.h"
#include "tandem/graph/verify.h"
#include "tandem/nn/modules/batchnorm.h"
#include "tandem/ops/conv_blocked_op.h"
#include "tandem/ops/ops.h"
#include "tandem/runtime/executor.h"
#include "tests/blocked.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

std::map<std::string, int> count_ops(const Graph& g) {
  std::map<std::string, int> count;
  for (const NodePtr& n : g.nodes) ++count[n->op->name];
  return count;
}

/// Runs the function as it is and as a plan, compares the results, and says which ops the layout
/// pass left.
std::map<std::string, int> check(const Function& fn, const Tensors& inputs,
                                 double tolerance = 2e-5) {
  const Tensors expected = fn(inputs);
  const Graph recorded = trace_list(fn, inputs);
  const Graph whole = optimise(recorded);
  verify(whole, "layout test");
  const runtime::Executor executor(runtime::make_plan(whole));
  for (int call = 0; call < 2; ++call) {
    const Tensors got = executor.run(inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(got[i].sizes(), expected[i].sizes());
      const double largest = expected[i].abs().max().item<double>();
      EXPECT_LE((got[i] - expected[i]).abs().max().item<double>(), tolerance * (1 + largest))
          << "result " << i;
    }
  }
  return count_ops(optimise(recorded, {.without = {"fuse"}}));
}

Tensor weight(IntArrayRef sizes) { return (randn(sizes) * 0.2).set_requires_grad(true); }

/// The function's first result and its gradients by some tensors.
Function with_gradients(const Function& fn, const Tensors& by) {
  return [=](const Tensors& in) {
    const Tensor loss = fn(in)[0].square().mean();
    Tensors all = autograd::grad({loss}, by);
    all.push_back(loss.detach());
    return all;
  };
}

class Layout : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::convolutions_are_blocked())
      GTEST_SKIP() << "nothing is blocked on this machine, or in this build";
    manual_seed(7);
  }
  Tensor x = randn({2, 3, 24, 24});
  Tensor w1 = weight({16, 3, 3, 3}), w2 = weight({24, 16, 3, 3}), w3 = weight({24, 24, 3, 3});
  Tensor b1 = weight({16}), b2 = weight({24});
};

TEST_F(Layout, ChainsStayBlocked) {
  const NoGradGuard no_grad;
  auto ops = check(
      [&](const Tensors& in) -> Tensors {
        const Tensor h = conv2d(in[0], w1, b1, 1, 1).relu();
        return {conv2d(h, w2, b2, 2, 1).tanh()};
      },
      {x});
  EXPECT_EQ(ops["blocked_convolution"], 2);
  EXPECT_EQ(ops["relu"], 0) << "the first convolution ends with it";
  EXPECT_EQ(ops["to_blocked"], 0);
  EXPECT_EQ(ops["from_blocked"], 1);
}

TEST_F(Layout, ResidualsJoinTheConvolution) {
  const NoGradGuard no_grad;
  auto ops = check(
      [&](const Tensors& in) -> Tensors {
        const Tensor h = conv2d(conv2d(in[0], w1, b1, 1, 1), w2, b2, 1, 1).relu();
        return {(conv2d(h, w3, {}, 1, 1) + h).relu().mean({2, 3})};
      },
      {x});
  EXPECT_EQ(ops["blocked_convolution"], 2);
  EXPECT_EQ(ops["blocked_convolution_add"], 1);
  EXPECT_EQ(ops["from_blocked"], 0) << "means are taken of blocked tensors";
  EXPECT_EQ(ops["relu"], 0);
}

TEST_F(Layout, GradientsStayBlocked) {
  auto ops = check(with_gradients(
                       [&](const Tensors& in) -> Tensors {
                         Tensor h = conv2d(in[0], w1, b1, 2, 1).relu();
                         h = conv2d(h, w2, b2, 1, 1).relu();
                         h = conv2d(h, w3, {}, 1, 1) + h;
                         return {h.mean({2, 3})};
                       },
                       {w1, w2, w3, b1, b2}),
                   {x});
  EXPECT_EQ(ops["to_blocked"], 0);
  EXPECT_EQ(ops["from_blocked"], 0);
  EXPECT_EQ(ops["blocked_convolution"], 2);
  EXPECT_EQ(ops["blocked_convolution_add"], 1);
  EXPECT_EQ(ops["blocked_convolution_input"], 2);
  EXPECT_EQ(ops["blocked_convolution_weight"], 3);
  // Each once for y and, but for the first, once for the gradient by x.
  EXPECT_EQ(ops["to_blocked_weight"], 5);
  EXPECT_EQ(ops["from_blocked_weight"], 1) << "the others come out as they are wanted";
}

// Kernels of 3 x 3 on images that are large enough have transformed weights, forward and backward.
TEST_F(Layout, TransformedWeights) {
  const Tensor image = randn({4, 16, 21, 18});
  const Tensor in = weight({32, 16, 3, 3}), back = weight({16, 32, 3, 3}), bias = weight({32});
  const Function fn = with_gradients(
      [&](const Tensors& given) -> Tensors {
        const Tensor h = conv2d(given[0], in, bias, 1, 1).relu();
        return {(conv2d(h, back, {}, 1, 1) + given[0]).relu()};
      },
      {in, back, bias});
  check(fn, {image});
  std::map<kernels::WeightOrder, int> orders;
  for (const NodePtr& n : optimise(trace_list(fn, {image})).nodes)
    if (n->op == &kToBlockedWeight)
      ++orders[static_cast<kernels::WeightOrder>(n->attrs().as<WeightOrderAttrs>().order)];
  EXPECT_EQ(orders[kernels::WeightOrder::winograd], 2);
  EXPECT_EQ(orders[kernels::WeightOrder::winograd_turned], 1);
  EXPECT_EQ(orders.size(), 2u);
}

TEST_F(Layout, TransposedConvolutionsWithABias) {
  const Tensor up = weight({24, 16, 2, 2}), bias = weight({16});
  auto ops = check(with_gradients(
                       [&](const Tensors& in) -> Tensors {
                         const Tensor h = conv2d(conv2d(in[0], w1, b1, 1, 1), w2, b2, 2, 1).relu();
                         return {conv_transpose2d(h, up, bias, 2).relu().mean({2, 3})};
                       },
                       {w1, w2, up, b1, b2, bias}),
                   {x});
  EXPECT_EQ(ops["to_blocked"], 0);
  EXPECT_EQ(ops["from_blocked"], 0);
  EXPECT_EQ(ops["convolution_input"], 0);
  EXPECT_EQ(ops["blocked_convolution_input"], 2) << "up, and the gradient of what is before it";
}

TEST_F(Layout, GradientsAddedToZeroAreThemselves) {
  auto ops = check(
      [&](const Tensors& in) -> Tensors {
        const Tensor y = conv2d(conv2d(in[0], w1, b1, 1, 1), w2, b2, 1, 1);
        const Tensors by = autograd::grad({y.square().mean()}, {w1, w2});
        return {zeros_like(by[0]) + by[0], by[1] + zeros_like(by[1])};
      },
      {x});
  EXPECT_EQ(ops["add"], 0);
}

TEST_F(Layout, NumbersOfChannelsAndOtherShapesBroadcast) {
  const NoGradGuard no_grad;
  const Tensor channel = randn({24, 1, 1}), image = randn({1, 1, 24, 24}), one = randn({1});
  const Tensor sample = randn({2, 24, 1, 1}), row = randn({24, 24, 24});
  auto ops = check(
      [&](const Tensors& in) -> Tensors {
        Tensor h = conv2d(conv2d(in[0], w1, b1, 1, 1), w2, b2, 1, 1);
        h = (h * channel + image) * one - sample + row;
        return {h, h.sum({0, 2, 3}), h.amax({2, 3}), h.sum(), h.sum({1}), h.mean({0, 2, 3}, true)};
      },
      {x});
  EXPECT_EQ(ops["from_blocked"], 1) << "only for the result itself";
}

TEST_F(Layout, DepthwiseAndGroups) {
  const Tensor dw = weight({16, 1, 3, 3}), grouped = weight({32, 8, 3, 3});
  auto ops = check(with_gradients(
                       [&](const Tensors& in) -> Tensors {
                         Tensor h = conv2d(in[0], w1, b1, 1, 1).relu();
                         h = conv2d(h, dw, {}, 1, 1, 1, 16).relu();
                         return {conv2d(h, grouped, {}, 1, 1, 1, 2)};
                       },
                       {w1, dw, grouped}),
                   {x});
  EXPECT_EQ(ops["convolution"], 0);
  EXPECT_EQ(ops["blocked_convolution"], 3);
}

TEST_F(Layout, JoinedChannelsStayBlocked) {
  const Tensor side = weight({8, 16, 1, 1}), last = weight({16, 32, 3, 3});
  auto ops = check(with_gradients(
                       [&](const Tensors& in) -> Tensors {
                         const Tensor h = conv2d(in[0], w1, b1, 1, 1).relu();
                         const Tensor both = cat({conv2d(h, w2, b2, 1, 1), conv2d(h, side)}, 1);
                         return {conv2d(both.relu(), last, {}, 1, 1).mean({2, 3})};
                       },
                       {w1, w2, side, last}),
                   {x});
  EXPECT_EQ(ops["to_blocked"], 0);
  EXPECT_EQ(ops["from_blocked"], 0);
}

TEST_F(Layout, WhatCannotBeBlockedStaysPlain) {
  const NoGradGuard no_grad;
  const Tensor odd = weight({13, 24, 3, 3});
  auto ops = check(
      [&](const Tensors& in) -> Tensors {
        const Tensor h = conv2d(conv2d(in[0], w1, b1, 1, 1).relu(), w2, b2, 1, 1).relu();
        return {conv2d(h, odd, {}, 1, 1), h.flatten(1)};
      },
      {x});
  EXPECT_EQ(ops["convolution"], 1);
  EXPECT_EQ(ops["from_blocked"], 1) << "once for both of its readers";
}

TEST_F(Layout, OneConvolutionIsLeftAlone) {
  const NoGradGuard no_grad;
  auto ops =
      check([&](const Tensors& in) -> Tensors { return {conv2d(in[0], w1, b1).relu()}; }, {x});
  EXPECT_EQ(ops["convolution"], 1);
}

TEST_F(Layout, BatchNormAndPoolingFollow) {
  nn::BatchNorm2d n1(16), n2(24);
  auto ops = check(with_gradients(
                       [&](const Tensors& in) -> Tensors {
                         Tensor h = n1(conv2d(in[0], w1, {}, 1, 1)).relu();
                         h = max_pool2d(h, 3, 2, 1);
                         h = n2(conv2d(h, w2, {}, 1, 1)).relu();
                         return {adaptive_avg_pool2d(h, {1, 1}).flatten(1)};
                       },
                       {w1, w2, n1->weight, n1->bias, n2->weight, n2->bias}),
                   {x}, 1e-4);
  EXPECT_EQ(ops["to_blocked"], 0);
}

TEST_F(Layout, NormsWithGivenStatisticsGoIntoTheWeights) {
  const NoGradGuard no_grad;
  nn::BatchNorm2d n1(16), n2(24);
  for (auto& n : {n1, n2}) {
    n->running_mean.copy_(randn_like(n->running_mean));
    n->running_var.copy_(rand_like(n->running_var) + 0.5);
    n->weight.copy_(randn_like(n->weight));
    n->bias.copy_(randn_like(n->bias));
  }
  n1->eval();
  n2->eval();
  auto ops = check(
      [&](const Tensors& in) -> Tensors {
        const Tensor h = n1(conv2d(in[0], w1, b1, 1, 1)).relu();
        return {n2(conv2d(h, w2, {}, 1, 1)).relu()};
      },
      {x}, 1e-4);
  EXPECT_EQ(ops["blocked_convolution"], 2);
  EXPECT_EQ(ops["batch_normalize"], 0);
  EXPECT_EQ(ops["relu"], 0);
}

}  // namespace
}  // namespace tandem
