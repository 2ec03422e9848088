// What the record holds, and for how long.
#include <chrono>

#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_near;
using test::leaf;

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Memory, OnlyWhatAGradientNeedsIsKept) {
  const int64_t n = 1 << 14, bytes = n * 4;
  Tensor x = ones({n}, kFloat).requires_grad_(), c = ones({n}, kFloat);
  auto held = [&](auto make) {
    const int64_t before = memory::stats().current;
    Tensor y = make();
    return (memory::stats().current - before) / bytes;
  };
  EXPECT_EQ(held([&] { return x + c + c + c; }), 1);      // only the result
  EXPECT_EQ(held([&] { return x * c * c * c; }), 1);      // c is saved, but it is there anyway
  EXPECT_EQ(held([&] { return (x + c) * (x - c); }), 3);  // both factors and the result
  EXPECT_EQ(held([&] { return (x + c) * (c - c); }), 2);  // the left factor is not needed
  EXPECT_EQ(held([&] { return (x + c).detach() * c; }), 1);
  NoGradGuard no_grad;
  EXPECT_EQ(held([&] { return (x + c) * (x - c); }), 1);
}

TEST(Memory, SavedTensorsGoAsBackwardPasses) {
  const int64_t n = 1 << 14, bytes = n * 4;
  Tensor x = ones({n}, kFloat).requires_grad_();
  Tensor h = x;
  std::vector<int64_t> held;  // seen by hooks on the way back
  const int64_t before = memory::stats().current;
  for (int i = 0; i < 8; ++i) {
    h = h * h;
    h.register_hook(
        [&](const Tensor&) { held.push_back((memory::stats().current - before) / bytes); });
  }
  Tensor gradient = ones_like(h);
  h.backward(gradient);
  ASSERT_EQ(held.size(), 8u);
  for (size_t i = 2; i < held.size(); ++i) EXPECT_EQ(held[i], held[i - 1] - 1) << i;
  EXPECT_EQ((memory::stats().current - before) / bytes, 3);  // h, gradient, x.grad
}

TEST(Memory, AMillionOps) {
  const auto before = memory::stats();
  auto chain = [](int n) {
    Tensor x = ones({1}, kDouble).requires_grad_();
    Tensor h = x;
    for (int i = 0; i < n; ++i) h = h + x;
    h.backward();
    EXPECT_EQ(x.grad().item<double>(), n + 1.0);
  };
  chain(1000);
  const double small = seconds([&] { chain(100000); });
  const double large = seconds([&] { chain(1000000); });
  EXPECT_LT(large, 40 * small + 1);  // ten times the work; the machine may be busy
  EXPECT_EQ(memory::stats().objects, before.objects);
  EXPECT_EQ(memory::stats().current, before.current);
}

TEST(Memory, AMillionOpsThatSave) {
  const auto before = memory::stats();
  {
    Tensor x = ones({1}, kDouble).requires_grad_();
    Tensor h = x;
    for (int i = 0; i < 1000000; ++i) h = h * x;  // every node keeps the value before
    Tensor never_differentiated = h;
  }
  EXPECT_EQ(memory::stats().objects, before.objects);
  {
    Tensor x = ones({1}, kDouble).requires_grad_();
    Tensor h = x;
    for (int i = 0; i < 300000; ++i) h = h * x;
    h.backward();
    EXPECT_EQ(x.grad().item<double>(), 300001.0);
  }
  EXPECT_EQ(memory::stats().objects, before.objects);
}

TEST(Memory, AMillionWritesInPlace) {
  const auto before = memory::stats();
  {
    Tensor x = ones({1}, kDouble).requires_grad_();
    Tensor h = x * 1;
    for (int i = 0; i < 300000; ++i) h.add_(x);
    h.backward();
    EXPECT_EQ(x.grad().item<double>(), 300001.0);
  }
  EXPECT_EQ(memory::stats().objects, before.objects);
}

TEST(Memory, TheCycleOfCreateGraphEndsWithGrad) {
  const auto before = memory::stats();
  {
    Tensor x = leaf({4});
    Tensor h = x * x;
    h.retain_grad();
    Tensor y = h * h;
    y.backward(ones_like(y), std::nullopt, /*create_graph=*/true);
    EXPECT_TRUE(x.grad().requires_grad());
    EXPECT_TRUE(h.grad().requires_grad());
    x.mutable_grad().reset();
    h.mutable_grad().reset();
  }
  EXPECT_EQ(memory::stats().objects, before.objects);
}

TEST(Memory, ErrorsLeaveNothingBehind) {
  Tensor x = leaf({4});
  const auto before = memory::stats();
  for (int i = 0; i < 3; ++i) {
    Tensor a = x * 1;
    Tensor y = a * a * x;
    a.add_(1);
    EXPECT_THROW(y.backward(ones_like(y)), Error);
  }
  x.mutable_grad().reset();
  EXPECT_EQ(memory::stats().objects, before.objects);
  EXPECT_EQ(memory::stats().current, before.current);
}

TEST(Memory, AHundredThousandTrainingSteps) {
  // y = w x + b fitted to y = 2 x + 1, with a custom function, a view write and a hook in the loop.
  Tensor w = test::values({1}, {0}).requires_grad_(), b = test::values({1}, {0}).requires_grad_();
  const Tensor x = test::values({4}, {-1, 0, 1, 2}), y = test::values({4}, {-1, 1, 3, 5});
  auto step = [&](int i) {
    Tensor prediction = x * w + b;
    Tensor error = prediction - y;
    Tensor loss = error * error;
    if (i % 2 == 0) loss[0].mul_(1);
    loss.backward(ones_like(loss));
    NoGradGuard no_grad;
    for (Tensor* p : {&w, &b}) {
      p->sub_(p->grad() * 0.02);
      p->grad().zero_();
    }
  };
  for (int i = 0; i < 10; ++i) step(i);
  const auto before = memory::stats();
  for (int i = 0; i < 100000; ++i) step(i);
  const auto after = memory::stats();
  EXPECT_EQ(after.current, before.current);
  EXPECT_EQ(after.objects, before.objects);
  expect_near(w, {2}, 1e-6);
  expect_near(b, {1}, 1e-6);
}

}  // namespace
}  // namespace tandem
