#include <cmath>

#include "tandem/autograd/gradcheck.h"
#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using autograd::grad;
using test::expect_near;
using test::leaf;
using test::values;

// The n-th derivative of a function that works element by element.
template <class F>
Tensor derivative(F f, const Tensor& x, int n) {
  Tensor y = f(x);
  for (int i = 0; i < n; ++i)
    y = grad({y}, {x}, {ones_like(y)}, std::nullopt, /*create_graph=*/true)[0];
  return y;
}

TEST(HigherOrder, ThirdDerivatives) {
  Tensor x = values({3}, {-0.7, 0.2, 1.1}).requires_grad_();
  std::vector<double> tanh3, exp3, sin3, log3, cube3, sigmoid2;
  for (double v : test::list(x)) {
    const double t = std::tanh(v), s = 1 / (1 + std::exp(-v));
    tanh3.push_back((1 - t * t) * (6 * t * t - 2));
    exp3.push_back(std::exp(v));
    sin3.push_back(-std::cos(v));
    log3.push_back(4 / (v * v * v));
    cube3.push_back(60 * v * v);
    sigmoid2.push_back(s * (1 - s) * (1 - 2 * s));
  }
  expect_near(derivative([](const Tensor& x) { return x.tanh(); }, x, 3), tanh3);
  expect_near(derivative([](const Tensor& x) { return x.exp(); }, x, 3), exp3);
  expect_near(derivative([](const Tensor& x) { return x.sin(); }, x, 3), sin3);
  expect_near(derivative([](const Tensor& x) { return (x * x).log(); }, x, 3), log3, 1e-7);
  expect_near(derivative([](const Tensor& x) { return x.pow(5); }, x, 3), cube3);
  expect_near(derivative([](const Tensor& x) { return x.sigmoid(); }, x, 2), sigmoid2);
}

TEST(HigherOrder, AHessianTimesAVector) {
  // f = sum(A x * A x) / 2 has the Hessian A^T A.
  Tensor A = leaf({4, 3}).detach(), x = leaf({3, 1}, 2), v = leaf({3, 1}, 3).detach();
  Tensor r = A.mm(x);
  Tensor g = grad({r}, {x}, {r}, std::nullopt, /*create_graph=*/true)[0];
  // r is its own weight above, so g = A^T A x.
  expect_near(grad({g}, {x}, {v})[0], A.t().mm(A).mm(v));
}

TEST(HigherOrder, ThroughViewsAndProducts) {
  auto fn = [](const Tensor& x, const Tensor& w) {
    Tensor h = x.mm(w).tanh();
    return h.t()[1] * h.slice(1, 0, 1).squeeze(1);
  };
  EXPECT_TRUE(gradcheck(fn, {leaf({3, 2}), leaf({2, 2}, 2)}));
  EXPECT_TRUE(gradgradcheck(fn, {leaf({3, 2}), leaf({2, 2}, 2)}));
}

TEST(HigherOrder, MixedDerivativesCommute) {
  Tensor x = values({}, {0.3}).requires_grad_(), y = values({}, {-0.8}).requires_grad_();
  auto f = [&] { return (x * y).sin() * x.exp(); };
  auto d = [](const Tensor& z, const Tensor& by) {
    return grad({z}, {by}, {}, std::nullopt, true)[0];
  };
  const Tensor xy = d(d(f(), x), y), yx = d(d(f(), y), x);
  EXPECT_NEAR(xy.item<double>(), yx.item<double>(), 1e-12);
}

TEST(HigherOrder, GradientPenalty) {
  // The gradient of a function of a gradient, as in training with a gradient penalty.
  auto penalty = [](const Tensor& x, const Tensor& w) {
    Tensor y = x.mm(w).tanh();
    Tensor g = grad({y}, {x}, {ones_like(y)}, std::nullopt, /*create_graph=*/true)[0];
    return g * g;
  };
  EXPECT_TRUE(gradcheck(penalty, {leaf({2, 3}), leaf({3, 2}, 2)}));
}

}  // namespace
}  // namespace tandem
