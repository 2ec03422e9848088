#include "tandem/compile/lazy.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/core/apply.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

TEST(Lazy, NothingRunsUntilAValueIsLookedAt) {
  struct Counter : OpObserver {
    void ran(const OpDef& op) override { n += !op.is_view(); }
    int n = 0;
  };
  const Tensor x = randn({3});
  const LazyGuard lazy;
  const int64_t runs = lazy::stats().runs;
  const Tensor y = x + 2, z = y * y;
  EXPECT_TRUE(is_pending(y) && is_pending(z));
  EXPECT_FALSE(is_pending(x));
  EXPECT_EQ(lazy::stats().runs, runs);
  eval({z});
  EXPECT_FALSE(is_pending(z));
  EXPECT_FALSE(is_pending(y));  // it was alive, so it was computed along
  EXPECT_EQ(lazy::stats().runs, runs + 1);
  expect_same(z, (x + 2) * (x + 2));
}

TEST(Lazy, EveryWayOfLooking) {
  const Tensor x = arange(1, 4, kFloat);
  const LazyGuard lazy;
  EXPECT_EQ((x + 1).sum().item<float>(), 9);
  EXPECT_EQ((x * 2).data_ptr<float>()[2], 6);
  std::ostringstream out;
  out << x * 3;
  EXPECT_NE(out.str().find("9"), std::string::npos);
  EXPECT_TRUE((x + 0).equal(x));
  EXPECT_EQ((x > 1).nonzero().size(0), 2);  // a shape that depends on values
  const Tensor less = x - 1;
  EXPECT_EQ((less.accessor<float, 1>()[1]), 1);
  EXPECT_TRUE((x.sum() > 0).is_nonzero());
}

TEST(Lazy, WhatIsPendingAtTheEndOfTheScopeRunsThen) {
  Tensor kept, base = zeros({3});
  {
    const LazyGuard lazy;
    kept = ones({3}) * 2;
    base.add_(kept);
    EXPECT_TRUE(is_pending(base));
    const LazyGuard inner;  // changes nothing
  }
  EXPECT_FALSE(is_pending(kept));
  EXPECT_FALSE(is_pending(base));
  expect_same(base, full({3}, 2.0));
}

TEST(Lazy, WritesAndViewsAreThoseOfEager) {
  const auto program = [](Tensor a) {
    Tensor v = a.view({6}), b = a * 2;
    v[1] = 10;
    a[1].add_(b[0]);
    v.slice(0, 4).zero_();
    const Tensor before = a.clone();
    a.mul_(3);
    return std::vector{a, b, v, before};
  };
  const Tensor start = randn({2, 3});
  Tensor eager_a = start.clone(), lazy_a = start.clone();
  const auto eager = program(eager_a);
  std::vector<Tensor> lazy;
  {
    const LazyGuard guard;
    lazy = program(lazy_a);
  }
  for (size_t i = 0; i < eager.size(); ++i) expect_same(lazy[i], eager[i]);
  expect_same(lazy_a, eager_a);
}

TEST(Lazy, RawPointersSeeWhatWasThereBefore) {
  Tensor x = ones({2});
  const LazyGuard lazy;
  const Tensor y = x + 1;
  x.data_ptr<float>()[0] = 100;  // y was asked for before this
  expect_same(y, full({2}, 2.0));
}

TEST(Lazy, GradientsAreDeferredToo) {
  Tensor w = randn({4}, requires_grad());
  const auto loss = [&] { return (w * w).tanh().sum(); };
  loss().backward();
  const Tensor expected = w.grad().clone();
  w.mutable_grad() = Tensor();
  {
    const LazyGuard lazy;
    loss().backward();
    EXPECT_TRUE(is_pending(w.grad()));
  }
  expect_same(w.grad(), expected);
}

TEST(Lazy, AProgramSeenBeforeComesFromTheCache) {
  const Tensor x = randn({5});
  const auto run = [&] {
    const LazyGuard lazy;
    return ((x + 0.125).exp() * 3).sum().item<float>();
  };
  const float first = run();
  const int64_t programs = lazy::stats().programs;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), first);
  EXPECT_EQ(lazy::stats().programs, programs);
}

TEST(Lazy, AProgramHoldsNoTensorsOfTheCallsThatItRan) {
  std::vector<float> values(8, 2.0f);
  int freed = 0;
  {
    const Tensor x = from_blob(values.data(), {8}, [&](void*) { ++freed; });
    const LazyGuard lazy;
    const Tensor y = (x.exp() * 0.640625).sum();
    eval({y});
  }
  EXPECT_EQ(freed, 1);
}

TEST(Lazy, MistakesInShapesAreFoundAtOnceThoseInValuesWhenTheyRun) {
  const Tensor x = ones({3});
  {
    const LazyGuard lazy;
    EXPECT_THROW_WITH(x + ones({2}), "add");
    EXPECT_THROW_WITH(x.index_select(0, tensor({7})).sum().item(), "index");
  }
  Tensor after;
  EXPECT_THROW_WITH(
      [&] {
        const LazyGuard lazy;
        after = x.index_select(0, tensor({7}));
      }(),
      "index");
  EXPECT_THROW_WITH(after.sum(), "recorded");
  const LazyGuard again;
  expect_same(x + 1, full({3}, 2.0));
}

TEST(Lazy, OneValueThatCannotBeComputedDoesNotTakeTheOthersWithIt) {
  Tensor kept, bad;
  {
    const LazyGuard lazy;
    const Tensor b = ones({2}) * 3;
    kept = ones({2}) * 4;
    bad = b.index_select(0, tensor({5}));
    const Tensor behind = bad + 1;
    EXPECT_THROW_WITH(bad.sum().item(), "index 5");
    EXPECT_EQ(b.sum().item<float>(), 6);
    EXPECT_THROW_WITH(behind.sum().item(), "index 5");  // says so as often as it is asked
    EXPECT_THROW_WITH(bad.sum().item(), "index 5");
  }
  expect_same(kept, full({2}, 4.0));
  Tensor good;
  EXPECT_THROW_WITH(
      [&] {
        const LazyGuard lazy;
        good = ones({3}) + 1;
        bad = good.index_select(0, tensor({7}));
      }(),
      "index 7");
  expect_same(good, full({3}, 2.0));
  EXPECT_THROW_WITH(bad.sum(), "could not be computed");
}

TEST(Lazy, ALossMayBeLookedAtBetweenForwardAndBackward) {
  const auto train = [](bool look) {
    const Tensor w = full({2}, 1.0).requires_grad_();
    for (int i = 0; i < 3; ++i) {
      w.mutable_grad().reset();
      const Tensor loss = (w * w).sum();
      if (look) loss.item();
      loss.backward();
      const NoGradGuard no_grad;
      w.sub_(w.grad() * 0.1);
    }
    return w.detach().clone();
  };
  const Tensor eager = train(false);
  const LazyGuard lazy;
  expect_same(train(true), eager);
  expect_same(train(false), eager);
}

TEST(Lazy, TensorsThatGetOtherMemoryOrAnotherShape) {
  const Tensor w = ones({2}), x = ones({2});
  const LazyGuard lazy;
  const Tensor y = w * 3;
  w.set_data(full({3}, 5.0, kDouble));
  expect_same(y, full({2}, 3.0));
  expect_same(w + 0, full({3}, 5.0, kDouble));
  x.add_(1);
  x.unsqueeze_(0);
  x.mul_(2);
  expect_same(x, full({1, 2}, 4.0));
  const Tensor z = x + 1;
  x.resize_({3});
  expect_same(z, full({1, 2}, 5.0));
}

TEST(Lazy, AFailureAmongWritesIsNotRunAgain) {
  const Tensor count = zeros({1}), x = ones({2});
  Tensor apart, behind;
  {
    const LazyGuard lazy;
    count.add_(1);
    apart = x * 3;
    behind = count * 2;
    EXPECT_THROW_WITH(x.index_select(0, tensor({5})).sum().item(), "index 5");
    expect_same(apart, full({2}, 3.0));
    EXPECT_THROW_WITH(behind.item(), "index 5");
    EXPECT_THROW_WITH(behind.data_ptr<float>(), "index 5");
    EXPECT_THROW_WITH(str(behind), "index 5");
    EXPECT_LE(count.item<float>(), 1);  // written or not, but not twice
    const Tensor again = count + 5;
    EXPECT_EQ(again.item<float>(), count.item<float>() + 5);
  }
  const LazyGuard lazy;
  EXPECT_EQ((x + 1).sum().item<float>(), 4);
}

TEST(Lazy, AnomaliesAreFound) {
  const Tensor x = tensor({-1.0f, 4.0f}).requires_grad_();
  const DetectAnomalyGuard anomaly;
  const LazyGuard lazy;
  EXPECT_THROW_WITH(x.sqrt().sum().backward(), "returned nan values in its 0th output");
  const Tensor fine = x.square().sum();
  fine.backward();
  expect_same(x.grad(), tensor({-2.0f, 8.0f}));
}

}  // namespace
}  // namespace tandem
