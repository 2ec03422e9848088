#include "tandem/compile/vmap.h"

#include <gtest/gtest.h>

#include "tandem/autograd/checkpoint.h"
#include "tandem/autograd/function.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/transforms.h"
#include "tests/autograd/helpers.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

using test::error_of;
using test::expect_near;
using test::leaf;

Tensor row_norm(const Tensor& x) { return (x * x).sum().sqrt(); }

TEST(Vmap, RunsAFunctionOfOneSampleOnAll) {
  const Tensor x = leaf({4, 3}).detach();
  const Tensor y = vmap(row_norm)(x);
  EXPECT_EQ(y.sizes(), IntArrayRef({4}));
  for (int64_t i = 0; i < 4; ++i) expect_near(y[i], row_norm(x[i]));
}

TEST(Vmap, TakesAndGivesSamplesAlongAnyDimension) {
  const Tensor x = leaf({3, 5}).detach(), w = leaf({3, 2}, 2).detach();
  const auto f = [](const Tensor& v, const Tensor& m) { return v.matmul(m); };
  const Tensor y = vmap(f, {1, none}, 1)(x, w);
  expect_near(y, w.t().matmul(x));
  expect_near(vmap(f, {-1, none}, -1)(x, w), y);
}

TEST(Vmap, GivesWhatTheFunctionGives) {
  const Tensor x = leaf({4, 3}).detach();
  const auto [a, b] = vmap([](const Tensor& v) { return std::tuple{v.sum(), v.cumsum(0)}; })(x);
  expect_near(a, x.sum(1));
  expect_near(b, x.cumsum(1));
  const std::vector<Tensor> list = vmap([](const std::vector<Tensor>& v) {
    return std::vector<Tensor>{v[0] + v[1], v[0] * v[1]};
  })({x, x});
  expect_near(list[0], x + x);
  expect_near(list[1], x * x);
}

TEST(Vmap, EachOpRunsOnceWhateverTheNumberOfSamples) {
  const auto count = [](int64_t n) {
    const Tensor x = leaf({n, 3}).detach();
    OpCount ops;
    vmap([](const Tensor& v) { return (v.exp() * v).tanh().sum(); })(x);
    return ops.count;
  };
  EXPECT_EQ(count(2), count(50));
}

TEST(Vmap, ResultsThatAreTheSameForAllAreRepeated) {
  const Tensor x = leaf({4, 3}).detach(), c = leaf({2}, 5).detach();
  const Tensor y = vmap([&](const Tensor&) { return c * 2; })(x);
  expect_near(y, (c * 2).expand({4, 2}));
}

TEST(Vmap, NoSamplesGiveAnEmptyResult) {
  const Tensor x = zeros({0, 3}, kDouble);
  const Tensor y = vmap([](const Tensor& v) { return v.reshape({3, 1}).exp() + 1; })(x);
  EXPECT_EQ(y.sizes(), IntArrayRef({0, 3, 1}));
}

TEST(Vmap, NoSamplesOfOpsWithRulesOfTheirOwn) {
  const Tensor w = ones({1, 1, 2}).requires_grad_();
  const auto conv = [&](const Tensor& x) { return conv1d(x.unsqueeze(0), w); };
  const Tensor y = vmap(conv)(ones({0, 1, 5}));
  EXPECT_EQ(y.sizes(), (IntArrayRef{0, 1, 1, 4}));
  y.sum().backward();
  EXPECT_TRUE(w.grad().equal(zeros({1, 1, 2})));
  const auto norm = [](const Tensor& x) { return group_norm(x.unsqueeze(0), 1); };
  EXPECT_EQ(vmap(norm)(ones({0, 2, 5})).sizes(), (IntArrayRef{0, 1, 2, 5}));
}

struct Doubled : autograd::Function<Doubled> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
  static variable_list backward(autograd::AutogradContext*, variable_list g) { return {g[0] * 2}; }
};

TEST(Vmap, GradientsThatAreNotThoseOfOps) {
  const Tensor x = ones({2, 3}).requires_grad_();
  const auto own = [](const Tensor& a) { return (Doubled::apply(a) + a).sum(); };
  EXPECT_NE(error_of([&] { vmap(own)(x); }).find("custom Function or a hook"), std::string::npos);
  const auto hooked = [](const Tensor& a) {
    const Tensor y = a * 1;
    y.register_hook([](const Tensor& g) { return g * 10; });
    return y.sum();
  };
  EXPECT_NE(error_of([&] { vmap(hooked)(x); }).find("custom Function or a hook"),
            std::string::npos);
  // Without a gradient from outside, and where it is taken inside, all is well.
  EXPECT_TRUE(vmap(own)(x.detach()).equal(full({2}, 9.0)));
  const auto inside = [&](const Tensor& a) {
    const Tensor leaf = a.detach().requires_grad_();
    return autograd::grad({own(leaf)}, {leaf})[0];
  };
  EXPECT_TRUE(vmap(inside)(x).equal(full({2, 3}, 3.0)));
  const auto again = [](const Tensor& a) {
    return (checkpoint([](const Tensor& b) { return b * 2; }, {a}) + a).sum();
  };
  EXPECT_TRUE(autograd::grad({vmap(again)(x).sum()}, {x})[0].equal(full({2, 3}, 3.0)));
}

TEST(Vmap, IsNested) {
  const Tensor x = leaf({3, 4}).detach(), y = leaf({5, 4}, 2).detach();
  const auto dots =
      vmap([&](const Tensor& a) { return vmap([&](const Tensor& b) { return dot(a, b); })(y); });
  expect_near(dots(x), x.matmul(y.t()));
  const auto twice = vmap(vmap([](const Tensor& v) { return v * 2 + 1; }));
  expect_near(twice(x), x * 2 + 1);
}

TEST(Vmap, OneDimensionalSamplesPromoteAsTheyDoAlone) {
  // A 0-d double does not widen a float tensor, though a batch of them would.
  const Tensor x = ones({3}, kFloat), s = leaf({4}).detach();
  const Tensor y = vmap([&](const Tensor& v) { return x * v; })(s);
  EXPECT_EQ(y.dtype(), kFloat);
  EXPECT_EQ(y.sizes(), IntArrayRef({4, 3}));
}

// -- gradients ----------------------------------------------------------------------------------

TEST(Vmap, GradientsFlowToArgumentsAndToWhatIsTakenFromOutside) {
  const Tensor x = leaf({4, 3}), w = leaf({3, 2}, 2);
  const auto f = [&](const Tensor& v) { return v.matmul(w).tanh().sum(); };
  vmap(f)(x).sum().backward();
  const Tensor gx = x.grad().clone(), gw = w.grad().clone();
  x.mutable_grad().reset();
  w.mutable_grad().reset();
  x.matmul(w).tanh().sum().backward();
  expect_near(gx, x.grad());
  expect_near(gw, w.grad());
}

TEST(Vmap, SecondGradientsFlow) {
  const Tensor x = leaf({4, 3}), w = leaf({3}, 2);
  const auto loss = [&](const auto& f) {
    const Tensor y = f(x).square().sum();
    const auto g = autograd::grad({y}, {x, w}, {}, true, true);
    return autograd::grad({g[0].square().sum() + g[1].exp().sum()}, {x, w});
  };
  const auto batched = loss(vmap([&](const Tensor& v) { return dot(v.tanh(), w); }));
  const auto plain = loss([&](const Tensor& v) { return v.tanh().matmul(w); });
  for (size_t i = 0; i < 2; ++i) expect_near(batched[i], plain[i]);
}

TEST(Vmap, WhatIsCutOffInsideStaysCutOff) {
  const Tensor x = leaf({4, 3});
  const auto grad_of = [&](const auto& f) { return autograd::grad({vmap(f)(x).sum()}, {x})[0]; };
  expect_near(grad_of([](const Tensor& v) { return v * v.detach(); }), x);
  expect_near(grad_of([](const Tensor& v) {
                Tensor scale;
                {
                  const NoGradGuard guard;
                  scale = v.exp();
                }
                return v * scale;
              }),
              x.exp());
  EXPECT_FALSE(vmap([](const Tensor& v) { return v.detach() * 2; })(x).requires_grad());
  // A leaf made inside is nobody's business outside.
  EXPECT_FALSE(vmap([](const Tensor& v) {
                 const Tensor u = v.detach().requires_grad_();
                 return autograd::grad({(u * u).sum()}, {u})[0];
               })(x)
                   .requires_grad());
}

TEST(Vmap, GradientsAreTakenInside) {
  const Tensor x = leaf({5, 3}).detach(), w = leaf({3}, 2);
  const auto per_sample =
      vmap([&](const Tensor& v) { return autograd::grad({dot(v, w).square()}, {w})[0]; });
  expect_near(per_sample(x), x * (2 * x.matmul(w)).unsqueeze(1));
}

TEST(Vmap, ComposesWithCompile) {
  const Tensor x = leaf({4, 3}).detach(), w = leaf({3, 2}, 2).detach();
  const auto f = [&](const Tensor& v) { return v.matmul(w).tanh().sum(); };
  const Tensor expected = x.matmul(w).tanh().sum(1);
  auto outer = compile(vmap(f));
  expect_near(outer(x), expected);
  expect_near(outer(x), expected);
  auto inner = compile(f);
  expect_near(vmap([&](const Tensor& v) { return inner(v); })(x), expected);
}

TEST(Vmap, WhatHasNoRuleRunsOneByOneAndIsExplained) {
  const Tensor x = leaf({4, 30}).detach();
  auto f = compile(vmap([](const Tensor& v) { return histc(v, 5, -1, 1); }));
  const Tensor y = f(x);
  for (int64_t i = 0; i < 4; ++i) expect_near(y[i], histc(x[i], 5, -1, 1));
  EXPECT_NE(f.explain().find("vmap runs histc one sample after the other"), std::string::npos)
      << f.explain();
  EXPECT_EQ(vmap_fallbacks().front(), "histc");
}

// -- choices and loops ----------------------------------------------------------------------------

template <class F>
void expect_equals_loop(F f, const Tensor& xs) {
  const auto gradient = [&](const Tensor& y) { return autograd::grad({(y * y).sum()}, {xs})[0]; };
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < xs.size(0); ++i) parts.push_back(f(xs[i]));
  const Tensor each = stack(parts), expected = gradient(each), together = vmap(f)(xs);
  expect_near(together, each);
  expect_near(gradient(together), expected);
  auto compiled = compile(vmap(f));
  const Tensor later = compiled(xs);
  expect_near(later, each);
  expect_near(gradient(later), expected);
}

TEST(VmapControlFlow, EachSampleTakesItsBranch) {
  const Tensor xs = leaf({6, 3}), c = leaf({3}, 4).detach();
  expect_equals_loop(
      [&](const Tensor& x) {
        return cond(
            x.sum() > 0, [&] { return x * c; }, [&] { return x.exp(); });
      },
      xs);
  // The same choice for all.
  expect_equals_loop(
      [&](const Tensor& x) {
        return cond(
            c.sum() > 0, [&] { return x * c; }, [&] { return x.exp(); });
      },
      xs);
}

TEST(VmapControlFlow, LoopsOfDifferentLength) {
  const Tensor xs = leaf({5, 2});
  const auto f = [](const Tensor& x) {
    const auto s = while_loop([](auto& v) { return v[0].square().sum() < 20; },
                              [](auto& v) {
                                return std::vector<Tensor>{v[0] * 1.5, v[1] + 1};
                              },
                              {x, zeros({}, kDouble)});
    return cat({s[0], s[1].reshape({1})});
  };
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 5; ++i) parts.push_back(f(xs.detach()[i]));
  const Tensor each = stack(parts);
  EXPECT_FALSE(each.select(1, 2).eq(each[0][2]).all().item<bool>()) << "lengths do not differ";
  expect_near(vmap(f)(xs.detach()), each);
  expect_equals_loop(f, xs);
}

TEST(VmapControlFlow, Scans) {
  const Tensor xs = leaf({4, 3, 2}), w = leaf({2, 2}, 3).detach();
  expect_equals_loop(
      [&](const Tensor& x) {
        const auto [last, all] = scan(
            [&](const Tensor& c, const Tensor& v) {
              const Tensor next = (c.matmul(w) + v).tanh();
              return std::pair{next, next * 2};
            },
            zeros({2}, kDouble), x);
        return cat({last.unsqueeze(0), all});
      },
      xs);
  for (const std::string& op : vmap_fallbacks()) EXPECT_NE(op, "scan");
}

TEST(VmapControlFlow, RandomNumbersInsideALoopDifferBetweenSamples) {
  const Tensor xs = zeros({4, 3, 2}, kDouble);
  const auto f = vmap([](const Tensor& x) {
    return scan(
               [](const Tensor& c, const Tensor& v) {
                 const Tensor next = v + rand_like(v);
                 return std::pair{c + next, next};
               },
               zeros({2}, kDouble), x)
        .second;
  });
  const Tensor y = f(xs);
  EXPECT_EQ(y.sizes(), xs.sizes());
  EXPECT_EQ(std::get<0>(_unique(y.flatten(), true, false)).numel(), y.numel());
}

// -- writing ------------------------------------------------------------------------------------

TEST(Vmap, WritesToOwnTensorsAndThroughViews) {
  const Tensor x = leaf({4, 3}).detach();
  const Tensor y = vmap([](const Tensor& v) {
    const Tensor r = zeros({2, 3}, v.options());
    r.select(0, 1).copy_(v);
    r.select(1, 0).add_(1);
    return r;
  })(x);
  for (int64_t i = 0; i < 4; ++i) {
    Tensor r = zeros({2, 3}, kDouble);
    r.select(0, 1).copy_(x[i]);
    r.select(1, 0).add_(1);
    expect_near(y[i], r);
  }
}

TEST(Vmap, WritesToBatchedArguments) {
  const Tensor x = leaf({3, 4}).detach(), before = x.clone();
  vmap([](const Tensor& v) { return v.mul_(2); }, {1})(x);
  expect_near(x, before * 2);
}

TEST(Vmap, WritesOutsideWhatIsTheSameForAll) {
  const Tensor x = leaf({4, 3}).detach(), count = zeros({}, kDouble);
  vmap([&](const Tensor& v) {
    count.add_(1);
    return v * count;
  })(x);
  expect_near(count, ones({}, kDouble));
}

TEST(Vmap, RefusesToWriteOutsideWhatDiffers) {
  const Tensor x = leaf({4, 3}).detach(), sum = zeros({3}, kDouble);
  const std::string what = error_of([&] { vmap([&](const Tensor& v) { return sum.add_(v); })(x); });
  EXPECT_NE(what.find("vmap: the function writes in place to a tensor from outside"),
            std::string::npos)
      << what;
  expect_near(sum, zeros({3}, kDouble));
  EXPECT_EQ(sum._version(), 0);
  const Tensor w = leaf({3}, 2);
  const std::string grad = error_of([&] {
    vmap([&](const Tensor& v) {
      const Tensor y = dot(v, w);
      y.backward();
      return y;
    })(x);
  });
  EXPECT_NE(grad.find("backward() inside the function"), std::string::npos) << grad;
  EXPECT_FALSE(w.grad().defined());
}

// -- random numbers -----------------------------------------------------------------------------

TEST(Vmap, RandomNumbersDifferBetweenSamples) {
  const Tensor x = zeros({50, 4}, kDouble);
  const auto f = vmap([](const Tensor& v) { return v + rand_like(v); });
  manual_seed(3);
  const Tensor a = f(x), more = rand({4}, kDouble);
  manual_seed(3);
  const Tensor b = f(x);
  expect_near(a, b, 0);
  EXPECT_EQ(std::get<0>(_unique(a.flatten(), true, false)).numel(), 200);
  // The numbers that come afterwards are new ones.
  EXPECT_EQ(std::get<0>(_unique(cat({a.flatten(), more}), true, false)).numel(), 204);
  const Tensor p = vmap([](const Tensor& v) { return v[0].to(kLong) + randperm(6); })(x);
  EXPECT_TRUE(p.sum(1).eq(15).all().item<bool>());
  EXPECT_FALSE(p.eq(p[0]).all().item<bool>());
}

// -- mistakes -----------------------------------------------------------------------------------

TEST(Vmap, MistakesAreNamed) {
  const Tensor x = leaf({4, 3}).detach();
  const auto f = [](const Tensor& a, const Tensor& b) { return a + b; };
  EXPECT_NE(
      error_of([&] { vmap(f)(x, x.t()); }).find("argument 0 has 4 samples and argument 1 has 3"),
      std::string::npos);
  EXPECT_NE(error_of([&] { vmap(f, {0})(x, x); }).find("1 in_dims for 2 arguments"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              vmap(f, {none, none})(x, x);
            }).find("none of the 2 arguments"),
            std::string::npos);
  EXPECT_NE(error_of([&] { vmap(f)(x, ones({})); }).find("argument 1 has no dimension"),
            std::string::npos);
  const std::string item = error_of(
      [&] { vmap([](const Tensor& v) { return v.sum().item<double>() > 0 ? v : -v; })(x); });
  EXPECT_NE(item.find("inside a function that vmap runs"), std::string::npos) << item;
  // Afterwards everything works as before.
  expect_near(x + x, x * 2);
  expect_near(vmap(row_norm)(x), x.square().sum(1).sqrt());
}

TEST(Vmap, ValuesFromOutsideMayBeLookedAt) {
  const Tensor x = leaf({4, 3}).detach(), factor = full({}, 3.0, kDouble);
  expect_near(vmap([&](const Tensor& v) { return v * factor.item<double>(); })(x), x * 3);
}

// Tensors made of numbers inside the function are constants of what is recorded around it.
TEST(Vmap, LiteralsInsideOfCompiledFunctions) {
  const auto check = [](const auto& f, std::initializer_list<Tensor> inputs) {
    const auto compiled = compile(vmap(f));
    const auto nested = compile(vmap(vmap(f)));
    for (const Tensor& x : inputs) {
      expect_near(compiled(x), vmap(f)(x));
      expect_near(nested(stack({x, x + 1})), stack({vmap(f)(x), vmap(f)(x + 1)}));
    }
  };
  const Tensor x = leaf({3, 2}).detach(), y = leaf({3, 2}, 2).detach();
  check([](const Tensor& v) { return v * tensor({1.0, 2.0}, kDouble); }, {x, y});
  check(
      [](const Tensor& v) {
        const Tensor t = tensor({1.0, 2.0}, kDouble);
        t.add_(1);
        return v * t;
      },
      {x, y});
  check([](const Tensor& v) { return v * tensor({1.0, 2.0}, kDouble)[1].item<double>(); }, {x, y});
  check([](const Tensor& v) { return combinations(v).sum(1); }, {x, y});
  check([](const Tensor& v) { return v.repeat_interleave(tensor({1, 3}, kLong)); }, {x, y});
  const Tensor a = leaf({3, 4, 2}).detach(), b = leaf({3, 4, 2}, 2).detach();
  check([](const Tensor& v) { return pdist(v); }, {a, b});
  const Tensor scores = leaf({3, 5, 1, 4}).detach().log_softmax(-1);
  check(
      [](const Tensor& v) {
        return ctc_loss(v, ones({1, 2}, kLong), IntArrayRef{5}, IntArrayRef{2});
      },
      {scores});
  const Tensor w = leaf({2});
  const auto grads = compile([&](const Tensor& samples) {
    return per_sample_gradients(
        [&](const Tensor& v) {
          return (w * v * tensor({1.0, 2.0}, kDouble)).sum();
        },
        {w}, {samples})[0];
  });
  for (const Tensor& t : {x, y}) expect_near(grads(t), t * tensor({1.0, 2.0}, kDouble));
  const auto literal = compile(vmap([](const Tensor&) { return tensor({1.0, 2.0}, kDouble); }));
  for (int i = 0; i < 2; ++i) expect_near(literal(x), tensor({1.0, 2.0}, kDouble).expand({3, 2}));
}

}  // namespace
}  // namespace tandem
