#include "tandem/compile/control_flow.h"

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/compile/transforms.h"
#include "tandem/compile/vmap.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

// Values and gradients compiled against eager, from outside and from inside the compiled function.
template <class F>
void check(const F& fn, const std::vector<Tensor>& in) {
  const auto f = compile(fn);
  expect_close(f(in[0], in[1]), fn(in[0], in[1]), 1e-6);
  const auto gradients = [&](const auto& g) {
    return autograd::grad({g(in[0], in[1]).sum()}, {in[0], in[1]}, {}, {}, false, true);
  };
  const auto inside = [&](const Tensor& a, const Tensor& b) {
    return autograd::grad({fn(a, b).sum()}, {a, b}, {}, {}, false, true);
  };
  const auto expected = gradients(fn), outside = gradients(f),
             within = compile(inside)(in[0], in[1]);
  for (size_t i = 0; i < 2; ++i) {
    const Tensor zero = zeros_like(in[i].detach());
    const auto or_zero = [&](const Tensor& t) { return t.defined() ? t : zero; };
    expect_close(or_zero(outside[i]), or_zero(expected[i]), 1e-5);
    expect_close(or_zero(within[i]), or_zero(expected[i]), 1e-5);
  }
}

std::vector<Tensor> pair_of_leaves() {
  manual_seed(5);
  return {randn({3}, requires_grad()), randn({3}, requires_grad())};
}

TEST(ControlFlow, BothWaysOfAChoice) {
  const auto in = pair_of_leaves();
  for (const double limit : {-100.0, 100.0})
    check(
        [limit](const Tensor& a, const Tensor& b) {
          return cond(
              a.sum() > limit, [&] { return a * b; }, [&] { return a.sin() - b * 3; });
        },
        in);
}

TEST(ControlFlow, OnlyTheChosenBranchRuns) {
  const auto f = compile([](const Tensor& x, const Tensor& index) {
    return cond(
        x.sum() > 0, [&] { return x.index_select(0, index); }, [&] { return x; });
  });
  const Tensor bad = tensor({7, 7, 7});
  expect_same(f(full({3}, -1.0), bad), full({3}, -1.0));
  EXPECT_THROW_WITH(f(ones({3}), bad), "index");
}

TEST(ControlFlow, ScanOverStructures) {
  const auto in = pair_of_leaves();
  check(
      [](const Tensor& a, const Tensor& b) {
        using Carry = std::pair<Tensor, Tensor>;
        const auto [carry, ys] = scan(
            [&](const Carry& c, const Tensor& x) {
              const Tensor next = (c.first * x + b).tanh();
              return std::pair{Carry{next, c.second + next.sum()}, std::vector{next * 2, x * b}};
            },
            Carry{b, zeros({})}, a);
        return carry.first * carry.second + ys[0].sum(0) + ys[1].sum(0);
      },
      in);
}

TEST(ControlFlow, ARecurrentNetOverAnyNumberOfSteps) {
  manual_seed(2);
  Tensor wx = randn({2, 4}, requires_grad()), wh = randn({4, 4}, requires_grad());
  const auto run = [&](const Tensor& xs) {
    return scan(
               [&](const Tensor& h, const Tensor& x) {
                 const Tensor next = (x.mm(wx) + h.mm(wh)).tanh();
                 return std::pair{next, next};
               },
               zeros({1, 4}), xs)
        .first;
  };
  const auto f = compile(run);
  for (const int64_t steps : {1, 5, 9}) {
    const Tensor xs = randn({steps, 1, 2});
    const auto eager = autograd::grad({run(xs).sum()}, {wx, wh});
    const auto compiled = autograd::grad({f(xs).sum()}, {wx, wh});
    for (size_t i = 0; i < 2; ++i) expect_close(compiled[i], eager[i], 1e-4);
  }
}

TEST(ControlFlow, RoundsThatValuesDecide) {
  const auto in = pair_of_leaves();
  check(
      [](const Tensor& a, const Tensor& b) {
        const auto s = while_loop([](auto& v) { return v[0].abs().sum() < 50; },
                                  [&](auto& v) {
                                    return std::vector{v[0] * 1.5 + b, v[1] + 1};
                                  },
                                  {a, zeros({}, kLong)});
        return s[0] + s[1];
      },
      in);
  const auto f = compile([](const Tensor& n) {
    return while_loop(
        [](auto& s) { return s[0] > 1; },
        [](auto& s) {
          // Collatz
          const Tensor even = s[0] % 2 == 0;
          return std::vector{where(even, s[0].floor_divide(2), s[0] * 3 + 1), s[1] + 1};
        },
        {n, zeros_like(n)})[1];
  });
  EXPECT_EQ(f(tensor(27)).item<int64_t>(), 111);
  EXPECT_EQ(f(tensor(1)).item<int64_t>(), 0);
  EXPECT_EQ(f.graph_count(), 1);
}

TEST(ControlFlow, SecondDerivativesOfLoopsInsideCompiledFunctions) {
  const auto in = pair_of_leaves();
  // A penalty on the gradient: its own gradient is a second derivative.
  const auto penalty = [](const Tensor& a, const Tensor& b) {
    const auto s = while_loop([](auto& v) { return v[0].abs().sum() < 50; },
                              [&](auto& v) {
                                return std::vector{v[0] * 1.5 + b * v[0].tanh(), v[1] + 1};
                              },
                              {a, zeros({}, kLong)});
    const auto by = autograd::grad({s[0].pow(2).sum()}, {a, b}, {}, {}, /*create_graph=*/true);
    return autograd::grad({by[0].pow(2).sum() + by[1].sum()}, {a, b});
  };
  const auto expected = penalty(in[0], in[1]);
  const auto f = compile(penalty);
  for (int call = 0; call < 2; ++call) {
    const auto got = f(in[0], in[1]);
    for (size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(allclose(got[i], expected[i], 1e-5)) << got[i] << expected[i];
  }
  // No round at all: the state stays what it was.
  const Tensor large = full({3}, 60.0).set_requires_grad(true);
  const auto by = f(large, in[1]);
  expect_close(by[0], large.detach() * 8, 1e-5);
  expect_close(by[1], zeros({3}), 1e-5);
  EXPECT_EQ(f.graph_count(), 1);
  const auto third = [&](const Tensor& a) {
    Tensor x = while_loop([](auto& v) { return v[0].sum() < 50; },
                          [&](auto& v) { return std::vector{v[0] * a * a}; }, {a})[0];
    for (int i = 0; i < 3; ++i) x = autograd::grad({x.sum()}, {a}, {}, {}, true)[0];
    return x;
  };
  EXPECT_THROW_WITH(compile(third)(full({2}, 2.0).set_requires_grad(true)), "twice, not three");
}

TEST(ControlFlow, StateOutsideIsWrittenByLoops) {
  Tensor total = zeros({});
  const auto fn = [&](const Tensor& xs) {
    return scan(
               [&](const Tensor& c, const Tensor& x) {
                 const NoGradGuard no_grad;
                 total.add_(x);
                 return std::pair{c + rand({}), total * 1};
               },
               zeros({}), xs)
        .second;
  };
  const Tensor xs = arange(1, 5, kFloat);
  manual_seed(9);
  const Tensor expected = fn(xs), random = rand({1});
  total.zero_();
  manual_seed(9);
  expect_same(compile(fn)(xs), expected);
  expect_same(total, tensor(10.f));
  expect_same(rand({1}), random);
}

TEST(ControlFlow, PrintedAndParsed) {
  const Graph g = trace(
      [](const Tensor& a, const Tensor& b) {
        const Tensor c = cond(
            a.sum() > 0, [&] { return a * b; }, [&] { return a; });
        return scan(
                   [&](const Tensor& s, const Tensor& x) {
                     return std::pair{s + x * c, s};
                   },
                   zeros({3}), b)
            .first;
      },
      {ones({3}), ones({3})});
  const Graph again = Graph::parse(g.str());
  EXPECT_TRUE(same(g, again));
  EXPECT_EQ(structural_hash(g), structural_hash(again));
  const Tensor a = randn({3}), b = randn({3});
  expect_same(again.run({a, b})[0], g.run({a, b})[0]);
}

// A text may hold any number where it is said how many inputs are for what.
TEST(ControlFlow, NumbersOfInputsThatDoNotFitAreRefused) {
  const Graph loops = trace(
      [](const Tensor& a, const Tensor& b) {
        const auto rounds =
            while_loop([](auto& s) { return s[0].sum() < 20; },
                       [&](auto& s) { return std::vector<Tensor>{s[0] * 2 + b}; }, {a});
        const Tensor c = cond(
            a.sum() > 0, [&] { return a * b; }, [&] { return a; });
        return scan(
                   [&](const Tensor& s, const Tensor& x) {
                     return std::pair{s + x * c, s};
                   },
                   rounds[0], b)
            .first;
      },
      {ones({3}), ones({3})});
  const auto rounds = [](const Tensor& a) {
    return while_loop([](auto& s) { return s[0].sum() < 20; },
                      [&](auto& s) {
                        return std::vector<Tensor>{s[0] * s[0] + a, s[1] + 1};
                      },
                      {a, zeros({}, kLong)})[0];
  };
  const Graph gradient = trace(
      [&](const Tensor& x) {
        const Tensor a = x.detach().requires_grad_();
        return autograd::grad({rounds(a).sum()}, {a})[0];
      },
      {ones({3})});
  const Graph twice = trace(
      [&](const Tensor& x) {
        const Tensor a = x.detach().requires_grad_();
        const Tensor g = autograd::grad({rounds(a).sum()}, {a}, {}, {}, true)[0];
        return autograd::grad({(g * g).sum()}, {a})[0];
      },
      {ones({3})});
  EXPECT_NE(gradient.str().find("while_loop_gradient("), std::string::npos);
  EXPECT_NE(twice.str().find("while_loop_gradient_gradient("), std::string::npos);
  int changed = 0;
  for (const Graph* g : {&loops, &gradient, &twice}) {
    const std::string text = g->str();
    EXPECT_TRUE(same(*g, Graph::parse(text)));
    for (size_t at = text.find(" n_"); at != std::string::npos; at = text.find(" n_", at + 1)) {
      const size_t digits = text.find('=', at) + 1, end = text.find_first_of(",}", digits);
      const std::string there = text.substr(digits, end - digits);
      for (const char* number : {"-1", "0", "1", "2", "3", "100", "1000000", "4294967295",
                                 "4294967297", "9223372036854775807", "-9223372036854775808"}) {
        if (number == there) continue;
        std::string other = text;
        other.replace(digits, end - digits, number);
        EXPECT_THROW(Graph::parse(other), Error) << other.substr(at, 40) << '\n' << other;
        ++changed;
      }
    }
  }
  EXPECT_GT(changed, 150);
}

TEST(ControlFlow, GradientsOfLoopsOfOtherTypesAreRefused) {
  const std::string text =
      trace(
          [](const Tensor& x) {
            const Tensor a = x.detach().requires_grad_();
            const Tensor last =
                while_loop([](auto& s) { return s[0].sum() < 20; },
                           [&](auto& s) { return std::vector<Tensor>{s[0] * 2 + a}; }, {a})[0];
            return autograd::grad({last.sum()}, {a})[0];
          },
          {ones({3})})
          .str();
  const size_t node = text.find("while_loop_gradient(");
  ASSERT_NE(node, std::string::npos);
  const std::string identity = "graph(%0)\\x0a%0 = input : float32 [3]\\x0areturn %0\\x0a";
  const auto with = [&](const char* field, const std::string& graph) {
    std::string other = text;
    const size_t begin = other.find('"', other.find(field, node)) + 1;
    other.replace(begin, other.find('"', begin) - begin, graph);
    return other;
  };
  for (const char* field : {"condition=", "body=", "gradient="})
    EXPECT_THROW_WITH(Graph::parse(with(field, identity)), "while_loop_gradient");
}

TEST(ControlFlow, NumbersOfOutputsThatDoNotFitAreRefused) {
  const std::string text = trace(
                               [](const Tensor& x) {
                                 return cond(
                                     x.sum() > 0, [&] { return x * 2; }, [&] { return -x; });
                               },
                               {ones({2})})
                               .str();
  const size_t end = text.find('\n', text.find("= cond("));
  EXPECT_THROW_WITH(Graph::parse(std::string(text).insert(end, ", float32 [2]")),
                    "cond has 1 output, 2 types are given");
}

TEST(ControlFlow, HessiansOfChoices) {
  const auto f = [](const Tensor& x) {
    return cond(
               x.sum() > 0, [&] { return x * x * x; }, [&] { return x * 2; })
        .sum();
  };
  const auto nested = [&](const Tensor& x) {
    return cond(
        x[0] > 0, [&] { return f(x) * x[0]; }, [&] { return x.sum(); });
  };
  const auto in_loop = [](const Tensor& x) {
    return scan(
               [&](const Tensor& c, const Tensor& r) {
                 const Tensor n = cond(
                     c.sum() > 0, [&] { return c * r * x; }, [&] { return c; });
                 return std::pair{n, n};
               },
               x, full({2, 2}, 0.5, kDouble))
        .first.sum();
  };
  const Tensor x = tensor({1.0, 2.0}, kDouble);
  const auto check = [&](const auto& fn) {
    const Tensor expected = hessian(fn, x);
    EXPECT_GT(expected.abs().sum().item<double>(), 0.1);
    expect_close(compile([&](const Tensor& a) { return hessian(fn, a); })(x), expected, 1e-9);
    expect_close(vmap([&](const Tensor& a) { return hessian(fn, a); })(x.unsqueeze(0))[0], expected,
                 1e-9);
    expect_close(trace([&](const Tensor& a) { return hessian(fn, a); }, {x}).run({x})[0], expected,
                 1e-9);
    const Tensor v = tensor({0.3, -1.0}, kDouble);
    expect_close(vmap([&](const Tensor& a) { return hvp(fn, a, v); })(x.unsqueeze(0))[0],
                 expected.mv(v), 1e-9);
  };
  check(f);
  check(nested);
  check(in_loop);
}

TEST(ControlFlow, LoopsInLoopsOverConstants) {
  const auto h = [](const Tensor& x) {
    return scan(
               [](const Tensor& c, const Tensor& m) {
                 const Tensor inner = scan(
                                          [](const Tensor& a, const Tensor& r) {
                                            const Tensor n = (a * r).sin();
                                            return std::pair{n, n};
                                          },
                                          c, m)
                                          .first;
                 return std::pair{inner, c};
               },
               x, ones({3, 2, 2}, kDouble))
        .first;
  };
  const Tensor x = ones({2}, kDouble);
  expect_close(compile([&](const Tensor& a) { return jacobian(h, a); })(x), jacobian(h, x), 1e-9);
}

TEST(ControlFlow, UnderVmapSamplesGoTheirOwnWays) {
  const auto choose = [](const Tensor& x) {
    return cond(
        x.sum() > 0, [&] { return x * 2; }, [&] { return -x; });
  };
  const auto rounds = [](const Tensor& x) {
    return while_loop([](auto& s) { return s[0].sum() < 10; },
                      [](auto& s) {
                        return std::vector{s[0] * 2, s[1] + 1};
                      },
                      {x, zeros({})})[1];
  };
  const Tensor xs = tensor({{1.f, 2.f}, {-1.f, -2.f}, {4.f, 5.f}});
  expect_same(vmap(choose)(xs), stack({choose(xs[0]), choose(xs[1]), choose(xs[2])}));
  const Tensor some = xs.abs();
  expect_same(vmap(rounds)(some), stack({rounds(some[0]), rounds(some[1]), rounds(some[2])}));
}

TEST(ControlFlow, MistakesAreExplained) {
  const Tensor x = ones({3}), i = zeros({}, kLong);
  const auto attempt = [&](auto fn, const char* message) {
    EXPECT_THROW_WITH(compile(fn)(x), message);
  };
  attempt(
      [](const Tensor& t) {
        return cond(
            t > 0, [&] { return t; }, [&] { return t; });
      },
      "the condition must be a single value, not bool [3]");
  attempt(
      [](const Tensor& t) {
        return cond(
            t.sum() > 0, [&] { return t; }, [&] { return t.sum(); });
      },
      "the branches give result 0 as float32 [3] and float32 []");
  attempt(
      [](const Tensor& t) {
        return cond(
            t.sum() > 0, [&] { return std::vector{t}; },
            [&] {
              return std::vector{t, t};
            });
      },
      "one branch gives 1 tensors, the other 2");
  attempt(
      [&](const Tensor& t) {
        return while_loop([](auto& s) { return s[0].sum() < 3; },
                          [](auto& s) { return std::vector{s[0].to(kDouble)}; }, {t})[0];
      },
      "the body gives state 0 as float64 [3], but it began as float32 [3]");
  attempt(
      [&](const Tensor& t) {
        return while_loop([](auto& s) { return s[0].sum() < 3; },
                          [](auto& s) {
                            return std::vector{s[0], s[0]};
                          },
                          {t})[0];
      },
      "the body gives 2 tensors, the state has 1");
  attempt(
      [&](const Tensor& t) {
        return scan(
                   [](const Tensor& c, const Tensor& v) {
                     return std::pair{c + v, v};
                   },
                   zeros({}, kLong), t)
            .first;
      },
      "the body gives carry 0 as float32 [], but it began as int64 []");
  attempt(
      [&](const Tensor& t) {
        return scan(
                   [](const Tensor& c, const Tensor& v) {
                     return std::pair{c, v};
                   },
                   t, t.sum())
            .first;
      },
      "scan: xs 0 is float32 []");
  attempt(
      [&](const Tensor& t) {
        return scan(
                   [](Tensor c, const Tensor& v) {
                     c.add_(v);
                     return std::pair{c, v};
                   },
                   zeros({}), t)
            .first;
      },
      "must not write in place to its arguments");
  Tensor w = ones({3}, requires_grad());
  attempt(
      [&](const Tensor& t) {
        return cond(
            t.sum() > 0,
            [&] {
              (w * t).sum().backward();
              return t;
            },
            [&] { return t; });
      },
      "must not leave gradients");
  EXPECT_FALSE(w.grad().defined());
}

TEST(ControlFlow, ScanOverNothing) {
  const Tensor start = randn({2}, requires_grad()), none = empty({0, 2}, requires_grad());
  int calls = 0;
  const auto fn = [&](const Tensor& c, const Tensor& xs) {
    return scan(
        [&](const Tensor& sum, const Tensor& x) {
          ++calls;
          return std::pair{sum + x, stack({sum, x}).to(kDouble)};
        },
        c, xs);
  };
  const auto check = [&](const auto& f) {
    const auto [carry, ys] = f(start, none);
    expect_same(carry, start);
    EXPECT_EQ(str(ys.type_of()), "float64 [0, 2, 2]");
    const auto grads = autograd::grad({(carry * 3).sum()}, {start, none}, {}, {}, false, true);
    expect_same(grads[0], full({2}, 3.0));
    EXPECT_FALSE(grads[1].defined());
  };
  check(fn);
  const auto f = compile(fn);
  check(f);
  check(f);
  EXPECT_EQ(f.graph_count(), 1u);
  EXPECT_EQ(calls, 2);  // to see what it gives; none for a value
  // The same function with something to go through is another graph.
  const auto [carry, ys] = f(start, ones({2, 2}));
  expect_same(carry, start + 2);
  EXPECT_THROW_WITH(scan(
                        [](const Tensor& c, const Tensor& x) {
                          return std::pair{c.to(kDouble), x};
                        },
                        ones({2}), empty({0, 2})),
                    "the body gives carry 0 as float64 [2], but it began as float32 [2]");
}

}  // namespace
}  // namespace tandem
