// How arguments lie in memory: what copies and what shares is as in eager.
#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/transforms.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

/// Calls fn eager and compiled, twice, with arguments that `make` lays out; results and arguments
/// are the same after each call, and so is what shares memory.
template <class F, class Make>
void expect_as_eager(const F& fn, const Make& make) {
  const auto compiled = compile(fn);
  for (int i = 0; i < 2; ++i) {
    const Tensor x = make(), y = make();
    const Tensor eager = fn(x), result = compiled(y);
    expect_same(result, eager);
    expect_same(y, x);
    const NoGradGuard no_grad;
    eager.detach().add_(1);
    result.detach().add_(1);
    expect_same(y, x);
  }
  EXPECT_EQ(compiled.graph_count(), 1);
}

const auto kLayouts = [](const auto& check) {
  check([] { return arange(12.).reshape({3, 4}); });
  check([] { return arange(12.).reshape({4, 3}).t(); });
  check([] { return arange(24.).reshape({4, 6}).t().narrow(0, 1, 3); });
  check([] { return arange(24.).reshape({3, 8}).slice(1, 0, 8, 2); });
  check([] { return arange(24.).reshape({4, 6}).slice(1, 0, 6, 2).t(); });
};

TEST(ArgumentLayout, WritesToCopiesAndToViews) {
  kLayouts([](const auto& make) {
    expect_as_eager([](const Tensor& x) { return x.contiguous().mul_(2); }, make);
    expect_as_eager([](const Tensor& x) { return x.reshape({-1}).mul_(2); }, make);
    expect_as_eager([](const Tensor& x) { return x.t().reshape({-1}).mul_(2); }, make);
    expect_as_eager([](const Tensor& x) { return x.t().contiguous().mul_(2) + 1; }, make);
    expect_as_eager([](const Tensor& x) { return x.clone().mul_(2); }, make);
    expect_as_eager(
        [](const Tensor& x) {
          x[1].mul_(3);
          x.select(1, 2).add_(x.select(1, 0));
          return x.sum(0) * x.t()[0][0];
        },
        make);
    expect_as_eager([](const Tensor& x) { return x.mul_(2); }, make);
    expect_as_eager([](const Tensor& x) { return x.matmul(x.t()).tanh(); }, make);
  });
}

TEST(ArgumentLayout, TheFunctionSeesIt) {
  kLayouts([](const auto& make) {
    const auto fn = [](const Tensor& x) {
      return x.is_contiguous() ? x + x.stride(0) : x * static_cast<double>(x.stride(1));
    };
    const auto f = compile(fn);
    expect_same(f(make()), fn(make()));
  });
  const auto f = compile([](const Tensor& x) { return x.view({-1}) + 1; });
  EXPECT_THROW_WITH(f(arange(6.).reshape({2, 3}).t()), "view");
  expect_same(f(arange(6.).reshape({2, 3})), arange(1., 7.));
  const auto turned = compile([](const Tensor& x) { return x.t().view({-1}) + 1; });
  expect_same(turned(arange(6.).reshape({2, 3}).t()), arange(1., 7.));
}

TEST(ArgumentLayout, EachHasAGraph) {
  const auto f = compile([](const Tensor& x) { return x * 2; });
  const Tensor x = randn({3, 3});
  for (int i = 0; i < 3; ++i) {
    expect_same(f(x), x * 2);
    expect_same(f(x.t()), x.t() * 2);
  }
  EXPECT_EQ(f.graph_count(), 2);
  EXPECT_NE(f.explain().find("argument 0 lies in memory with strides [1, 3], not in row-major"),
            std::string::npos)
      << f.explain();
}

TEST(ArgumentLayout, ExpandedArgumentsAreReadAndNotWritten) {
  const auto read = compile([](const Tensor& x) { return x.contiguous().mul_(2) + x; });
  const Tensor row = arange(3.);
  expect_same(read(row.expand({2, 3})), row.expand({2, 3}) * 3);
  expect_same(read(row.unsqueeze(1).expand({3, 2})), row.unsqueeze(1).expand({3, 2}) * 3);
  const auto write = compile([](const Tensor& x) { x.mul_(2); });
  EXPECT_THROW_WITH(write(row.expand({2, 3})), "single memory location");
  expect_same(row, arange(3.));
}

TEST(ArgumentLayout, MemoryWithGapsCannotBeSeenAsSuch) {
  const auto f = compile([](const Tensor& x) { return x.as_strided({2}, {1}) + 0; });
  expect_same(f(arange(6.).reshape({2, 3}).t()), arange(2.));
  EXPECT_THROW_WITH(f(arange(6.).reshape({2, 3}).narrow(1, 0, 2)), "Pass it as contiguous()");
}

TEST(ArgumentLayout, Gradients) {
  kLayouts([](const auto& make) {
    const auto fn = [](const Tensor& x) { return (x.reshape({-1}) * x.t().reshape({-1})).exp(); };
    const auto f = compile(fn);
    const auto derivatives = [&](const auto& g, bool is_leaf) {
      const Tensor source = make().mul_(0.01).requires_grad_();
      const Tensor x = is_leaf ? source : source.narrow(0, 0, source.size(0));
      const Tensor plain = autograd::grad({g(x).sum()}, {source})[0];
      const Tensor first = autograd::grad({g(x).sum()}, {source}, {}, true, true)[0];
      return std::tuple{plain, first, autograd::grad({first.sum()}, {source})[0]};
    };
    for (const bool is_leaf : {false, true}) {
      const auto [plain, first, second] = derivatives(f, is_leaf);
      const auto [plain_eager, first_eager, second_eager] = derivatives(fn, is_leaf);
      expect_close(plain, plain_eager, 1e-6);
      expect_close(first, first_eager, 1e-6);
      expect_close(second, second_eager, 1e-6);
    }
  });
}

TEST(ArgumentLayout, BackwardInsideReachesALeaf) {
  const auto fn = [](const Tensor& w, const Tensor& x) {
    const Tensor loss = (w.t().reshape({-1}) * x.reshape({-1})).pow(2).sum();
    loss.backward();
    return loss.detach();
  };
  const auto f = compile(fn);
  const auto turned = [] {
    Tensor w = empty({3, 4}).t();
    w.copy_(arange(12.).reshape({4, 3}));
    return w.requires_grad_();
  };
  const Tensor a = turned(), b = turned();
  EXPECT_FALSE(a.is_contiguous());
  for (int i = 0; i < 3; ++i) {
    const Tensor x = randn({4, 3}).t();
    expect_close(f(a, x), fn(b, x), 1e-6);
    expect_close(a.grad(), b.grad(), 1e-6);
  }
}

}  // namespace
}  // namespace tandem
