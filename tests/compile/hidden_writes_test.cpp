// Writes that autograd does not see: without grad mode, or through detach() or data(). Values
// change, and gradients go by the history that the tensor had before, wherever they are found.
#include <functional>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/trace.h"
#include "tandem/compile/transforms.h"
#include "tandem/compile/vmap.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

using Fn = std::function<Tensor(const Tensor& x, const Tensor& w)>;

struct Case {
  const char* name;
  Fn fn;
};

// Each takes two rows of three and returns numbers.
const Case kCases[] = {
    {"no grad mode",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       {
         const NoGradGuard no_grad;
         y.clamp_(-0.5, 0.5);
       }
       return y * y * x;
     }},
    {"detach",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       y.detach().mul_(3);
       return y * y;
     }},
    {"data",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       y.data().add_(x.detach());
       return y * y + w;
     }},
    {"the result itself",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w * x;
       y.data().round_();
       return y;
     }},
    {"a part",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       y.detach()[0].zero_();
       {
         const NoGradGuard no_grad;
         y.select(-1, 1).mul_(-2);
       }
       return y * y * w;
     }},
    {"twice, and seen between",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       y.detach().mul_(2);
       const Tensor z = y + w;
       y.detach().sub_(0.5);
       return z * z + y * w;
     }},
    {"a write with history after it",
     [](const Tensor& x, const Tensor& w) {
       Tensor y = x * w;
       y.detach().mul_(2);
       y.mul_(w);
       return y * y;
     }},
    {"a part with history after it",
     [](const Tensor& x, const Tensor& w) {
       Tensor y = x * w;
       y.detach().mul_(2);
       y[0].copy_(w[0] * w[0]);
       return y * y;
     }},
    {"overwritten after it",
     [](const Tensor& x, const Tensor& w) {
       Tensor y = x * w;
       y.detach().mul_(2);
       y.copy_(w * 3);
       return y * x;
     }},
    {"a view from before",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       const Tensor v = y.t();
       y.detach().mul_(2);
       return (v * v).t() + y;
     }},
    {"who has no history",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w, d = y.detach();
       d.mul_(2);
       return d * x + y * w;
     }},
    {"who has another history",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w, d = y.detach();
       d.mul_(w);
       return d * x + y * d;
     }},
    {"a part with another history",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w, d = y.detach();
       d[0].mul_(w[0]);
       return d * x + y * d;
     }},
    {"an alias of an alias",
     [](const Tensor& x, const Tensor& w) {
       const Tensor y = x * w;
       y.t().detach().data().mul_(-1);
       return y * y;
     }},
};

/// First derivatives of fn(x, w) by both, and second ones of the first.
std::vector<Tensor> derivatives(const Fn& fn, const Tensor& x_at, const Tensor& w_at) {
  const Tensor x = x_at.clone().requires_grad_(), w = w_at.clone().requires_grad_();
  const Tensor out = fn(x, w);
  std::vector<Tensor> all{out};
  const variable_list first =
      autograd::grad({(out * (out.detach() + 1)).sum()}, {x, w}, {}, true, /*create_graph=*/true);
  Tensor total = zeros({});
  for (const Tensor& g : first) {
    all.push_back(g);
    total = total + (g * g).sum();
  }
  for (const Tensor& g : autograd::grad({total}, {x, w}, {}, false, false, true))
    all.push_back(g.defined() ? g : zeros_like(x));
  return all;
}

void expect_derivatives_of_eager(const Fn& fn, const Fn& expected, const Tensor& x,
                                 const Tensor& w) {
  const std::vector<Tensor> a = derivatives(fn, x, w), b = derivatives(expected, x, w);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(str("value ", i));
    expect_close(a[i], b[i], 1e-5);
  }
}

class HiddenWrites : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { manual_seed(3); }
  const Fn& fn_ = GetParam().fn;
  Tensor x_ = randn({2, 3}), w_ = randn({2, 3});
};

TEST_P(HiddenWrites, CompiledCalls) { expect_derivatives_of_eager(compile(fn_), fn_, x_, w_); }

TEST_P(HiddenWrites, TracedGraphs) {
  // Whichever inputs are differentiated later.
  for (const bool known : {false, true}) {
    const Graph g = trace(fn_, {x_.clone().set_requires_grad(known), w_});
    expect_derivatives_of_eager(
        [&](const Tensor& x, const Tensor& w) {
          return g.run({x, w})[0];
        },
        fn_, x_, w_);
    const Graph parsed = Graph::parse(str(g));
    EXPECT_EQ(structural_hash(parsed), structural_hash(g));
  }
}

TEST_P(HiddenWrites, Vmap) {
  const auto many = vmap(fn_);
  const auto loop = [&](const Tensor& x, const Tensor& w) {
    return stack({fn_(x[0], w[0]), fn_(x[1], w[1])});
  };
  expect_derivatives_of_eager(many, loop, randn({2, 2, 3}), randn({2, 2, 3}));
  // One of them is the same for all samples.
  const auto shared = vmap(fn_, {0, none});
  const auto shared_loop = [&](const Tensor& x, const Tensor& w) {
    return stack({fn_(x[0], w), fn_(x[1], w)});
  };
  expect_derivatives_of_eager(shared, shared_loop, randn({2, 2, 3}), randn({2, 3}));
}

TEST_P(HiddenWrites, Choices) {
  const auto chosen = [&](const Tensor& x, const Tensor& w) {
    return cond(
        x.sum() > -100, [&] { return fn_(x, w); }, [&] { return x * w; });
  };
  expect_derivatives_of_eager(compile(chosen), fn_, x_, w_);
}

TEST_P(HiddenWrites, Jacobians) {
  const auto by_x = [&](const Tensor& x) { return fn_(x, w_); };
  expect_close(jacobian(compile(by_x), x_), jacobian(by_x, x_), 1e-5);
  expect_close(compile([&](const Tensor& x) { return jacobian(by_x, x); })(x_), jacobian(by_x, x_),
               1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, HiddenWrites, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST(HiddenWritesOutside, LeavesThatAreScaledInside) {
  // The gradient of a leaf is that by its value when it is read, as in eager.
  const auto fn = [](const Tensor& w, const Tensor& x) {
    {
      const NoGradGuard no_grad;
      w.mul_(0.5);
    }
    return (x * w * w).sum();
  };
  const Tensor x = tensor({1.0f, 2.0f});
  const auto gradient = [&](const auto& f) {
    const Tensor w = tensor({3.0f, 4.0f}).requires_grad_();
    f(w, x).backward();
    expect_same(w, tensor({1.5f, 2.0f}));
    return w.grad();
  };
  const Tensor expected = gradient(fn);
  expect_same(expected, tensor({3.0f, 8.0f}));
  expect_same(gradient(compile(fn)), expected);
  expect_same(gradient([&](const Tensor& w, const Tensor& x) {
                return compile([&](const Tensor& x) { return fn(w, x); })(x);
              }),
              expected);
  expect_same(gradient([&](const Tensor& w, const Tensor& x) {
                return vmap([&](const Tensor& s) { return fn(w, s); })(x.reshape({1, 2})).sum();
              }),
              expected);
}

TEST(HiddenWritesOutside, PlansDoNotKnowOfThem) {
  const auto f = compile([](const Tensor& x) {
    Tensor y = x * 2;
    y.detach().add_(1);
    return y * y;
  });
  const Tensor x = randn({8}, requires_grad());
  f(x);
  EXPECT_NE(str(f.graph()).find("hidden_write"), std::string::npos) << f.graph();
  EXPECT_EQ(str(f.optimised_graph()).find("hidden_write"), std::string::npos)
      << f.optimised_graph();
  // Nor do graphs of functions that write and do not read again, such as steps of optimisers.
  const Graph step = trace(
      [](const Tensor& w, const Tensor& g) {
        const NoGradGuard no_grad;
        w.sub_(g * 0.1);
        w.sub_(g * 0.1);
        return w.sum();
      },
      {randn({4}, requires_grad()), randn({4})});
  EXPECT_EQ(str(step).find("hidden_write"), std::string::npos) << step;
}

TEST(HiddenWritesOutside, TextsThatDoNotFit) {
  const auto text = [](const char* second) {
    return str("graph(%0, %1)\n%0 = input : float32 [2, 3]\n%1 = input : ", second,
               "\n%2 = hidden_write(%0, %1) : float32 [2, 3]\nreturn %2\n");
  };
  EXPECT_NO_THROW(Graph::parse(text("float32 [2, 3]")));
  EXPECT_THROW_WITH(Graph::parse(text("float32 [3]")), "hidden_write: [3] cannot take the place");
  EXPECT_THROW_WITH(Graph::parse(text("int64 [2, 3]")), "hidden_write: int64 cannot take");
}

}  // namespace
}  // namespace tandem
