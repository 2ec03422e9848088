// What the op table does not show of reductions: shapes, dtypes, special values, gradients at
// kinks.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/autograd/autograd.h"
#include "tandem/base/parallel.h"
#include "tests/ops/numbers.h"

namespace tandem {
namespace {

Numbers grad_of_sum(const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  Tensor leaf = x.detach().clone();
  leaf.requires_grad_();
  f(leaf).sum().backward();
  return numbers(leaf.grad());
}

TEST(Reduction, ShapesAndDTypes) {
  const Tensor x = ones({2, 3, 4}, kInt);
  EXPECT_EQ(x.sum().dtype(), kLong);
  EXPECT_EQ(x.sum().item<int64_t>(), 24);
  EXPECT_EQ(x.sum(1).sizes(), (IntArrayRef{2, 4}));
  EXPECT_EQ(x.sum({0, -1}, true).sizes(), (IntArrayRef{1, 3, 1}));
  EXPECT_EQ(x.sum(kFloat).dtype(), kFloat);
  EXPECT_EQ(x.to(kBool).sum().item<int64_t>(), 24);
  EXPECT_EQ(x.to(kHalf).mean().dtype(), kHalf);
  EXPECT_EQ(x.mean(kDouble).item<double>(), 1);
  EXPECT_EQ(x.any(0).dtype(), kBool);
  EXPECT_EQ(x.to(kByte).any().dtype(), kByte);
  EXPECT_EQ(x.argmax(1, true).sizes(), (IntArrayRef{2, 1, 4}));
  EXPECT_EQ(x.argmax().dim(), 0);
  EXPECT_EQ(x.count_nonzero({0, 1}).sizes(), (IntArrayRef{4}));
  EXPECT_EQ(std::get<0>(x.max(2)).sizes(), (IntArrayRef{2, 3}));
  EXPECT_EQ(std::get<1>(x.min(2, true)).dtype(), kLong);
  const Tensor scalar = scalar_tensor(3.0);
  EXPECT_EQ(scalar.sum(0).item<double>(), 3);
  EXPECT_EQ(std::get<0>(scalar.max(-1)).item<double>(), 3);
  EXPECT_EQ(scalar.softmax(0).item<double>(), 1);
}

TEST(Reduction, Errors) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(error_of([&] { ones({2}, kLong).mean(); }),
            "mean: could not infer output dtype. Input dtype must be either a floating point or "
            "complex dtype. Got: Long");
  EXPECT_EQ(error_of([&] { x.sum(2); }),
            "sum: Dimension out of range (expected to be in range of [-2, 1], but got 2)");
  EXPECT_EQ(error_of([&] {
              x.sum({0, -2});
            }),
            "sum: dim 0 appears multiple times in the list of dims");
  EXPECT_NE(error_of([&] { empty({0}).max(); }).find("max: Expected reduction dim"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              empty({2, 0}).amax({1});
            }).find("amax: Expected reduction dim 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] { ones({2}, kInt).var(); }).find("var: only support floating point"),
            std::string::npos);
  EXPECT_NE(error_of([&] { ones({2}, kInt).norm(); }).find("norm: Expected a floating point"),
            std::string::npos);
  EXPECT_NE(error_of([&] { ones({2}, kInt).softmax(0); }).find("softmax: not implemented"),
            std::string::npos);
}

TEST(Reduction, SpecialValues) {
  const Tensor x = make({1, kNan, 3}, {3});
  EXPECT_TRUE(std::isnan(x.sum().item<double>()));
  EXPECT_EQ(x.nansum().item<double>(), 4);
  EXPECT_EQ(x.nanmean().item<double>(), 2);
  EXPECT_TRUE(std::isnan(x.max().item<double>()));
  EXPECT_EQ(x.argmax().item<int64_t>(), 1);
  EXPECT_EQ(grad_of_sum(x, [](const Tensor& t) { return t.nansum(); }), (Numbers{1, 0, 1}));
  EXPECT_TRUE(std::isnan(ones({1}).var().item<double>()));
  EXPECT_TRUE(std::isnan(empty({0}).mean().item<double>()));
  const double inf = INFINITY;
  EXPECT_EQ(make({-inf, -inf}, {2}).logsumexp(0).item<double>(), -inf);
  EXPECT_EQ(make({1000, 1000}, {2}).logsumexp(0).item<double>(), 1000 + std::log(2.0));
  EXPECT_EQ(numbers(make({1000, 1000, -inf}, {3}).softmax(0)), (Numbers{0.5, 0.5, 0}));
}

TEST(Reduction, ProductsWithZerosHaveGradients) {
  const auto prod = [](const Tensor& t) { return t.prod(); };
  EXPECT_EQ(grad_of_sum(make({2, 3, 4}, {3}), prod), (Numbers{12, 8, 6}));
  EXPECT_EQ(grad_of_sum(make({2, 0, 4}, {3}), prod), (Numbers{0, 8, 0}));
  EXPECT_EQ(grad_of_sum(make({2, 0, 0}, {3}), prod), (Numbers{0, 0, 0}));
  EXPECT_EQ(grad_of_sum(make({2, 3, 0, 5}, {2, 2}), [](const Tensor& t) { return t.prod(1); }),
            (Numbers{3, 2, 5, 0}));
  EXPECT_EQ(grad_of_sum(make({2, 0, 4}, {3}), [](const Tensor& t) { return t.cumprod(0); }),
            (Numbers{1, 2 + 2 * 4, 0}));
  // Second derivatives: of 2 * 0 * 4 by the first and the second is 4.
  Tensor x = make({2, 0, 4}, {3});
  x.requires_grad_();
  const Tensor g = autograd::grad({x.prod()}, {x}, {}, {}, /*create_graph=*/true)[0];
  const Tensor second = autograd::grad({g[0]}, {x})[0];
  EXPECT_EQ(numbers(second), (Numbers{0, 4, 0}));
}

TEST(Reduction, TiesShareTheGradientOfAmaxAndMax) {
  const Tensor x = make({1, 3, 3, 2}, {4});
  EXPECT_EQ(grad_of_sum(x, [](const Tensor& t) { return t.amax(); }), (Numbers{0, 0.5, 0.5, 0}));
  EXPECT_EQ(grad_of_sum(x, [](const Tensor& t) { return t.max(); }), (Numbers{0, 0.5, 0.5, 0}));
  EXPECT_EQ(grad_of_sum(x, [](const Tensor& t) { return std::get<0>(t.max(0)); }),
            (Numbers{0, 1, 0, 0}));
}

TEST(Reduction, GradientsAtKinks) {
  const Tensor zero = zeros({3}, kDouble);
  for (double p : {1.0, 1.5, 2.0, 3.0})
    EXPECT_EQ(grad_of_sum(zero, [&](const Tensor& t) { return t.norm(p); }), (Numbers{0, 0, 0}))
        << p;
  EXPECT_EQ(grad_of_sum(zero, [](const Tensor& t) { return t.std(); }), (Numbers{0, 0, 0}));
  EXPECT_EQ(grad_of_sum(make({-3, 3, 1}, {3}), [](const Tensor& t) { return t.norm(INFINITY); }),
            (Numbers{-0.5, 0.5, 0}));
}

TEST(Reduction, VarianceArguments) {
  const Tensor x = make({1, 2, 3, 4}, {2, 2});
  EXPECT_DOUBLE_EQ(x.var().item<double>(), 5.0 / 3);
  EXPECT_DOUBLE_EQ(x.var(false).item<double>(), 1.25);
  EXPECT_EQ(numbers(x.var({0}, true)), (Numbers{2, 2}));
  EXPECT_EQ(numbers(x.var({1}, /*correction=*/0)), (Numbers{0.25, 0.25}));
  EXPECT_EQ(x.std({0, 1}, true, true).sizes(), (IntArrayRef{1, 1}));
  auto [var, mean] = var_mean(x, {0}, false);
  EXPECT_EQ(numbers(var), (Numbers{1, 1}));
  EXPECT_EQ(numbers(mean), (Numbers{2, 3}));
}

TEST(Reduction, SoftmaxRowsSumToOneForAnyDimension) {
  manual_seed(1);
  const Tensor x = randn({5, 7, 3}, kDouble);
  for (int64_t dim : {0, 1, 2}) {
    const Tensor y = x.softmax(dim), l = x.log_softmax(dim);
    for (double s : numbers(y.sum(dim))) EXPECT_NEAR(s, 1, 1e-14);
    const Numbers a = numbers(y.log()), b = numbers(l);
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-13);
  }
  const Tensor wide = randn({3, 10000});
  for (double s : numbers(wide.softmax(1).sum(1))) EXPECT_NEAR(s, 1, 1e-5);
  EXPECT_EQ(x.to(kHalf).softmax(0, kFloat).dtype(), kFloat);
}

}  // namespace
}  // namespace tandem
