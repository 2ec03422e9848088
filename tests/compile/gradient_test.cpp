#include <sstream>

#include "tandem/autograd/clear_grad.h"
#include "tandem/base/memory.h"
#include "tandem/compile/compile.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/sgd.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

Tensor random_leaf(ArrayRef<int64_t> sizes) { return randn(sizes).set_requires_grad(true); }

/// Two parameters, of which the loss depends on one only if `both` is false.
struct Net {
  Net() {
    manual_seed(3);
    w = random_leaf({4, 3});
    b = random_leaf({3});
  }
  Tensor loss(const Tensor& x, bool both = true) const {
    const Tensor y = x.mm(w);
    return (both ? y + b : y).tanh().pow(2).sum();
  }
  Tensor w, b;
};

TEST(CompiledGradients, ZeroGradBackwardStepIsOneGraph) {
  for (const bool set_to_none : {false, true}) {
    Net eager, compiled;
    optim::SGD eager_sgd({eager.w, eager.b}, optim::SGDOptions(0.1).momentum(0.9));
    optim::SGD sgd({compiled.w, compiled.b}, optim::SGDOptions(0.1).momentum(0.9));
    const auto step = [set_to_none](Net& net, optim::SGD& optimizer, const Tensor& x) {
      optimizer.zero_grad(set_to_none);
      const Tensor loss = net.loss(x);
      loss.backward();
      optimizer.step();
      return loss.detach();
    };
    const auto f = compile([&](const Tensor& x) { return step(compiled, sgd, x); });
    const Tensor x = randn({5, 4});
    Tensor held;
    for (int i = 0; i < 5; ++i) {
      expect_same(f(x), step(eager, eager_sgd, x));
      expect_same(compiled.w, eager.w);
      expect_same(compiled.w.grad(), eager.w.grad());
      expect_same(compiled.b.grad(), eager.b.grad());
      // The gradient stays the tensor that it was, as in eager.
      if (held.defined()) {
        EXPECT_EQ(held.is_same(compiled.w.grad()), !set_to_none);
      }
      held = compiled.w.grad();
    }
    EXPECT_EQ(f.graph_count(), 1u);
  }
}

TEST(CompiledGradients, AStepMayReadViewsOfWhatItWrites) {
  Net eager, compiled;
  optim::SGD eager_sgd({eager.w, eager.b}, optim::SGDOptions(0.05).momentum(0.9));
  optim::SGD sgd({compiled.w, compiled.b}, optim::SGDOptions(0.05).momentum(0.9));
  const auto step = [](Net& net, optim::SGD& optimizer, const Tensor& x) {
    optimizer.zero_grad();
    const Tensor t = net.w.t(), row = net.w[0], part = net.b.narrow(0, 1, 2);
    // Views of views, one that is read again by backward, and one after the step.
    const Tensor loss = t.mm(x.t()).tanh().pow(2).sum() + (row * row).sum() +
                        (t.narrow(0, 0, 2).exp() * part.unsqueeze(1)).sum();
    loss.backward();
    optimizer.step();
    return loss.detach() + net.w.t().detach().sum();
  };
  const auto f = compile([&](const Tensor& x) { return step(compiled, sgd, x); });
  const Tensor x = randn({5, 4});
  for (int i = 0; i < 4; ++i) {
    const Tensor got = f(x), expected = step(eager, eager_sgd, x);
    EXPECT_NEAR(got.item<double>(), expected.item<double>(),
                1e-4 * (1 + expected.abs().item<double>()));
    EXPECT_TRUE(compiled.w.allclose(eager.w, 1e-5, 1e-6));
    EXPECT_TRUE(compiled.b.allclose(eager.b, 1e-5, 1e-6));
  }
  EXPECT_EQ(f.graph_count(), 1u);
}

TEST(CompiledGradients, StepsWriteToTheGradientThatIsThere) {
  Net net, eager;
  const auto step = [](Net& n, const Tensor& x) {
    for (const Tensor* p : {&n.w, &n.b}) autograd::clear_grad(*p, false);
    n.loss(x).backward();
    return n.w.grad().sum();
  };
  const auto f = compile([&](const Tensor& x) { return step(net, x); });
  const Tensor x = randn({5, 4});
  const auto expect_equal = [&] {
    expect_same(f(x), step(eager, x));
    expect_same(net.w.grad(), eager.w.grad());
    expect_same(net.b.grad(), eager.b.grad());
  };
  expect_equal();
  // Another tensor, none, and a part of a larger one.
  net.w.mutable_grad() = ones({4, 3});
  expect_equal();
  net.w.mutable_grad().reset();
  expect_equal();
  const Tensor flat = full({15}, 7.0);
  net.w.mutable_grad() = flat.narrow(0, 0, 12).view({4, 3});
  net.b.mutable_grad() = flat.narrow(0, 12, 3);
  expect_equal();
  expect_same(flat.narrow(0, 0, 12), eager.w.grad().reshape({12}));
  expect_same(flat.narrow(0, 12, 3), eager.b.grad());
  // Its memory is an argument as well: read before it is overwritten.
  Net again;
  const auto g = compile([&](const Tensor& x, const Tensor& old) {
    for (const Tensor* p : {&again.w, &again.b}) autograd::clear_grad(*p, false);
    again.loss(x).backward();
    return old + 0;
  });
  g(x, ones({3}));
  const Tensor old = again.b.grad(), copy = old.clone() + 1;
  old.add_(1);
  expect_same(g(x, old), copy);
  EXPECT_EQ(f.graph_count(), 1u);
  EXPECT_EQ(g.graph_count(), 1u);
}

TEST(CompiledGradients, GradientsThatAreLookedAtAreZero) {
  // The loss does not reach b: its gradient is none at first, then what somebody left there,
  // zeroed.
  Net net, eager;
  const auto step = [](Net& n, const Tensor& x) {
    for (const Tensor* p : {&n.w, &n.b}) autograd::clear_grad(*p, false);
    n.loss(x, /*both=*/false).backward();
    Tensor total = n.w.grad().sum();
    if (n.b.grad().defined()) total = total + n.b.grad().sum() + 1;
    return total;
  };
  const auto f = compile([&](const Tensor& x) { return step(net, x); });
  const Tensor x = randn({5, 4});
  for (int i = 0; i < 4; ++i) {
    if (i == 2)
      for (Net* n : {&net, &eager}) n->b.mutable_grad() = full({3}, 2.0);
    expect_same(f(x), step(eager, x));
    EXPECT_EQ(net.b.grad().defined(), eager.b.grad().defined());
    if (eager.b.grad().defined()) expect_same(net.b.grad(), zeros({3}));
  }
  EXPECT_EQ(f.graph_count(), 2u);

  // The same without anybody who looks.
  Net quiet;
  const auto h = compile([&](const Tensor& x) {
    autograd::clear_grad(quiet.b, false);
    return quiet.loss(x, false);
  });
  quiet.b.mutable_grad() = ones({3});
  h(x);
  expect_same(quiet.b.grad(), zeros({3}));

  // Somebody holds the gradient and reads it between the two.
  Net other;
  other.b.mutable_grad() = ones({3});
  const Tensor held = other.b.grad();
  const auto g = compile([&](const Tensor& x) {
    autograd::clear_grad(other.b, false);
    const Tensor seen = held + 1;
    other.loss(x).backward();
    return seen;
  });
  expect_same(g(x), ones({3}));
  expect_same(g(x), ones({3}));
}

TEST(CompiledGradients, SumsOfSeveralBackwardsAndDoubleClears) {
  Net net, eager;
  const auto step = [](Net& n, const Tensor& x) {
    for (const Tensor* p : {&n.w, &n.b}) autograd::clear_grad(*p, false);
    for (const Tensor* p : {&n.w, &n.b}) autograd::clear_grad(*p, false);
    n.loss(x).backward();
    n.loss(x * 2).backward();
    const Tensor sum = n.w.grad().clone();
    autograd::clear_grad(n.b, true);
    return sum;
  };
  const auto f = compile([&](const Tensor& x) { return step(net, x); }, {.verify = true});
  const Tensor x = randn({5, 4});
  for (int i = 0; i < 3; ++i) {
    expect_close(f(x), step(eager, x), 1e-6);
    expect_close(net.w.grad(), eager.w.grad(), 1e-6);
    EXPECT_FALSE(net.b.grad().defined());
  }
  EXPECT_EQ(f.graph_count(), 1u);
}

TEST(CompiledGradients, LeavesThatAreArguments) {
  const auto f = compile([](const Tensor& w) {
    autograd::clear_grad(w, false);
    (w * w).sum().backward();
    return w.grad().sum();
  });
  for (int i = 0; i < 3; ++i) {
    const Tensor w = random_leaf({4});
    if (i == 2) w.mutable_grad() = ones({4});
    expect_close(f(w), 2 * w.detach().sum(), 1e-6);
    expect_same(w.grad(), 2 * w.detach());
  }
  EXPECT_EQ(f.graph_count(), 1u);
}

TEST(CompiledGradients, GradientsThatAreViewsOfOneValue) {
  // Both parameters get the same ones, expanded, and neither tensor may see the other's writes.
  const Tensor a = random_leaf({3, 2}), b = random_leaf({3, 2});
  const auto f = compile([&] {
    autograd::clear_grad(a, false);
    autograd::clear_grad(b, false);
    (a + b).sum().backward();
  });
  for (int i = 0; i < 3; ++i) {
    f();
    expect_same(a.grad(), ones({3, 2}));
    expect_same(b.grad(), ones({3, 2}));
    a.mutable_grad().mul_(3);
    expect_same(b.grad(), ones({3, 2}));
  }
  EXPECT_EQ(f.graph_count(), 1u);
}

TEST(CompiledGradients, AThrowInTheFunctionLeavesGradientsAsTheyWere) {
  Net net;
  net.w.mutable_grad() = ones({4, 3});
  const Tensor before = net.w.grad();
  const auto f = compile([&](const Tensor& x) {
    autograd::clear_grad(net.w, false);
    net.loss(x).backward();
    TANDEM_CHECK(false, "enough");
    return x;
  });
  EXPECT_THROW_WITH(f(randn({5, 4})), "enough");
  EXPECT_TRUE(net.w.grad().is_same(before));
  expect_same(net.w.grad(), ones({4, 3}));
  EXPECT_FALSE(net.b.grad().defined());
}

TEST(CompiledGradients, SteadyStepsTakeNoMemoryForGradients) {
  const Tensor w = random_leaf({64, 64});
  const auto step = compile([&](const Tensor& x) {
    autograd::clear_grad(w, false);
    const Tensor loss = x.mm(w).pow(2).sum();
    loss.backward();
    return loss.detach();
  });
  const Tensor x = randn({8, 64});
  for (int i = 0; i < 3; ++i) step(x);
  jit::wait_idle();
  step(x);
  const auto before = memory::stats();
  for (int i = 0; i < 10; ++i) step(x);
  const auto after = memory::stats();
  // The loss is all that a call leaves.
  EXPECT_EQ(after.allocations - before.allocations, 10);
}

}  // namespace
}  // namespace tandem
