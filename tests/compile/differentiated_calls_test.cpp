// Calls of compiled functions that are differentiated from outside, as eager calls would be.
#include "tandem/autograd/autograd.h"
#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/trace.h"
#include "tandem/compile/transforms.h"
#include "tandem/nn/nn.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

Tensor leaf(std::initializer_list<float> values) {
  return tensor(std::vector<float>(values)).requires_grad_();
}

struct TimesFive : autograd::Function<TimesFive> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x.round(); }
  static variable_list backward(autograd::AutogradContext*, variable_list g) { return {g[0] * 5}; }
};

/// First and second derivatives of fn at x, eager and compiled.
template <class F>
void expect_same_derivatives(const F& fn, const Tensor& at) {
  const auto compiled = compile(fn);
  const auto derivatives = [&](const auto& f, bool again) {
    const Tensor x = at.detach().clone().requires_grad_();
    const Tensor first = autograd::grad({f(x).sum()}, {x}, {}, again, again)[0];
    if (!again || !first.requires_grad()) return std::pair{first, zeros_like(first)};
    const Tensor second = autograd::grad({first.sum()}, {x}, {}, false, false, true)[0];
    return std::pair{first, second.defined() ? second : zeros_like(first)};
  };
  for (const bool again : {false, true}) {
    const auto [first, second] = derivatives(compiled, again);
    const auto [first_eager, second_eager] = derivatives(fn, again);
    expect_close(first, first_eager, 1e-6);
    expect_close(second, second_eager, 1e-6);
  }
}

TEST(DifferentiatedCalls, WhatIsDetachedStaysDetached) {
  const Tensor x = tensor({2.0f, 3.0f});
  expect_same_derivatives([](const Tensor& t) { return t.detach() * t; }, x);
  expect_same_derivatives([](const Tensor& t) { return t.detach() * t * t; }, x);
  expect_same_derivatives([](const Tensor& t) { return t + (t.round() - t).detach(); }, x * 1.3);
  expect_same_derivatives(
      [](const Tensor& t) {
        Tensor k;
        {
          const NoGradGuard no_grad;
          k = t * t;
        }
        return k * t.exp();
      },
      x);
  const auto f = compile([](const Tensor& t) { return t.detach() * t; });
  expect_same(jacobian(f, x), diag(x));
  expect_same(jvp(f, {x}, {ones({2})}).second, x);
  const auto g = compile([](const Tensor& t) { return (t.detach() * t).sum(); });
  expect_same(hvp(g, x, ones({2})), zeros({2}));
}

TEST(DifferentiatedCalls, WhatIsDetachedInChoicesAndLoops) {
  const Tensor x = tensor({2.0f, 3.0f});
  const auto chosen = [](const Tensor& t) {
    return cond(
        t.sum() > 0, [&] { return t.detach() * t; }, [&] { return t; });
  };
  expect_same_derivatives(chosen, x);
  const auto without = [](const Tensor& t) {
    return cond(
        t.sum() > 0,
        [&] {
          const NoGradGuard no_grad;
          const Tensor most = t.abs().max();
          const AutoGradMode with_grad(true);
          return t / most;
        },
        [&] { return t; });
  };
  expect_same_derivatives(without, x);
  // Truncated: nothing flows from one round to the one before.
  const auto rounds = [](const Tensor& xs) {
    return scan(
               [](const Tensor& c, const Tensor& v) {
                 const Tensor n = c.detach() * v;
                 return std::pair{n, n};
               },
               ones({2}), xs)
        .first.sum();
  };
  expect_same_derivatives(rounds, full({3, 2}, 2.0));
  const auto looped = [](const Tensor& t) {
    return while_loop([](auto& s) { return s[1] < 3; },
                      [&](auto& s) {
                        return std::vector<Tensor>{s[0].detach() * t, s[1] + 1};
                      },
                      {t, zeros({})})[0]
        .sum();
  };
  expect_same_derivatives(looped, x);
  // A carry that begins without a gradient gets one.
  const auto sums = [](const Tensor& xs) {
    return scan(
               [](const Tensor& c, const Tensor& v) {
                 const Tensor n = c * 0.5 + v * v;
                 return std::pair{n, n};
               },
               zeros({2}), xs)
        .second.pow(2)
        .sum();
  };
  expect_same_derivatives(sums, randn({3, 2}));
}

TEST(DifferentiatedCalls, TracedFunctionsKeepWhatIsDetached) {
  const Tensor x = leaf({2, 3});
  const Graph g = trace([](const Tensor& t) { return t.detach() * t; }, {x});
  expect_same(autograd::grad({g.run({x})[0].sum()}, {x})[0], x);
  const Graph parsed = Graph::parse(g.str());
  expect_same(autograd::grad({parsed.run({x})[0].sum()}, {x})[0], x);
}

// Also what is traced with inputs that need no gradient may be differentiated.
TEST(DifferentiatedCalls, TracedFunctionsDetachForAnyInputs) {
  const Tensor w = randn({2, 3});
  const auto fn = [&](const Tensor& t, const Tensor& u) {
    const Tensor a = t * w, kept = a.detach(), turned = (a + u).data().t();
    return std::vector<Tensor>{kept * t, turned.exp().t() * u, a.detach(), (a * u).relu()};
  };
  const Tensor x = randn({2, 3}, requires_grad()), y = randn({2, 3}, requires_grad());
  const Graph plain = trace(fn, {x.detach(), y.detach()}), one = trace(fn, {x, y.detach()});
  for (const Graph* g : {&plain, &one}) {
    const auto got = g->run({x, y}), expected = fn(x, y);
    for (size_t i = 0; i < expected.size(); ++i) {
      SCOPED_TRACE(i);
      expect_same(got[i], expected[i]);
      ASSERT_EQ(got[i].requires_grad(), expected[i].requires_grad());
      if (!expected[i].requires_grad()) continue;
      const auto of = [&](const Tensor& t) {
        return autograd::grad({t.sum()}, {x, y}, {}, {}, false, true);
      };
      const auto a = of(got[i]), b = of(expected[i]);
      for (size_t k = 0; k < 2; ++k) {
        ASSERT_EQ(a[k].defined(), b[k].defined());
        if (a[k].defined()) expect_same(a[k], b[k]);
      }
    }
  }
}

/// The length of a critic's gradient by its input, as a penalty, and the penalty's gradients.
template <class F>
std::vector<Tensor> penalty(const F& critic, const Tensor& at, const nn::Sequential& net) {
  const Tensor x = at.clone().requires_grad_();
  const Tensor g = autograd::grad({critic(x).sum()}, {x}, {}, true, /*create_graph=*/true)[0];
  const Tensor p = (g.norm() - 1).pow(2);
  std::vector<Tensor> all{p};
  for (const Tensor& t : autograd::grad({p}, net->parameters(), {}, false, false, true))
    all.push_back(t.defined() ? t : Tensor(zeros({})));
  for (const Tensor& t : net->buffers()) all.push_back(t.clone());
  return all;
}

TEST(DifferentiatedCalls, SecondDerivativesOfWhatMovesStateOn) {
  const auto compare = [](const auto& make) {
    manual_seed(5);
    nn::Sequential eager = make();
    manual_seed(5);
    nn::Sequential other = make();
    const auto critic = compile([&](const Tensor& x) { return other->forward(x); });
    const Tensor x = randn({6, 4});
    for (int step = 0; step < 3; ++step) {
      manual_seed(11 + step);
      const auto expected =
          penalty([&](const Tensor& t) { return eager->forward(t); }, x + step, eager);
      const Tensor state = get_default_generator_state();
      manual_seed(11 + step);
      const auto got = penalty(critic, x + step, other);
      ASSERT_EQ(got.size(), expected.size());
      for (size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], 1e-5);
      // No numbers were drawn twice.
      expect_same(get_default_generator_state(), state);
    }
    EXPECT_EQ(critic.graph_count(), 1u);
  };
  compare([] {
    return nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::Tanh(), nn::Linear(8, 1));
  });
  compare([] {
    return nn::Sequential(nn::Linear(4, 8), nn::Tanh(), nn::Dropout(0.4), nn::Linear(8, 8),
                          nn::BatchNorm1d(8), nn::Sigmoid(), nn::Dropout(0.3), nn::Linear(8, 1));
  });
  // What the results depend on is gone.
  Tensor scale = ones({32});
  const auto f = compile([&](const Tensor& x) {
    const Tensor y = x * x * scale;
    scale.mul_(0.9);
    return y;
  });
  const Tensor x = randn({32}, requires_grad());
  EXPECT_THROW_WITH(autograd::grad({f(x).sum()}, {x}, {}, true, /*create_graph=*/true),
                    "before the function wrote to it");
  expect_same(scale, full({32}, 0.9f));
}

TEST(DifferentiatedCalls, CheckpointsAndWritesOfGradients) {
  Tensor w = ones({3}).requires_grad_();
  const auto f = compile([&](const Tensor& x) {
    return checkpoint([&](const Tensor& a) { return (a * w).tanh(); }, {x}) * 2;
  });
  const Tensor x = ones({3});
  f(x).sum().backward();
  const Tensor got = w.grad().clone();
  w.mutable_grad().reset();
  ((x * w).tanh() * 2).sum().backward();
  expect_close(got, w.grad(), 1e-6);
  // A hook that writes does so when the gradient is found, not before; a compiled call refuses to
  // find one after the call.
  Tensor seen = zeros({3});
  const auto h = compile([&](const Tensor& t) {
    const Tensor y = t * w;
    y.register_hook([&](const Tensor& g) {
      seen.copy_(g);
      return g;
    });
    return y * 2;
  });
  const Tensor y = h(x);
  expect_same(seen, zeros({3}));
  EXPECT_THROW_WITH(y.sum().backward(), "Take that gradient inside the function");
  expect_same(seen, zeros({3}));
}

TEST(DifferentiatedCalls, FunctionsAndHooksOfTheUsers) {
  const auto five = compile([](const Tensor& x) { return TimesFive::apply(x); });
  Tensor x = leaf({1.25f});
  five(x).sum().backward();
  expect_same(x.grad(), tensor({5.0f}));
  EXPECT_THROW_WITH(autograd::grad({five(x).sum()}, {x}, {}, true, true), "custom Function");
  Tensor w = leaf({1});
  w.register_hook([](const Tensor& g) { return g * 3; });
  const auto times = compile([&](const Tensor& t) { return t * w; });
  times(ones({1})).backward();
  expect_same(w.grad(), tensor({3.0f}));  // the hook ran once
}

TEST(DifferentiatedCalls, HooksThatAreAddedLaterAreCalled) {
  Tensor v = leaf({1});
  const auto step = compile([&](const Tensor& x) { (x * v).backward(); });
  for (int i = 0; i < 2; ++i) {
    step(ones({1}));
    expect_same(v.grad(), tensor({1.0f}));
    v.mutable_grad().reset();
  }
  const unsigned hook = v.register_hook([](const Tensor& g) { return g * 3; });
  step(ones({1}));
  expect_same(v.grad(), tensor({3.0f}));
  v.mutable_grad().reset();
  v.remove_hook(hook);
  step(ones({1}));
  expect_same(v.grad(), tensor({1.0f}));
}

TEST(DifferentiatedCalls, ResultsThatAreInputs) {
  Tensor w = leaf({1, 2});
  const auto same = compile([](const Tensor& x) { return x; });
  EXPECT_TRUE(same(w).is_same(w));
  (same(w) * 2).sum().backward();
  expect_same(w.grad(), full({2}, 2.0));
  (w * 2).sum().backward();  // a leaf as before
  expect_same(w.grad(), full({2}, 4.0));
  const auto cut = compile([](const Tensor& x) { return x.detach(); });
  EXPECT_FALSE(cut(w).requires_grad());
  EXPECT_EQ(cut(w).data_ptr(), w.data_ptr());
  w.mutable_grad().reset();
  const auto several = compile([&](const Tensor& x) {
    return std::tuple{w, w * x, w.view({2, 1})};
  });
  const auto [itself, product, view] = several(tensor({3.0f, 4.0f}));
  EXPECT_TRUE(itself.is_same(w));
  (itself.sum() + product.sum() + view.sum()).backward();
  expect_same(w.grad(), tensor({5.0f, 6.0f}));
  Tensor count = zeros({1});
  const auto next = compile([&] { return count.add_(1); });
  const Tensor first = next();
  next();
  EXPECT_TRUE(first.is_same(count));
  expect_same(count, tensor({2.0f}));
}

TEST(DifferentiatedCalls, OneLeafInTwoPlaces) {
  const auto f = compile([](const Tensor& a, const Tensor& b) { return a * b * 3; });
  Tensor u = leaf({1}), v = leaf({2});
  f(u, v).sum().backward();
  expect_same(u.grad(), tensor({6.0f}));
  Tensor w = leaf({1});
  f(w, w).sum().backward();
  expect_same(w.grad(), tensor({6.0f}));
  const auto g = compile([&](const Tensor& a) { return a * w * 3; });
  g(w).sum().backward();
  expect_same(w.grad(), tensor({12.0f}));
  u.mutable_grad().reset();
  g(u).sum().backward();
  expect_same(u.grad(), tensor({3.0f}));
  const auto inside =
      compile([](const Tensor& a, const Tensor& b) { (a * b * 3).sum().backward(); });
  for (int i = 0; i < 2; ++i) {
    u.mutable_grad().reset();
    v.mutable_grad().reset();
    inside(u, v);
  }
  expect_same(v.grad(), tensor({3.0f}));
  u.mutable_grad().reset();
  inside(u, u);
  expect_same(u.grad(), tensor({6.0f}));
}

TEST(DifferentiatedCalls, ParametersThatAreWrittenByTheirViewsInTheCall) {
  const auto fn = [](const Tensor& w) {
    return [w](const Tensor& x) {
      {
        const NoGradGuard no_grad;
        w.mul_(w.t() * 0.5 + 1);
      }
      return (x * w).sum();
    };
  };
  Tensor a = leaf({1, 2, 3, 4}).detach().view({2, 2}).requires_grad_();
  Tensor b = a.detach().clone().requires_grad_();
  const auto eager = fn(a);
  const auto compiled = compile(fn(b));
  for (int i = 0; i < 2; ++i) {
    const Tensor x = randn({2, 2});
    eager(x).backward();
    compiled(x).backward();
    expect_close(b.grad(), a.grad(), 1e-6);
    expect_close(b, a, 1e-6);
  }
}

TEST(DifferentiatedCalls, ViewsOfTensorsFromOutside) {
  const Tensor w = randn({3, 4}).requires_grad_(), x = randn({2, 4}).requires_grad_();
  const auto second = [&](const auto& fn) {
    const Tensor first = autograd::grad({fn(x).sum()}, {x}, {}, true, true)[0];
    return autograd::grad({first.sum()}, {w})[0];
  };
  const auto check = [&](const auto& fn) { expect_close(second(compile(fn)), second(fn), 1e-5); };
  check([&](const Tensor& a) { return a.mm(w.t()).tanh(); });
  check([&](const Tensor& a) { return a.mm(w.view({4, 3})).tanh(); });
  check([&](const Tensor& a) { return (a * w[1]).exp() * w.narrow(0, 0, 2).t().t(); });
  // Written in the call through a view, with other memory between two calls.
  const Tensor v = ones({2, 2}).requires_grad_();
  const auto write = compile([&](const Tensor& a) {
    const NoGradGuard no_grad;
    return v.view({-1}).mul_(3) * a;
  });
  write(ones({1}));
  v.set_data(ones({2, 2}));
  write(ones({1}));
  expect_same(write(ones({1})), full({4}, 9.0));
}

TEST(DifferentiatedCalls, CheckpointsWithRandomNumbers) {
  const Tensor w = ones({50}).requires_grad_();
  const auto fn = [&](const Tensor& x) {
    return checkpoint([&](const Tensor& a) { return dropout(a * w, 0.5, true).tanh(); }, {x});
  };
  const auto f = compile(fn);
  const auto gradient = [&](const auto& g) {
    manual_seed(3);
    const Tensor y = g(ones({50}));
    rand({1});
    return autograd::grad({y.sum()}, {w})[0];
  };
  expect_close(gradient(f), gradient(fn), 1e-6);
}

TEST(DifferentiatedCalls, EmptyLeaves) {
  const Tensor x = zeros({0, 5}).requires_grad_();
  const auto f = compile([](const Tensor& t) { return t.sum(); });
  for (int i = 0; i < 2; ++i) f(x).backward();
  EXPECT_EQ(x.grad().sizes(), x.sizes());
}

TEST(DifferentiatedCalls, GradientsThatAreAlwaysZero) {
  const auto fn = [](const Tensor& x) {
    return std::tuple{x.sqrt().floor(), x * 2, (x.sqrt().floor() + x).exp()};
  };
  const auto f = compile(fn);
  const auto grads = [](const auto& g, int which) {
    const Tensor x = leaf({-1, 4, 0});
    const auto [a, b, c] = g(x);
    const Tensor y = which == 0 ? a : which == 1 ? b : b + c.nan_to_num();
    y.sum().backward();
    return x.grad();
  };
  for (int which = 0; which < 3; ++which) {
    const Tensor got = grads(f, which), wanted = grads(fn, which);
    EXPECT_TRUE(got.defined());
    EXPECT_TRUE(allclose(got, wanted, 1e-6, 1e-6, /*equal_nan=*/true)) << got << wanted;
  }
}

TEST(DifferentiatedCalls, OneOfTwoViewsOfOneValue) {
  const auto f = compile([](const Tensor& t) {
    const Tensor h = t.exp().view({6, 5});
    return std::tuple{h.t(), h};
  });
  const Tensor x = randn({30}).requires_grad_();
  for (int i = 0; i < 2; ++i) {
    x.mutable_grad().reset();
    (std::get<0>(f(x)) * 2).sum().backward();
    expect_close(x.grad(), x.exp() * 2, 1e-6);
  }
}

TEST(DifferentiatedCalls, ResultsThatNobodyUses) {
  Tensor a = leaf({1}), b = leaf({1});
  const auto two = compile([&] { return std::pair{a * 2, b * 3}; });
  two().first.sum().backward();
  EXPECT_TRUE(a.grad().defined());
  EXPECT_FALSE(b.grad().defined());
  EXPECT_THROW_WITH(autograd::grad({two().first}, {b}), "not have been used");
}

TEST(DifferentiatedCalls, ResultsThatNobodyUsesDoNotSpoilTheOthers) {
  // The derivative of the square root at zero is infinite, and zero times infinity no number.
  const auto fn = [](const Tensor& x) {
    const Tensor y = x * x;
    return std::tuple{y.sqrt(), y.exp(), (y * 2).unbind()[1], y.sum()};
  };
  const auto f = compile(fn);
  const auto grads = [](const auto& g, std::vector<bool> use) {
    Tensor x = leaf({0, 2});
    const auto [a, b, c, d] = g(x);
    Tensor sum = zeros({});
    if (use[0]) sum = sum + a.sum();
    if (use[1]) sum = sum + b.sum();
    if (use[2]) sum = sum + c;
    if (use[3]) sum = sum + d;
    sum.backward();
    return x.grad();
  };
  for (int bits = 2; bits < 16; bits += 2) {
    const std::vector<bool> use{false, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
    const Tensor eager = grads(fn, use);
    EXPECT_FALSE(eager.isnan().any().item<bool>());
    expect_close(grads(f, use), eager, 1e-6);
  }
  EXPECT_TRUE(grads(f, {true, true, true, true}).isnan().any().item<bool>());
  EXPECT_EQ(f.graph_count(), 1);
}

}  // namespace
}  // namespace tandem
