#include "tandem/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tandem/ops/ops.h"

namespace {

using namespace tandem;
namespace init = tandem::nn::init;

// Values are random; what is checked is what they are for: their moments and bounds.
void expect_moments(const Tensor& x, double mean, double std) {
  EXPECT_NEAR(x.mean().item<double>(), mean, 0.05 * std + 1e-6);
  EXPECT_NEAR(x.std().item<double>(), std, 0.05 * std);
}

TEST(Init, GainsAndFans) {
  EXPECT_DOUBLE_EQ(init::calculate_gain(kLinear), 1);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kConvTranspose2D), 1);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kSigmoid), 1);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kTanh), 5.0 / 3);
  EXPECT_DOUBLE_EQ(init::calculate_gain(kReLU), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(init::calculate_gain(kLeakyReLU, 0.5), std::sqrt(2 / 1.25));
  EXPECT_EQ(init::_calculate_fan_in_and_fan_out(empty({5, 3})), std::make_tuple(3, 5));
  EXPECT_EQ(init::_calculate_fan_in_and_fan_out(empty({5, 3, 2, 4})), std::make_tuple(24, 40));
  EXPECT_THROW(init::_calculate_fan_in_and_fan_out(empty({5})), ShapeError);
}

TEST(Init, FillsParametersWithoutHistory) {
  const Tensor w = empty({3, 4}, requires_grad());
  EXPECT_EQ(init::ones_(w).sum().item<float>(), 12);
  EXPECT_EQ(init::zeros_(w).sum().item<float>(), 0);
  EXPECT_EQ(init::constant_(w, 0.5).sum().item<float>(), 6);
  EXPECT_TRUE(w.is_leaf());
  EXPECT_TRUE(w.requires_grad());
  EXPECT_EQ(w.grad_fn(), nullptr);
}

TEST(Init, ScalesFollowTheFans) {
  manual_seed(1);
  const Tensor w = empty({200, 300});
  expect_moments(init::normal_(w, 2, 3), 2, 3);
  expect_moments(init::uniform_(w, -1, 1), 0, 1 / std::sqrt(3.0));
  expect_moments(init::kaiming_normal_(w), 0, std::sqrt(2.0 / 300));
  expect_moments(init::kaiming_uniform_(w, 0, kFanOut, kReLU), 0, std::sqrt(2.0 / 200));
  expect_moments(init::kaiming_uniform_(w, std::sqrt(5.0)), 0, std::sqrt(1.0 / 900));
  EXPECT_LE(w.abs().max().item<float>(), std::sqrt(1.0 / 300));
  expect_moments(init::xavier_normal_(w, 3), 0, 3 * std::sqrt(2.0 / 500));
  expect_moments(init::xavier_uniform_(w), 0, std::sqrt(2.0 / 500));
}

TEST(Init, IdentityOfMatricesAndConvolutions) {
  EXPECT_TRUE(equal(init::eye_(rand({2, 3})), eye(2, 3)));
  EXPECT_THROW(init::eye_(rand({2, 3, 1})), ShapeError);
  const Tensor w = init::dirac_(rand({3, 2, 3, 5}));
  EXPECT_EQ(w.sum().item<float>(), 2);
  for (int64_t d = 0; d < 2; ++d) EXPECT_EQ(w[d][d][1][2].item<float>(), 1);
  EXPECT_EQ(init::dirac_(rand({2, 2, 3, 3, 3})).sum().item<float>(), 2);
  EXPECT_EQ(init::dirac_(empty({2, 2, 0})).numel(), 0);
  EXPECT_THROW(init::dirac_(rand({2, 2})), ShapeError);
}

TEST(Init, OrthogonalRowsOrColumns) {
  const Tensor wide = init::orthogonal_(empty({4, 3, 2}), 2.0).reshape({4, 6});
  EXPECT_TRUE(allclose(wide.mm(wide.t()), eye(4) * 4, 1e-4, 1e-5));
  const Tensor tall = init::orthogonal_(empty({6, 4}, kDouble));
  EXPECT_TRUE(allclose(tall.t().mm(tall), eye(4, kDouble)));
  EXPECT_EQ(init::orthogonal_(empty({0, 4})).numel(), 0);
  EXPECT_THROW(init::orthogonal_(empty({4})), ShapeError);
}

TEST(Init, SparseColumns) {
  const Tensor w = init::sparse_(empty({10, 7}), 0.25, 1.0);
  const Tensor zeros = (w == 0).sum(0);
  EXPECT_TRUE(equal(zeros, full({7}, 3, kLong))) << zeros;
  EXPECT_TRUE(equal(init::sparse_(ones({4, 2}), 1.0), tandem::zeros({4, 2})));
  EXPECT_THROW(init::sparse_(empty({4, 2}), 1.5), ValueError);
  EXPECT_THROW(init::sparse_(empty({4}), 0.5), ShapeError);
}

TEST(Init, EmptyLayersStayEmpty) {
  EXPECT_EQ(init::kaiming_uniform_(empty({4, 0})).numel(), 0);
  EXPECT_EQ(init::xavier_normal_(empty({0, 0})).numel(), 0);
}

}  // namespace
