#include "tandem/nn/utils.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tandem/compile/compile.h"
#include "tandem/ops/ops.h"

namespace {

using namespace tandem;
namespace utils = tandem::nn::utils;

std::vector<Tensor> two_parameters() {
  std::vector<Tensor> p = {zeros({3}, requires_grad()), zeros({2, 2}, requires_grad())};
  p[0].mutable_grad() = tensor({3.f, -4.f, 0.f});
  p[1].mutable_grad() = tensor({{0.f, 12.f}, {0.f, 0.f}});
  return p;
}

TEST(ClipGradNorm, ScalesAllGradientsByOneFactor) {
  const auto p = two_parameters();
  const double norm = utils::clip_grad_norm_(p, 6.5);
  EXPECT_DOUBLE_EQ(norm, 13);
  EXPECT_TRUE(allclose(p[0].grad(), tensor({1.5f, -2.f, 0.f})));
  EXPECT_TRUE(allclose(p[1].grad(), tensor({{0.f, 6.f}, {0.f, 0.f}})));
  // Already small: not changed.
  const Tensor before = p[0].grad().clone();
  EXPECT_NEAR(utils::clip_grad_norm_(p, 100), 6.5, 1e-5);
  EXPECT_TRUE(equal(p[0].grad(), before));
}

TEST(ClipGradNorm, OtherNorms) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(utils::clip_grad_norm_(two_parameters(), 1, inf), 12);
  EXPECT_DOUBLE_EQ(utils::clip_grad_norm_(two_parameters(), 1, 1), 19);
  EXPECT_DOUBLE_EQ(utils::clip_grad_norm_(two_parameters(), 1, 0), 2);
  EXPECT_DOUBLE_EQ(utils::clip_grad_norm_({two_parameters()[0]}, 1), 5);
  EXPECT_DOUBLE_EQ(utils::clip_grad_norm_(two_parameters()[1], 1), 12);
  EXPECT_THROW(utils::clip_grad_norm_(two_parameters(), 1, std::nan("")), ValueError);
}

TEST(ClipGradNorm, NothingToClip) {
  EXPECT_EQ(utils::clip_grad_norm_(std::vector<Tensor>(), 1), 0);
  EXPECT_EQ(utils::clip_grad_norm_(zeros({3}, requires_grad()), 1), 0);
  Tensor none = zeros({0}, requires_grad());
  none.mutable_grad() = zeros({0});
  EXPECT_EQ(utils::clip_grad_norm_(none, 1, std::numeric_limits<double>::infinity()), 0);
  EXPECT_THROW(utils::clip_grad_norm_(Tensor(), 1), Error);
}

TEST(ClipGradNorm, ErrorIfNonfiniteLeavesGradients) {
  const auto p = two_parameters();
  p[0].grad()[1] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(utils::clip_grad_norm_(p, 1, 2, true), Error);
  EXPECT_EQ(p[1].grad().max().item<float>(), 12);
  EXPECT_TRUE(std::isinf(utils::clip_grad_norm_(p, 1, 2, false)));
  EXPECT_EQ(p[1].grad().max().item<float>(), 0);
}

TEST(ClipGradNorm, CompiledAsEager) {
  manual_seed(3);
  const Tensor w = randn({4, 3}), x = randn({5, 4});
  const auto train = [&](bool compiled) {
    const Tensor weight = w.clone().set_requires_grad(true);
    const auto step = [weight](const Tensor& x) {
      weight.mutable_grad().reset();
      x.mm(weight).pow(2).sum().backward();
      const auto norm = utils::clip_grad_norm_(weight, 0.5);
      utils::clip_grad_value_(weight, 0.3);
      NoGradGuard no_grad;
      weight.sub_(weight.grad());
      return norm.tensor();
    };
    auto f = compile(step);
    for (int i = 0; i < 5; ++i) {
      const Tensor norm = compiled ? f(x) : step(x);
      EXPECT_GT(norm.item<float>(), 0);
    }
    return weight.detach();
  };
  EXPECT_TRUE(equal(train(false), train(true)));
}

TEST(ClipGradValue, CutsBothWays) {
  const auto p = two_parameters();
  utils::clip_grad_value_(p, 3.5);
  EXPECT_TRUE(equal(p[0].grad(), tensor({3.f, -3.5f, 0.f})));
  EXPECT_EQ(p[1].grad().max().item<float>(), 3.5);
  utils::clip_grad_value_(zeros({3}, requires_grad()), 1);
}

TEST(ConvertParameters, ThereAndBack) {
  const std::vector<Tensor> p = {randn({3}, requires_grad()), randn({2, 2}, requires_grad())};
  const Tensor vec = utils::parameters_to_vector(p);
  EXPECT_EQ(vec.sizes(), IntArrayRef({7}));
  (vec * arange(7)).sum().backward();
  EXPECT_TRUE(equal(p[1].grad(), tensor({{3.f, 4.f}, {5.f, 6.f}})));
  utils::vector_to_parameters(arange(7), p);
  EXPECT_TRUE(equal(p[1].detach(), tensor({{3.f, 4.f}, {5.f, 6.f}})));
  EXPECT_TRUE(p[1].requires_grad());
  EXPECT_THROW(utils::vector_to_parameters(arange(8), p), ShapeError);
  EXPECT_THROW(utils::parameters_to_vector({}), Error);
}

}  // namespace
