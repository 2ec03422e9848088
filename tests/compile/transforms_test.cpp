#include "tandem/compile/transforms.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/autograd/gradcheck.h"
#include "tandem/compile/compile.h"
#include "tests/autograd/helpers.h"
#include "tests/compile/helpers.h"

namespace tandem {
namespace {

using test::error_of;
using test::expect_near;
using test::leaf;

Tensor data(IntArrayRef sizes, uint64_t seed = 1) { return leaf(sizes, seed).detach(); }

// A backward pass for each element of the result.
template <class F>
std::vector<Tensor> jacobian_by_loop(F fn, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> args;
  for (const Tensor& x : inputs) args.push_back(x.detach().requires_grad_());
  const Tensor y = autograd::tensor_function(fn)(args)[0], flat = y.flatten();
  std::vector<std::vector<Tensor>> rows(inputs.size());
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const auto g = autograd::grad({flat[i]}, args, {}, true, false, true);
    for (size_t k = 0; k < args.size(); ++k)
      rows[k].push_back(g[k].defined() ? g[k] : zeros_like(args[k].detach()));
  }
  std::vector<Tensor> result;
  for (size_t k = 0; k < args.size(); ++k) {
    Dims sizes = y.sizes();
    sizes.append(inputs[k].sizes().begin(), inputs[k].sizes().end());
    result.push_back(stack(rows[k]).reshape(sizes));
  }
  return result;
}

TEST(Jacobian, OfPointwiseFunctionIsDiagonal) {
  const Tensor x = data({4});
  const Tensor j = jacobian([](const Tensor& v) { return v.exp(); }, x);
  expect_near(j, diag(x.exp()));
  EXPECT_FALSE(j.requires_grad());
}

TEST(Jacobian, HasTheShapesOfResultAndInput) {
  const Tensor x = data({2, 3}), w = data({3, 2}, 2);
  const auto f = [](const Tensor& a, const Tensor& b) { return a.matmul(b).tanh(); };
  const std::vector<Tensor> j = jacobian(f, {x, w});
  EXPECT_EQ(j[0].sizes(), IntArrayRef({2, 2, 2, 3}));
  EXPECT_EQ(j[1].sizes(), IntArrayRef({2, 2, 3, 2}));
  const auto expected = jacobian_by_loop(f, {x, w});
  for (size_t i = 0; i < 2; ++i) expect_near(j[i], expected[i]);
}

TEST(Jacobian, OfFloat32) {
  const Tensor x = data({3}).to(kFloat);
  const Tensor j = jacobian([](const Tensor& v) { return v.square(); }, x);
  EXPECT_EQ(j.dtype(), kFloat);
  expect_near(j, diag(x * 2), 1e-6);
}

TEST(Jacobian, IsZeroWhereNothingDepends) {
  const Tensor x = data({3}), y = data({2}, 2);
  const auto j = jacobian([](const Tensor& a, const Tensor&) { return a * 2; }, {x, y});
  expect_near(j[1], zeros({3, 2}, kDouble));
  expect_near(jacobian([&](const Tensor&) { return y; }, x), zeros({2, 3}, kDouble));
  EXPECT_EQ(jacobian([](const Tensor& a) { return a.narrow(0, 0, 0); }, x).sizes(),
            IntArrayRef({0, 3}));
}

// -- the nets of the study: fully connected, convolutional, recurrent ---------------------------

struct Net {
  std::vector<Tensor> parameters;
  autograd::TensorFunction forward;  // of the parameters
};

Net fully_connected() {
  const Tensor x = data({2, 5}, 9);
  return {{data({5, 4}), data({4}, 2), data({4, 3}, 3), data({3}, 4)},
          [x](const variable_list& p) -> variable_list {
            return {addmm(p[3], addmm(p[1], x, p[0]).tanh(), p[2]).sigmoid()};
          }};
}

Net convolutional() {
  const Tensor x = data({1, 2, 6, 6}, 9);
  return {{data({3, 2, 3, 3}), data({3}, 2), data({12, 2}, 3)},
          [x](const variable_list& p) -> variable_list {
            // Windows of 3 x 3 as rows, times the filters.
            const Tensor windows = x.unfold(2, 3, 1).unfold(3, 3, 1);  // [1, 2, 4, 4, 3, 3]
            const Tensor rows = windows.permute({0, 2, 3, 1, 4, 5}).reshape({16, 18});
            const Tensor maps = (rows.matmul(p[0].reshape({3, 18}).t()) + p[1]).relu();
            const Tensor image = maps.t().reshape({3, 4, 4});
            const Tensor pooled = image.unfold(1, 2, 2).unfold(2, 2, 2).amax({-2, -1});
            return {pooled.reshape({1, 12}).matmul(p[2])};
          }};
}

Net recurrent() {
  const Tensor x = data({3, 2, 4}, 9);  // steps, batch, features
  return {{data({4, 12}), data({3, 12}, 2), data({12}, 3)},
          [x](const variable_list& p) -> variable_list {
            Tensor h = zeros({2, 3}, kDouble), c = zeros({2, 3}, kDouble);
            for (int64_t t = 0; t < 3; ++t) {
              const auto gates = (x[t].matmul(p[0]) + h.matmul(p[1]) + p[2]).chunk(4, 1);
              c = gates[0].sigmoid() * c + gates[1].sigmoid() * gates[2].tanh();
              h = gates[3].sigmoid() * c.tanh();
            }
            return {h};
          }};
}

// The same kinds of nets by the layers' own ops, which have kernels for backward.
Net of_convolutions() {
  const Tensor x = data({1, 2, 8, 8}, 9);
  return {{data({3, 2, 3, 3}), data({3}, 2), data({4, 27}, 3), data({4}, 4)},
          [x](const variable_list& p) -> variable_list {
            const Tensor maps = max_pool2d(conv2d(x, p[0], p[1]).relu(), {2, 2});
            return {linear(maps.flatten(1), p[2], p[3])};
          }};
}
Net of_lstm_layers() {
  const Tensor x = data({4, 2, 3}, 9), state = zeros({1, 2, 5}, kDouble);
  return {{data({20, 3}), data({20, 5}, 2), data({20}, 3), data({20}, 4)},
          [=](const variable_list& p) -> variable_list {
            return {std::get<0>(
                lstm(x, {state, state}, p, /*has_biases=*/true, 1, 0.0, false, false, false))};
          }};
}

void expect_same_jacobians(const Net& net) {
  const std::vector<Tensor> expected = jacobian_by_loop(net.forward, net.parameters);
  const std::vector<Tensor> got = jacobian(net.forward, net.parameters);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i]);
}

// How many ops a Jacobian of that function takes beside the call itself.
int ops_of_jacobian(const Net& net) {
  OpCount ops;
  jacobian(net.forward, net.parameters);
  return ops.count;
}

TEST(JacobianOfNets, FullyConnectedEqualsALoop) { expect_same_jacobians(fully_connected()); }
TEST(JacobianOfNets, ConvolutionalEqualsALoop) { expect_same_jacobians(convolutional()); }
TEST(JacobianOfNets, RecurrentEqualsALoop) { expect_same_jacobians(recurrent()); }

TEST(JacobianOfNets, LayersWithKernelsEqualALoop) {
  expect_same_jacobians(of_convolutions());
  expect_same_jacobians(of_lstm_layers());
}

// The same net with that many of its results.
Net with_rows(const Net& net, int64_t rows) {
  return {net.parameters, [=](const variable_list& p) -> variable_list {
            return {net.forward(p)[0].flatten().narrow(0, 0, rows)};
          }};
}

TEST(JacobianOfNets, TakesOneBackwardWhateverTheNumberOfRows) {
  for (const Net& net : {fully_connected(), convolutional(), recurrent()})
    EXPECT_EQ(ops_of_jacobian(with_rows(net, 1)), ops_of_jacobian(with_rows(net, 2)));
  // A single row needs fewer copies here, being in order as it is.
  for (const Net& net : {of_convolutions(), of_lstm_layers()})
    EXPECT_EQ(ops_of_jacobian(with_rows(net, 2)), ops_of_jacobian(with_rows(net, 4)));
}

// -- the other transforms -----------------------------------------------------------------------

TEST(Hessian, OfAQuadraticForm) {
  const Tensor a = data({3, 3}), x = data({3}, 2);
  const auto f = [&](const Tensor& v) { return dot(v, a.matmul(v)); };
  expect_near(hessian(f, x), a + a.t());
  expect_near(hvp(f, x, ones({3}, kDouble)), (a + a.t()).sum(1));
}

TEST(Hessian, OfSeveralInputsIsABlockMatrix) {
  const Tensor x = data({2}), y = data({3}, 2);
  const auto f = [](const Tensor& a, const Tensor& b) { return (a.sin().sum() * b.exp()).sum(); };
  const auto h = hessian(f, {x, y});
  const Tensor joint = cat({x, y});
  const Tensor whole =
      hessian([&](const Tensor& v) { return f(v.narrow(0, 0, 2), v.narrow(0, 2, 3)); }, joint);
  expect_near(h[0][0], whole.narrow(0, 0, 2).narrow(1, 0, 2));
  expect_near(h[0][1], whole.narrow(0, 0, 2).narrow(1, 2, 3));
  expect_near(h[1][0], whole.narrow(0, 2, 3).narrow(1, 0, 2));
  expect_near(h[1][1], whole.narrow(0, 2, 3).narrow(1, 2, 3));
}

TEST(Hessian, OfALinearFunctionIsZero) {
  const Tensor x = data({3}), w = data({3}, 2);
  expect_near(hessian([&](const Tensor& v) { return dot(v, w); }, x), zeros({3, 3}, kDouble));
  expect_near(hvp([&](const Tensor& v) { return dot(v, w); }, x, x), zeros({3}, kDouble));
}

TEST(Products, WithTheJacobianFromBothSides) {
  const Tensor x = data({4}), v = data({3}, 2), u = data({4}, 3), w = data({4, 3}, 4);
  const auto f = [&](const Tensor& a) { return a.tanh().matmul(w).exp(); };
  const Tensor j = jacobian(f, x);
  const auto [y, grads] = vjp(f, {x}, {v});
  expect_near(y, f(x));
  expect_near(grads[0], v.matmul(j));
  const auto [z, tangent] = jvp(f, {x}, {u});
  expect_near(z, f(x));
  expect_near(tangent, j.matmul(u));
  for (const Tensor& t : {y, z, grads[0], tangent}) EXPECT_FALSE(t.requires_grad());
}

TEST(Products, OfSeveralResultsAndInputs) {
  const Tensor x = data({3}), y = data({3}, 2);
  const auto f = [](const Tensor& a, const Tensor& b) { return std::tuple{a * b, b.sum()}; };
  const auto [out, grads] = vjp(f, {x, y}, {ones({3}, kDouble), full({}, 2.0, kDouble)});
  expect_near(std::get<0>(out), x * y);
  expect_near(grads[0], y);
  expect_near(grads[1], x + 2);
  const auto [again, tangents] = jvp(f, {x, y}, {y, x});
  expect_near(std::get<0>(tangents), x * x + y * y);
  expect_near(std::get<1>(tangents), x.sum());
}

TEST(PerSampleGradients, EqualALoop) {
  const Tensor w = leaf({3, 2}), b = leaf({2}, 2), xs = data({5, 3}, 3), ys = data({5, 2}, 4);
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    return (x.matmul(w) + b - y).square().sum();
  };
  const auto got = per_sample_gradients(loss, {w, b}, {xs, ys});
  for (int64_t i = 0; i < 5; ++i) {
    const auto g = autograd::grad({loss(xs[i], ys[i])}, {w, b});
    expect_near(got[0][i], g[0]);
    expect_near(got[1][i], g[1]);
  }
  EXPECT_FALSE(got[0].requires_grad());
}

// -- in each other --------------------------------------------------------------------------------

Tensor smooth(const Tensor& x) { return (x.sin() * x.sum().exp()).tanh(); }

TEST(Composition, JacobianOfAJacobian) {
  const Tensor x = data({3});
  const auto first = [](const Tensor& v) { return jacobian(smooth, v); };
  const Tensor second = jacobian(first, x);
  EXPECT_EQ(second.sizes(), IntArrayRef({3, 3, 3}));
  for (int64_t i = 0; i < 3; ++i)
    expect_near(second[i], hessian([&](const Tensor& v) { return smooth(v)[i]; }, x));
}

TEST(Composition, JacobiansAreDifferentiable) {
  const Tensor x = leaf({3}), w = leaf({3}, 2);
  const auto f = [&](const Tensor& v) { return (v * w).sin() * v.sum(); };
  EXPECT_TRUE(jacobian(f, x).requires_grad());
  EXPECT_TRUE(jacobian(f, x.detach()).requires_grad());  // by w
  {
    const NoGradGuard guard;
    EXPECT_FALSE(jacobian(f, x).requires_grad());
  }
  EXPECT_TRUE(autograd::gradcheck(
      [](const Tensor& a, const Tensor& b) {
        return jacobian([&](const Tensor& v) { return (v * b).sin() * v.sum(); }, a);
      },
      {x, w}));
}

TEST(Composition, VmapAndJacobianCommute) {
  const Tensor xs = data({4, 3});
  const Tensor of_each = vmap([](const Tensor& x) { return jacobian(smooth, x); })(xs);
  const Tensor of_all = jacobian(vmap(smooth), xs);  // [4, 3, 4, 3], zero between samples
  for (int64_t i = 0; i < 4; ++i) {
    expect_near(of_each[i], jacobian(smooth, xs[i]));
    for (int64_t k = 0; k < 4; ++k)
      expect_near(of_all.select(0, i).select(1, k), i == k ? of_each[i] : zeros({3, 3}, kDouble));
  }
}

TEST(Composition, VmapOfHessiansAndProducts) {
  const Tensor xs = data({4, 3}), vs = data({4, 3}, 2);
  const auto f = [](const Tensor& x) { return smooth(x).sum(); };
  const Tensor h = vmap([&](const Tensor& x) { return hessian(f, x); })(xs);
  const Tensor hv = vmap([&](const Tensor& x, const Tensor& v) { return hvp(f, x, v); })(xs, vs);
  const Tensor jv = vmap(
      [&](const Tensor& x, const Tensor& v) { return std::get<1>(jvp(smooth, {x}, {v})); })(xs, vs);
  for (int64_t i = 0; i < 4; ++i) {
    expect_near(h[i], hessian(f, xs[i]));
    expect_near(hv[i], h[i].matmul(vs[i]));
    expect_near(jv[i], jacobian(smooth, xs[i]).matmul(vs[i]));
  }
}

TEST(Composition, CompiledTransformsAndTransformsOfCompiled) {
  const Tensor x = data({3}), other = data({3}, 2);
  auto compiled = compile([](const Tensor& v) { return jacobian(smooth, v); });
  expect_near(compiled(x), jacobian(smooth, x));
  expect_near(compiled(other), jacobian(smooth, other));
  auto inner = compile(smooth);
  expect_near(jacobian([&](const Tensor& v) { return inner(v); }, x), jacobian(smooth, x));
  auto curvature = compile(
      [](const Tensor& v) { return hessian([](const Tensor& u) { return smooth(u).sum(); }, v); });
  expect_near(curvature(x), hessian([](const Tensor& u) { return smooth(u).sum(); }, x));
}

// -- mistakes -------------------------------------------------------------------------------------

TEST(TransformMistakes, AreNamed) {
  const Tensor x = data({3});
  const auto says = [](const std::string& what, const char* part) {
    EXPECT_NE(what.find(part), std::string::npos) << what;
  };
  says(error_of([&] { jacobian(smooth, arange(3)); }), "jacobian: input 0 is");
  says(error_of([&] { jacobian([](const Tensor& v) { return v.argmax(); }, x); }),
       "jacobian: the function returned");
  says(error_of([&] { hessian(smooth, x); }),
       "hessian: the function must return one number, but it returned a tensor of shape [3]");
  says(error_of([&] { vjp(smooth, {x}, {ones({2}, kDouble)}); }),
       "vjp: vector 0 has shape [2] and result 0 has shape [3]");
  says(error_of([&] { vjp(smooth, {x}); }), "vjp: the function must return one number");
  says(error_of([&] { jvp(smooth, {x}, {}); }), "jvp: got 0 vectors for 1 inputs");
  says(error_of([&] { hvp(smooth, x, x); }), "hvp: the function must return one number");
  says(error_of([&] {
         per_sample_gradients(smooth, {x}, {data({2, 3})});
       }),
       "per_sample_gradients: parameter 0 does not require a gradient");
  says(error_of([&] {
         jacobian([](const Tensor& v) { return std::tuple{v, v}; }, x);
       }),
       "jacobian: the function must return one tensor, not 2");
}

}  // namespace
}  // namespace tandem
