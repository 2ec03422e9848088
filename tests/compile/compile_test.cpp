#include "tandem/compile/compile.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "tandem/autograd/autograd.h"
#include "tandem/base/memory.h"
#include "tandem/compile/vmap.h"
#include "tandem/core/flag.h"
#include "tandem/jit/kernel_cache.h"
#include "tests/compile/helpers.h"
#include "tests/helpers.h"

namespace tandem {
namespace {

TEST(Compile, RecordsOnceForASignature) {
  int recorded = 0;
  const auto f = compile([&](const Tensor& x) {
    ++recorded;
    return x * 2 + 1;
  });
  const Tensor x = randn({3, 4});
  for (int i = 0; i < 5; ++i) expect_same(f(x), x * 2 + 1);
  EXPECT_EQ(recorded, 1);
  const Tensor y = randn({2, 4}), z = x.to(kDouble);
  expect_same(f(y), y * 2 + 1);
  expect_same(f(z), z * 2 + 1);
  EXPECT_EQ(recorded, 3);
  expect_same(f(x), x * 2 + 1);
  EXPECT_EQ(recorded, 3);
  EXPECT_EQ(f.graph_count(), 3);
  f.reset();
  expect_same(f(x), x * 2 + 1);
  EXPECT_EQ(recorded, 4);
  EXPECT_EQ(f.graph_count(), 1);
}

TEST(Compile, ExplainSaysWhyEachGraphWasMade) {
  const auto f = compile([](const Tensor& x, double scale) { return (x * scale).exp(); });
  const Tensor x = randn({3});
  for (int i = 0; i < 4; ++i) f(x, 1.0);
  f(randn({4}), 1.0);
  f(x, 2.0);
  {
    const NoGradGuard no_grad;
    f(x, 1.0);
  }
  const std::string text = f.explain();
  for (const char* part :
       {"4 graphs", "the first call", "argument 0 is float32 [4], not float32 [3]",
        "a plain argument has another value", "grad mode is off", "exp", "its steps take"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

struct Batch {
  Tensor x;
  std::vector<Tensor> more;
  int64_t n = 0;
};
struct Listed {
  Tensor a, b;
  TANDEM_FIELDS(a, b)
};

TEST(Compile, ArgumentsAndResultsOfManyKinds) {
  const Tensor x = randn({3}), y = randn({3});
  const auto f = compile([](const Batch& b, const std::map<std::string, Tensor>& m,
                            std::optional<Tensor> o, std::pair<Tensor, int> p) {
    Batch out{b.x + m.at("k"), {b.more[0] * p.second, p.first}, b.n + 1};
    return std::tuple{out, std::map<std::string, Tensor>{{"sum", b.x + b.more[0]}}, o.has_value()};
  });
  for (int i = 0; i < 2; ++i) {
    const auto [out, map, has] = f(Batch{x, {y}, 4}, std::map<std::string, Tensor>{{"k", y}},
                                   std::optional<Tensor>(), std::pair{x, 3});
    expect_same(out.x, x + y);
    expect_same(out.more[0], y * 3);
    expect_same(out.more[1], x);
    EXPECT_EQ(out.n, 5);
    expect_same(map.at("sum"), x + y);
    EXPECT_FALSE(has);
  }
  const auto g = compile([](const Listed& l) { return Listed{l.a * l.b, l.b}; });
  expect_same(g(Listed{x, y}).a, x * y);
  const auto nothing = compile([](Tensor t) { t.add_(1); });
  Tensor t = zeros({2});
  nothing(t);
  nothing(t);
  expect_same(t, full({2}, 2.0));
  const auto maybe = compile([](const Tensor& a, const Tensor& b) { return std::vector{a, b}; });
  EXPECT_FALSE(maybe(x, Tensor())[1].defined());
}

TEST(Compile, IsCalledAsTheFunctionItself) {
  const Tensor x = arange(3, kFloat), y = ones({3});
  const auto sum = compile([](const std::vector<Tensor>& list, double factor, bool minus = false) {
    Tensor s = list[0];
    for (size_t i = 1; i < list.size(); ++i) s = minus ? s - list[i] : s + list[i];
    return s * factor;
  });
  expect_same(sum({x, y}, 2, true), (x - y) * 2);
  expect_same(sum({x, y}, 2.0, true), (x - y) * 2);  // 2 was the double 2.0
  EXPECT_EQ(sum.graph_count(), 1);
  expect_same(sum(std::vector{x, y}, 2.0), (x + y) * 2);
  struct Pair {
    Tensor a, b;
  };
  const auto product = compile([](Pair p) { return p.a * p.b; });
  expect_same(product({x, y}), x * y);
  const auto generic = compile([](const auto& a, const auto& b) { return a - b; });
  expect_same(generic(x, y), x - y);
  expect_same(generic(x, 2), x - 2);
}

TEST(Compile, PlainArgumentsCountByValue) {
  const auto times = compile([](const Tensor& x, const Scalar& s) { return x * s; });
  for (int i = 2; i < 5; ++i) expect_same(times(ones({2}), Scalar(i)), full({2}, double(i)));
  const auto generic = compile([](const Tensor& x, auto factor) { return x * factor; });
  EXPECT_EQ(generic(ones({2}, kInt), 0).dtype(), kInt);
  EXPECT_EQ(generic(ones({2}, kInt), 0.0).dtype(), kFloat);
  const auto held = compile([](std::shared_ptr<Tensor> t, const Tensor& x) { return *t + x; });
  for (int i = 0; i < 3; ++i)
    expect_same(held(std::make_shared<Tensor>(full({2}, 1.0 * i)), zeros({2})), full({2}, 1.0 * i));
  using Either = std::variant<double, Tensor>;
  const auto either = compile([](const Tensor& x, const Either& e) {
    return e.index() == 0 ? x * std::get<0>(e) : x * std::get<1>(e);
  });
  expect_same(either(ones({2}), 2.0), full({2}, 2.0));
  expect_same(either(ones({2}), 3.0), full({2}, 3.0));
  expect_same(either(ones({2}), full({2}, 4.0)), full({2}, 4.0));
}

TEST(Compile, WritesReachArgumentsAndTensorsFromOutside) {
  Tensor state = zeros({4}), counter = zeros({}, kLong);
  const auto f = compile([&](Tensor x) {
    x[0].mul_(2);  // through a view of an argument
    state.slice(0, 1, 3).add_(x.slice(0, 0, 2));
    counter.add_(1);
    state[3] = state[1] + 1;  // reads what was just written
    return state.sum() + x.sum();
  });
  Tensor eager_state = zeros({4}), eager_x = arange(1, 5, kFloat), x = arange(1, 5, kFloat);
  for (int i = 0; i < 3; ++i) {
    const Tensor got = f(x);
    eager_x[0].mul_(2);
    eager_state.slice(0, 1, 3).add_(eager_x.slice(0, 0, 2));
    eager_state[3] = eager_state[1] + 1;
    expect_same(got, eager_state.sum() + eager_x.sum());
    expect_same(x, eager_x);
    expect_same(state, eager_state);
  }
  EXPECT_EQ(counter.item<int64_t>(), 3);
}

TEST(Compile, CapturedTensorsAreReadAtEachCall) {
  Tensor w = ones({2});
  const auto f = compile([&](const Tensor& x) { return x * w; });
  const Tensor x = full({2}, 3.0);
  expect_same(f(x), x);
  w.fill_(2);
  expect_same(f(x), x * 2);
  w.set_data(full({2}, 5.0));  // other memory
  expect_same(f(x), x * 5);
  w.set_data(full({2, 2}, 5.0));  // another shape: recorded anew
  expect_same(f(x), x * w);
  EXPECT_EQ(f.graph_count(), 2);
}

TEST(Compile, AVariableThatHoldsAnotherTensorIsReadAnew) {
  Tensor w = ones({2}), h = zeros({2}), v = ones({2}, requires_grad());
  const auto f = compile([&](const Tensor& x) { return x * w + h; });
  const auto g = compile([&](const Tensor& x) { return x + h; });
  const auto d = compile([&](const Tensor& x) { return (x * v).sum(); });
  const Tensor x = full({2}, 3.0);
  Tensor loss = d(x);
  for (int i = 0; i < 3; ++i) {
    expect_same(f(x), x * w + h);
    expect_same(g(x), x + h);
    expect_same(f(x), x * w + h);
    h = full({2}, i + 1.0);  // both functions hold the old one, and nobody else does
    v = full({2}, i + 2.0).requires_grad_();  // held by what `loss` remembers of its call
    loss = d(x);
    expect_same(loss, (x * v).sum());
    loss.backward();
    expect_same(v.grad(), x);
  }
  EXPECT_EQ(f.graph_count(), 3);
  EXPECT_NE(f.explain().find("made because: a tensor from outside (float32 [2]) is gone"),
            std::string::npos)
      << f.explain();
  EXPECT_EQ(w.impl()->refs, 1 + w.impl()->recorded_refs);
  {
    const auto temporary = compile([&](const Tensor& t) { return t - w; });
    const uint32_t before = w.impl()->recorded_refs;
    temporary(x);
    EXPECT_GT(w.impl()->recorded_refs, before);
  }
  EXPECT_EQ(w.impl()->refs, 1 + w.impl()->recorded_refs);
  expect_same(f(x), x * w + h);
}

TEST(Compile, VariablesThatTheFunctionAssignsToAreRefused) {
  Tensor h = zeros({2});
  const auto next = compile([&](const Tensor& x) {
    h = h + x;
    return h * 1;
  });
  EXPECT_THROW_WITH(next(ones({2})), "that nobody holds any more");
  const Tensor w = full({2}, 3.0);
  const auto alias = compile([&](const Tensor& x) { return x * w.detach(); });
  expect_same(alias(ones({2})), w);
  expect_same(alias(ones({2})), w);
  EXPECT_EQ(alias.graph_count(), 1);
}

TEST(Compile, AliasesOfVariablesThatHoldAnotherTensor) {
  Tensor h = ones({2});
  const auto f = compile([&](const Tensor& x) { return x * h.detach() + h.data(); });
  for (int i = 0; i < 3; ++i) {
    expect_same(f(ones({2})), full({2}, 2.0 * (i + 1)));
    h = full({2}, i + 2.0);
  }
  // A gradient is that of the leaf, also where it is changed through an alias.
  const Tensor w = ones({2}).requires_grad_();
  const auto clip = compile([&] { w.grad().detach().clamp_(-0.5, 0.5); });
  for (int i = 0; i < 3; ++i) {
    w.mutable_grad().reset();
    (w * 3).sum().backward();
    clip();
    expect_same(w.grad(), full({2}, 0.5));
  }
  EXPECT_EQ(clip.graph_count(), 1);
  const Tensor v = full({2}, 2.0);
  const auto g = compile([&](const Tensor& x) { return v.detach() * v * x; });
  EXPECT_FALSE(g(ones({2})).requires_grad());
  v.requires_grad_();
  EXPECT_TRUE(g(ones({2})).requires_grad());
}

TEST(Compile, ResultsThatShareMemory) {
  const auto f = compile([](const Tensor& x) {
    const Tensor y = x * 2;
    return std::tuple{y, y, y.detach(), y.t()};
  });
  const auto [a, b, c, d] = f(ones({2, 2}));
  a[0][1] = 7;
  expect_same(b, a);
  expect_same(c, a);
  expect_same(d, a.t());
  const auto g = compile([](const Tensor& x) {
    x.add_(1);
    return std::tuple{x.detach(), x[0]};
  });
  const Tensor x = zeros({2, 2});
  const auto [all, row] = g(x);
  x.mul_(5);
  expect_same(all, full({2, 2}, 5.0));
  expect_same(row, full({2}, 5.0));
}

TEST(Compile, SeedsSetInside) {
  const auto fn = [](const Tensor& x) {
    manual_seed(3);
    return x + rand({2});
  };
  const auto f = compile(fn);
  const Tensor expected = fn(ones({2}));
  for (int i = 0; i < 3; ++i) expect_same(f(ones({2})), expected);
}

TEST(Compile, ReturnsWhatEagerWouldShare) {
  const Tensor x = randn({2, 3});
  const auto f = compile([](const Tensor& t) {
    return std::tuple{t, t.t(), t.clone(), t.clone(), t[0]};
  });
  const auto [same, turned, copy, other, row] = f(x);
  EXPECT_EQ(same.data_ptr(), x.data_ptr());
  EXPECT_EQ(turned.data_ptr(), x.data_ptr());
  EXPECT_EQ(turned.strides(), x.t().strides());
  EXPECT_EQ(row.data_ptr(), x.data_ptr());
  EXPECT_NE(copy.data_ptr(), x.data_ptr());
  EXPECT_NE(copy.data_ptr(), other.data_ptr());
  expect_same(copy, x);
}

TEST(Compile, FlagsThatWereReadArePartOfTheSignature) {
  Flag training = true;
  const auto f = compile([&](const Tensor& x) { return training ? x * 2 : x; });
  const Tensor x = randn({3});
  expect_same(f(x), x * 2);
  training = false;
  expect_same(f(x), x);
  training = true;
  expect_same(f(x), x * 2);
  EXPECT_EQ(f.graph_count(), 2);
  EXPECT_NE(f.explain().find("training mode"), std::string::npos);
}

TEST(Compile, FlagsThatAreReadWithinATransformCountToo) {
  Flag training = true;
  const auto f = compile([&](const Tensor& x) {
    return vmap([&](const Tensor& row) { return training ? row * 2 : row; }, {0}, 0)(x);
  });
  const Tensor x = randn({3, 2});
  expect_same(f(x), x * 2);
  training = false;
  expect_same(f(x), x);
}

TEST(Compile, ParametersMayBeViews) {
  Tensor a = arange(6.).reshape({2, 3}).requires_grad_(),
         b = arange(6.).reshape({2, 3}).requires_grad_();
  const auto step = [](Tensor& w) {
    return [&w](const Tensor& x) {
      w.mutable_grad().reset();
      const Tensor loss = (w * x).pow(2).sum();
      loss.backward();
      const NoGradGuard no_grad;
      w.sub_(w.grad() * 0.1);
      return loss.detach();
    };
  };
  const auto eager = step(a);
  const auto compiled = compile(step(b));
  const Tensor x = randn({2, 3});
  for (int i = 0; i < 3; ++i) expect_same(eager(x), compiled(x));
  expect_same(a.detach(), b.detach());
  expect_same(a.grad(), b.grad());
}

TEST(Compile, FlagsThatTheFunctionSetsAreSetByEachCall) {
  Flag training = true, other = false;
  int recorded = 0;
  const auto evaluate = compile([&](const Tensor& x) {
    ++recorded;
    const bool before = other;
    training = false;
    other = true;
    const Tensor y = training ? x * 2 : x * 3;
    return before ? y + 1 : y;
  });
  const Tensor x = randn({3});
  for (int i = 0; i < 4; ++i) {
    training = i % 2 == 0;
    other = false;
    expect_same(evaluate(x), x * 3);
    EXPECT_FALSE(training);
    EXPECT_TRUE(other);
  }
  EXPECT_EQ(recorded, 1);
  expect_same(evaluate(x), x * 3 + 1);
  EXPECT_EQ(recorded, 2);
  // As before where the function did not come to its end.
  const auto fails = compile([&](const Tensor& t) {
    training = true;
    return t.item();
  });
  EXPECT_ANY_THROW(fails(x[0]));
  EXPECT_FALSE(training);
}

TEST(Compile, FlagsMayDieBeforeTheCompiledFunction) {
  const auto f = compile([](const Tensor& x) {
    const Flag training = true;
    return training ? x * 2 : x;
  });
  const Tensor x = randn({3});
  expect_same(f(x), x * 2);
  expect_same(f(x), x * 2);
  EXPECT_EQ(f.graph_count(), 1);
}

TEST(Compile, RandomNumbersAreThoseOfEager) {
  const auto fn = [](const Tensor& x) { return x * (rand_like(x) > 0.5) + randn({3}); };
  const auto f = compile(fn);
  const Tensor x = randn({4, 3});
  manual_seed(11);
  const Tensor a = fn(x), b = fn(x), c = rand({2});
  manual_seed(11);
  expect_same(f(x), a);
  expect_same(f(x), b);
  expect_same(rand({2}), c);
}

TEST(Compile, GradientsFlowThroughACall) {
  Tensor w = randn({4, 2}, requires_grad()), x = randn({3, 4}, requires_grad());
  const auto fn = [&](const Tensor& t) { return (t.mm(w)).tanh() * t.sum(); };
  const auto f = compile(fn);
  const auto check = [&](const auto& in) {
    const auto eager = autograd::grad({fn(in()).pow(2).sum()}, {x, w});
    const auto compiled = autograd::grad({f(in()).pow(2).sum()}, {x, w});
    for (int i = 0; i < 2; ++i) expect_same(compiled[i], eager[i]);
    const auto second = [&](const Tensor& y) {
      const Tensor g = autograd::grad({y.sum()}, {x}, {}, true, true)[0];
      return autograd::grad({g.pow(2).sum()}, {x, w});
    };
    const auto twice = second(fn(in())), compiled_twice = second(f(in()));
    for (int i = 0; i < 2; ++i) expect_close(compiled_twice[i], twice[i], 1e-4);
  };
  check([&] { return x; });
  check([&] { return x * 2; });  // not a leaf
  Tensor y = f(x).sum();
  y.backward();
  EXPECT_THROW_WITH(y.backward(), "second time");
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE(f(x).requires_grad());
  }
  y = f(x).sum();
  {
    const NoGradGuard no_grad;
    w.add_(1);
  }
  EXPECT_THROW_WITH(y.backward(), "modified by an inplace operation");
}

TEST(Compile, CallsInsideRecordedCodeAreInlined) {
  const auto inner = compile([](const Tensor& x) { return x.sin() * 2; });
  const auto outer = compile([&](const Tensor& x) { return inner(x) + inner(x + 1); });
  const Tensor x = randn({5});
  expect_same(outer(x), x.sin() * 2 + (x + 1).sin() * 2);
  EXPECT_EQ(inner.graph_count(), 0);
}

TEST(Compile, RefusalsLeaveEverythingAsItWas) {
  Tensor w = randn({3}, requires_grad()), buffer = zeros({3});
  w.mutable_grad() = ones({3});
  const Tensor before = w.detach().clone();
  const Tensor outside = w * w;  // has saved w
  const uint32_t version = w._version();
  const auto state = get_default_generator_state();
  const auto attempt = [&](auto fn, const char* message) {
    EXPECT_THROW_WITH(compile(fn)(ones({3})), message);
    expect_same(w, before);
    expect_same(w.grad(), ones({3}));
    expect_same(buffer, zeros({3}));
    EXPECT_EQ(w._version(), version);
    EXPECT_EQ(t_mode.recorder, nullptr);
    expect_same(get_default_generator_state(), state);
  };
  const auto touch = [&](const Tensor& x) {
    (x * w * rand({3})).sum().backward();
    const NoGradGuard no_grad;
    w.sub_(w.grad());
    buffer.add_(1);
  };
  attempt(
      [&](const Tensor& x) {
        touch(x);
        return x.sum().item<float>() > 0 ? x : -x;
      },
      "item: a value cannot be looked at while a function is being recorded");
  attempt(
      [&](const Tensor& x) {
        touch(x);
        return x.nonzero();
      },
      "nonzero: the shape of the result depends on values");
  attempt(
      [&](const Tensor& x) -> Tensor {
        touch(x);
        throw std::runtime_error("the user's own");
      },
      "the user's own");
  attempt(
      [&](const Tensor& x) {
        touch(x);
        return x.mm(x);
      },
      "mm");
  attempt([&](const Tensor& x) { return x * w[0].item<float>(); }, "item");
  outside.sum().backward();  // what was saved is still good
}

TEST(Compile, TensorsOfARecordingHaveNoValuesOutside) {
  Tensor leaked;
  const auto f = compile([&](const Tensor& x) {
    leaked = x * 2;
    return leaked + 1;
  });
  f(ones({2}));
  EXPECT_THROW_WITH(leaked.sum(), "while a function was being recorded");
  EXPECT_THROW_WITH(leaked.item(), "elements cannot be converted");
  EXPECT_THROW_WITH(leaked.data_ptr(), "while a function was being recorded");
  const auto g = compile([&](const Tensor& x) { return x + leaked; });
  EXPECT_THROW_WITH(g(ones({2})), "after that recording has ended");
}

TEST(Compile, TwoWaysToOneWrittenMemoryAreRefused) {
  Tensor x = ones({3});
  const auto f = compile([&](Tensor a) {
    a.add_(1);
    return x * 2;
  });
  EXPECT_THROW_WITH(f(x), "in two ways");
  const auto g = compile([](Tensor a, const Tensor& b) { a.add_(b); });
  EXPECT_THROW_WITH(g(x, x), "in two ways");
  expect_same(x, ones({3}));
  // With other tensors than those that it was recorded with, too.
  const auto add = compile([](Tensor a, const Tensor& b) {
    a.add_(1);
    return b * 2;
  });
  expect_same(add(zeros({3}), zeros({3})), zeros({3}));
  Tensor both = zeros({3}), one = zeros({1});
  EXPECT_THROW_WITH(add(both, both), "in two ways");
  expect_same(both, zeros({3}));
  EXPECT_THROW_WITH(add(one.expand({3}), both), "single memory location");
  EXPECT_EQ(add.graph_count(), 1);
}

TEST(Compile, VerifyComparesWithEager) {
  Tensor w = ones({2});
  const auto good = compile(
      [&](const Tensor& x) {
        w.mul_(2);
        return x * w + rand({2});
      },
      {.verify = true});
  manual_seed(1);
  const Tensor a = good(ones({2}));
  manual_seed(1);
  expect_same(a, full({2}, 2.0) + rand({2}));
  good(ones({2}));
  expect_same(w, full({2}, 4.0));
  double hidden = 0;
  const auto bad = compile([&](const Tensor& x) { return x + ++hidden; }, {.verify = true});
  EXPECT_THROW_WITH(bad(ones({2})), "compile (verify): result 0");
}

TEST(Compile, IndicesOutOfRangeNameTheOp) {
  const Tensor x = randn({2, 3}), bad = tensor({3});
  const auto f = compile([](const Tensor& t, const Tensor& i) { return t.index_select(1, i); });
  EXPECT_THROW_WITH(f(x, bad), "index: index 3 is out of bounds for dimension 1 with size 3");
  expect_same(f(x, tensor({2})), x.slice(1, 2));
}

TEST(Compile, TooManyGraphsRunEager) {
  const auto f = compile([](const Tensor& x) { return x + 1; }, {.max_graphs = 2});
  const test::Warnings warnings;
  for (int n = 1; n < 6; ++n) expect_same(f(ones({n})), full({n}, 2.0));
  EXPECT_EQ(f.graph_count(), 2);
  ASSERT_EQ(warnings.messages.size(), 1);  // once for a function
  EXPECT_NE(warnings.messages[0].find("2 graphs were made for one function"), std::string::npos);
  EXPECT_NE(f.explain().find("max_graphs"), std::string::npos);
}

TEST(Compile, ManyThreadsMayCallAtOnce) {
  const Tensor w = randn({16, 16});
  const auto fn = [&](const Tensor& x) { return (x.mm(w)).relu().sum(1); };
  const auto f = compile(fn);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = full({8 + i % 2, 16}, t + i * 0.25);
        if (!f(x).equal(fn(x))) ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.graph_count(), 2);
}

TEST(Compile, SteadyCallsAllocateNothingButTheirResults) {
  Tensor w = randn({32, 32});
  const auto f = compile([&](const Tensor& x) {
    const Tensor y = (x.mm(w)).relu();
    w.mul_(0.99);
    return (y.softmax(1) * y).sum(1).exp();
  });
  const Tensor x = randn({8, 32});
  for (int i = 0; i < 3; ++i) f(x);
  jit::wait_idle();
  f(x);
  const auto before = memory::stats();
  for (int i = 0; i < 10; ++i) f(x);
  EXPECT_EQ(memory::stats().allocations - before.allocations, 10);
  EXPECT_EQ(memory::stats().current, before.current);
}

TEST(Compile, AnotherBatchSizeMakesNoNewKernels) {
  const Tensor b = randn({20});
  const auto f = compile([&](const Tensor& x) { return ((x + b).tanh() * x).softmax(1); });
  f(randn({8, 20}));
  jit::wait_idle();
  const int64_t made = jit::stats().requested;
  const Tensor x = randn({13, 20});
  expect_same(f(x), ((x + b).tanh() * x).softmax(1));
  jit::wait_idle();
  EXPECT_EQ(jit::stats().requested, made);
  expect_same(f(x), ((x + b).tanh() * x).softmax(1));
}

TEST(Compile, AnomaliesAreFoundByTheOpsThemselves) {
  const auto step = compile([](const Tensor& t) {
    const Tensor loss = t.sqrt().sum();
    loss.backward();
    return loss.detach();
  });
  const Tensor bad = tensor({-1.0f, 4.0f}).requires_grad_();
  {
    const DetectAnomalyGuard anomaly;
    EXPECT_THROW_WITH(step(bad), "returned nan values in its 0th output. The forward op was sqrt");
    const Tensor good = tensor({1.0f, 4.0f}).requires_grad_();
    expect_same(step(good), tensor(3.0f));
    expect_same(good.grad(), tensor({0.5f, 0.25f}));
  }
  EXPECT_EQ(step.graph_count(), 0u);
  step(bad);
  EXPECT_EQ(step.graph_count(), 1u);
  EXPECT_TRUE(bad.grad().isnan()[0].item<bool>());
}

TEST(Compile, MasksNeedNoListOfPlaces) {
  manual_seed(3);
  const Tensor x = randn({3, 4}, requires_grad()), v = randn({}, requires_grad());
  const Tensor source = randn({12}, requires_grad());
  const auto check = [&](auto fn, const Tensor& mask) {
    const auto f = compile(fn);
    const auto results = [&](const auto& g) {
      const Tensor y = g(x, mask);
      auto grads = autograd::grad({(y * y).sum()}, {x, v, source}, {}, {}, false, true);
      grads.push_back(y);
      return grads;
    };
    for (const int round : {0, 1}) {
      (void)round;
      const auto got = results(f), expected = results(fn);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].defined(), expected[i].defined()) << i;
        if (got[i].defined()) expect_same(got[i], expected[i]);
      }
    }
    EXPECT_EQ(f.graph_count(), 1u);
  };
  const Tensor rows = tensor({1, 0, 1}).to(kBool), all = randn({3, 4}) > 0;
  const auto put = [&](const Tensor& t, const Tensor& mask) {
    const Tensor y = t * 1;
    y.index_put_({mask}, v);
    return y;
  };
  check(put, all);
  check(put, rows);
  check(put, tensor(1).to(kBool));
  check(put, tensor(0).to(kBool));
  check(
      [](const Tensor& t, const Tensor& mask) {
        const Tensor y = t * 1;
        y.index_put_({mask}, 7);
        return y;
      },
      rows);
  check([&](const Tensor& t, const Tensor& mask) { return t.masked_scatter(mask, source); }, all);
  check([&](const Tensor& t, const Tensor& mask) { return t.masked_scatter(mask, source); },
        tensor({0, 1, 1, 0}).to(kBool));
}

TEST(Compile, OpsWhoseResultsDependOnValuesAreNamed) {
  const Tensor x = tensor({1, 0, 2}, kLong);
  EXPECT_THROW_WITH(compile([](const Tensor& t) { return bincount(t); })(x),
                    "bincount: a value cannot be looked at while a function is being recorded");
  const auto scatter = compile([](const Tensor& t, const Tensor& mask, const Tensor& source) {
    return t.masked_scatter(mask, source);
  });
  const Tensor all = ones({3}, kBool);
  EXPECT_THROW_WITH(scatter(x, all, ones({2}, kLong)), "index 2 is out of");
  expect_same(scatter(x, all, tensor({4, 5, 6}, kLong)), tensor({4, 5, 6}, kLong));
}

}  // namespace
}  // namespace tandem
