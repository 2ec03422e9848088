// What the record holds, and for how long.
#include "tandem/base/memory.h"

#include <chrono>

#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"
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

struct Square : autograd::Function<Square> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx,
                                          autograd::variable_list grads) {
    return {grads[0] * 2 * ctx->get_saved_variables()[0]};
  }
};

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

// What was saved is later written by something computed from what saved it.
TEST(Memory, WritingWhatWasSavedMakesNoCycle) {
  Tensor w = leaf({4});
  auto forms = std::vector<std::function<void()>>{
      [&] {
        Tensor h = zeros({4}, kDouble);  // no history before
        h.add_(h * w);
      },
      [&] {
        Tensor h = w * 2;
        h.add_(h * w);
      },
      [&] {
        Tensor h = zeros({2, 4}, kDouble), row = h[0];
        h.add_(row * w);
      },
      [&] {
        Tensor h = zeros({2, 4}, kDouble);
        h[0].copy_(h[1] * w);
        h[1].copy_(h[0] * w);
      },
      [&] {
        Tensor h = w.exp();
        h.mul_(h * w);
      },
      [&] {
        Tensor h = w * 2;
        h.add_(Square::apply(h) * w);
      },
      [&] {
        Tensor h = w * 2;
        h.add_(checkpoint([&](const Tensor& x) { return x * w; }, {h}));
      },
  };
  default_generator();  // checkpoint asks for its state, and it is made once
  const auto before = memory::stats();
  for (size_t i = 0; i < forms.size(); ++i) {
    forms[i]();
    EXPECT_EQ(memory::stats().objects, before.objects) << "form " << i;
  }
}

// Saved values are kept apart from their history; a gradient of the gradient finds it again.
TEST(Memory, SavedValuesFindTheirHistoryAgain) {
  Tensor x = test::values({2}, {2, 3}).requires_grad_();
  Tensor row = ones({2, 2}, kDouble).select(0, 1).requires_grad_();  // a leaf that is a view
  Tensor h = x * x;
  Tensor y = h.view({2, 1}) * h.t().reshape({2, 1}) * row.view({2, 1});
  const Tensor gx = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
  expect_near(gx, {32, 108});
  const auto second = autograd::grad({gx.sum()}, {x, row});
  expect_near(second[0], {48, 108});
  expect_near(second[1], {32, 108});
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
