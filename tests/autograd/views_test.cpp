// Writes through views, checked against finite differences.
#include "tandem/autograd/gradcheck.h"
#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_error;
using test::expect_near;
using test::leaf;

template <class F>
void check(F fn, const variable_list& inputs) {
  EXPECT_TRUE(gradcheck(fn, inputs));
  EXPECT_TRUE(gradgradcheck(fn, inputs));
}

TEST(ViewWrites, ARow) {
  check(
      [](const Tensor& x, const Tensor& r) {
        Tensor a = x * x;
        a[1] = r * r;
        return a * a;
      },
      {leaf({3, 2}), leaf({2}, 2)});
}

TEST(ViewWrites, ARowOfSomethingThatNeededNoGradient) {
  check(
      [](const Tensor& r) {
        Tensor a = ones({3, 2}, kDouble);
        a[0] = r;
        a[2].add_(r * r);
        return a * a;
      },
      {leaf({2})});
}

TEST(ViewWrites, AColumnAndABlock) {
  check(
      [](const Tensor& x, const Tensor& y) {
        Tensor a = x * 1;
        a.t()[1].mul_(a.t()[0].clone());
        a.slice(0, 0, 4, 2).slice(1, 1, 3).mul_(y);
        return a * a;
      },
      {leaf({4, 3}), leaf({2, 2}, 2)});
}

TEST(ViewWrites, ViewsOfViewsFollow) {
  check(
      [](const Tensor& x) {
        Tensor a = x * 1;
        Tensor v = a.view({2, 6}), w = v.t(), u = w.slice(0, 1, 5);
        u.mul_(x.view({6, 2}).slice(0, 0, 4));  // changes v, w and a
        v[0].mul_(2);                           // makes u and w stale
        return std::tuple{a * 1, v * v, w * 3, u * u};
      },
      {leaf({3, 4})});
}

TEST(ViewWrites, TheBaseIsWrittenAfterTheViewWasMade) {
  check(
      [](const Tensor& x) {
        Tensor a = x * 1;
        Tensor v = a[1];
        Tensor before = v * 2;
        a.mul_(x);
        return std::tuple{before, v * v, a * 1};
      },
      {leaf({3, 2})});
}

TEST(ViewWrites, SiblingsSeeEachOther) {
  check(
      [](const Tensor& x) {
        Tensor a = x * 1;
        Tensor first = a.slice(0, 0, 3), second = a.slice(0, 1, 4);  // they overlap in two elements
        first.mul_(first.clone());
        second.mul_(3);
        first.add_(second.clone());
        return std::tuple{first * 1, second * 1, a * a};
      },
      {leaf({5})});
}

TEST(ViewWrites, FromAnOverlappingPartOfTheSameMemory) {
  check(
      [](const Tensor& x) {
        Tensor a = x * 1;
        a.slice(0, 1, 5).add_(a.slice(0, 0, 4));  // as if the right side had been copied first
        return a * a;
      },
      {leaf({5})});
  Tensor a = test::values({5}, {1, 2, 3, 4, 5});
  a.slice(0, 1, 5).add_(a.slice(0, 0, 4));
  expect_near(a, {1, 3, 5, 7, 9});
}

TEST(ViewWrites, ConstantsCutTheHistory) {
  check(
      [](const Tensor& x) {
        Tensor a = x * x;
        a[0].zero_();
        a[1].fill_(3);
        return a * a;
      },
      {leaf({3, 2})});
  Tensor x = leaf({2});
  Tensor a = x * 2;
  a.zero_();
  EXPECT_TRUE(a.requires_grad());
  a.backward(ones_like(a));
  expect_near(x.grad(), {0, 0});
}

TEST(ViewWrites, UnderAMaskAndAtIndices) {
  const Tensor mask = tensor({true, false, true});
  const Tensor at = tensor({2, 0});
  check(
      [&](const Tensor& x) {
        Tensor a = x * x;
        a.index_put_({mask}, 0);
        return a * a;
      },
      {leaf({3})});
  check(
      [&](const Tensor& x, const Tensor& y) {
        Tensor a = x * x;
        a.index_put_({mask}, y * y);
        a[1].index_put_({at}, y[0].slice(0, 0, 2) * 3);
        return a * a;
      },
      {leaf({3, 3}), leaf({2, 3}, 2)});
  check(
      [&](const Tensor& x, const Tensor& y) {
        Tensor a = x * 1;
        Tensor v = a.t();  // made before the writes
        a.index_put_({at}, {y}, /*accumulate=*/true);
        v.masked_fill_(mask.unsqueeze(1), 0.5);
        return std::pair{a * a, v.index({indexing::Slice(), at}) * 2};
      },
      {leaf({3, 3}), leaf({2, 3}, 2)});
}

TEST(ViewWrites, ThroughALongChainOfViews) {
  Tensor x = leaf({2});
  Tensor a = x * 1;
  Tensor v = a;
  for (int i = 0; i < 20000; ++i) v = v.view({2});
  v.mul_(3);
  (a * 1).backward(ones_like(a));
  expect_near(x.grad(), {3, 3});
}

TEST(ViewWrites, ManyWritesThroughManyViews) {
  check(
      [](const Tensor& x) {
        Tensor a = x * 1;
        for (int64_t i = 1; i < 4; ++i)
          a[i].add_(a[i - 1].clone() * a[i].clone());  // a recurrence, row by row
        return a;
      },
      {leaf({4, 2})});
}

TEST(ViewWrites, ABroadcastTensorCannotBeWritten) {
  Tensor x = leaf({1, 2});
  expect_error(
      [&] {
        (x * 1).expand({3, 2}).add_(1);
      },
      {"add_", "single memory location", "clone()"});
}

TEST(ViewWrites, KeepTheBaseAndItsFlags) {
  Tensor base = zeros({2, 2}, kDouble);
  Tensor v = base[0];
  EXPECT_TRUE(v.is_view());
  EXPECT_TRUE(v._base().is_same(base));
  EXPECT_TRUE(v.view({2, 1})._base().is_same(base));
  EXPECT_FALSE(base.requires_grad());
  v.copy_(leaf({2}));
  EXPECT_TRUE(base.requires_grad());
  EXPECT_FALSE(base.is_leaf());
  EXPECT_TRUE(v.requires_grad());
  EXPECT_EQ(base.grad_fn()->name(), "ViewScatterBackward");
  expect_error([&] { v.detach_(); }, {"detach"});
}

TEST(ViewWrites, SavedValuesOfTheWrittenTensorAreKept) {
  check(
      [](const Tensor& x) {
        Tensor a = x * 1;
        a.mul_(a);  // needs its own old values
        a.div_(x + 3);
        a.mul_(x * x);
        return a;
      },
      {leaf({3})});
}

TEST(ViewWrites, WholeNumbersGetNoHistoryThroughAView) {
  const Tensor whole = zeros({2, 4}, kLong);
  whole[0].copy_(full({}, 3.0).requires_grad_());
  EXPECT_FALSE(whole.requires_grad());
  EXPECT_EQ(whole.sum().item<int64_t>(), 12);
}

}  // namespace
}  // namespace tandem
