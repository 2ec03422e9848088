// Values that are not computed here by hand come from LibTorch 1.13: the same calls on the same
// inputs, sin(k * i) for element i, printed with ten digits.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace {

using namespace tandem;
namespace F = tandem::nn::functional;
using test::error_of;
using test::expect_values;
using test::printed;
using test::waves;

TEST(Pooling, MaxWithIndices) {
  const auto [values, indices] = F::max_pool2d_with_indices(
      waves({1, 1, 5, 5}), F::MaxPool2dFuncOptions(3).stride(2).padding(1));
  expect_values(values, {0.9916648105, 0.9916648105, 0.8591618149, 0.8792730617, 0.9997929001,
                         0.8591618149, 0.8792730617, 0.9856002988, 0.9856002988});
  expect_values(indices, {1, 1, 8, 16, 12, 8, 16, 23, 23});
  EXPECT_EQ(indices.dtype(), kLong);
}

TEST(Pooling, MaxOfNan) {
  const double nan = std::nan("");
  const Tensor x =
      tensor({1.0, nan, 0.5, nan, 2.0, -HUGE_VAL, -HUGE_VAL, -HUGE_VAL}).view({1, 1, 8});
  const auto [values, indices] =
      F::max_pool1d_with_indices(x, F::MaxPool1dFuncOptions(4).stride(4));
  EXPECT_TRUE(values[0][0][0].isnan().item<bool>());
  EXPECT_EQ(indices[0][0][0].item<int64_t>(), 3);  // the last nan
  EXPECT_EQ(values[0][0][1].item<double>(), 2);
  const auto empty = F::max_pool1d_with_indices(x.narrow(2, 5, 3), F::MaxPool1dFuncOptions(3));
  EXPECT_EQ(std::get<0>(empty).item<double>(), -HUGE_VAL);
  EXPECT_EQ(std::get<1>(empty).item<int64_t>(), 0);  // nothing is greater than the first
}

TEST(Pooling, Average) {
  expect_values(F::avg_pool2d(waves({1, 1, 4, 5}), F::AvgPool2dFuncOptions({2, 3})
                                                       .stride(2)
                                                       .padding({1, 1})
                                                       .ceil_mode(true)
                                                       .count_include_pad(false)),
                {0.4958324052, -0.06323032463, -0.2158506656, -0.2529460232, 0.04721788232,
                 0.0438668367, 0.6191657078, -0.1449083487, 0.02248356087});
  expect_values(
      F::adaptive_avg_pool2d(waves({1, 4, 5}), F::AdaptiveAvgPool2dFuncOptions({3, std::nullopt})),
      {0.3992435563, 0.1458950614, -0.4368391071, -0.03332643374, 0.4454269621, -0.08145518963,
       -0.4244368567, 0.190827894, 0.3752626097, -0.2875289363, -0.3011695689, 0.3651370179,
       0.2070777801, -0.4184986816, -0.09923527809});
}

TEST(Pooling, Powers) {
  expect_values(F::lp_pool1d(waves({1, 1, 7}).abs(), F::LPPool1dFuncOptions(3, 3).stride(2)),
                {0.9972891355, 0.9764043223, 0.9907661172});
  expect_values(F::lp_pool2d(waves({1, 2, 4, 4}),
                             F::LPPool2dFuncOptions(2, {2, 3}).stride(1).ceil_mode(true)),
                {1.555716749, 1.848061935, 1.78644941, 1.616597868, 1.943097325, 1.479528966,
                 1.685483585, 1.832279805, 1.494907374, 1.951660373, 1.541421466, 1.862972216});
}

TEST(Pooling, Fractional) {
  const Tensor samples = tensor({0.2, 0.7, 0.9, 0.4}, kDouble).reshape({1, 2, 2});
  const auto [values, indices] = F::fractional_max_pool2d_with_indices(
      waves({1, 2, 6, 7}),
      F::FractionalMaxPool2dFuncOptions(2).output_size(3)._random_samples(samples));
  expect_values(values, {0.9916648105, 0.4941133511, 0.9997929001, 0.359058354, 0.04069325735,
                         0.9404289629, 0.1891146204, 0.9805894918, 0.9494038607, 0.9988580517,
                         0.8920116827, -0.08131910114, 0.9150947682, -0.2289169224, 0.5963353985,
                         0.9685857099, 0.7092855006, 0.9649620738});
  expect_values(indices, {1, 4, 12, 15, 24, 27, 35, 38, 34, 7, 3, 6, 22, 17, 26, 29, 37, 33});

  // Numbers that are no samples lead nowhere else.
  const Tensor bad = tensor({-5.0, std::nan(""), 1e30, HUGE_VAL}, kDouble).reshape({1, 2, 2});
  const Tensor y = F::fractional_max_pool2d(
      waves({1, 2, 6, 7}),
      F::FractionalMaxPool2dFuncOptions(2).output_size(3)._random_samples(bad));
  EXPECT_TRUE(y.isfinite().all().item<bool>());

  manual_seed(3);
  nn::FractionalMaxPool2d pool(nn::FractionalMaxPool2dOptions(3).output_ratio(0.5));
  EXPECT_EQ(pool(waves({2, 3, 10, 12})).sizes(), (IntArrayRef{2, 3, 5, 6}));
  EXPECT_THROW(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(3)), Error);
  EXPECT_THROW(nn::FractionalMaxPool2d(nn::FractionalMaxPool2dOptions(3).output_ratio(1.5)), Error);
}

TEST(Pooling, UnpoolPutsBack) {
  const Tensor x = waves({2, 3, 6, 8});
  nn::MaxPool2d pool(2);
  nn::MaxUnpool2d unpool(2);
  const auto pooled = pool->forward_with_indices(x);
  const Tensor &y = std::get<0>(pooled), &indices = std::get<1>(pooled);
  const Tensor back = unpool(y, indices);
  EXPECT_EQ(back.sizes(), x.sizes());
  EXPECT_TRUE(back.eq(x).logical_or(back.eq(0)).all().item<bool>());
  EXPECT_EQ(back.ne(0).sum().item<int64_t>(), y.numel());
  EXPECT_EQ(unpool->forward(y, indices, std::vector<int64_t>{2, 3, 7, 9}).sizes(),
            (IntArrayRef{2, 3, 7, 9}));
  EXPECT_NE(error_of([&] {
              unpool->forward(y, indices, std::vector<int64_t>{20, 9});
            }).find("must be between"),
            std::string::npos);
  EXPECT_THROW(unpool(y, indices + 1000), Error);
  nn::MaxUnpool1d one(nn::MaxUnpool1dOptions(2));
  const auto [y1, i1] = nn::MaxPool1d(2)->forward_with_indices(waves({3, 8}));
  EXPECT_EQ(one(y1, i1).sizes(), (IntArrayRef{3, 8}));
}

TEST(Pooling, CompiledIsEager) {
  nn::MaxPool2d pool(nn::MaxPool2dOptions(3).stride(2).padding(1));
  nn::AdaptiveAvgPool2d mean(2);
  const auto step = [&](const Tensor& x) {
    const Tensor y = mean(pool(x).relu()).square().sum();
    return autograd::grad({y}, {x})[0];
  };
  auto compiled = compile(step);
  for (int i = 0; i < 3; ++i) {
    const Tensor x = waves({2, 3, 9, 11}, 1.1 + i).to(kFloat).requires_grad_();
    EXPECT_TRUE(compiled(x).equal(step(x)));
  }
}

TEST(Pooling, Prints) {
  EXPECT_EQ(printed(nn::MaxPool1d(5)),
            "tandem::nn::MaxPool1d(kernel_size=5, stride=5, padding=0, dilation=1, "
            "ceil_mode=false)");
  EXPECT_EQ(printed(nn::MaxPool2d(nn::MaxPool2dOptions({5, 6}).stride({1, 2}))),
            "tandem::nn::MaxPool2d(kernel_size=[5, 6], stride=[1, 2], padding=[0, 0], "
            "dilation=[1, 1], ceil_mode=false)");
  EXPECT_EQ(printed(nn::AvgPool3d(5)),
            "tandem::nn::AvgPool3d(kernel_size=[5, 5, 5], stride=[5, 5, 5], padding=[0, 0, 0])");
  EXPECT_EQ(printed(nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({5, std::nullopt}))),
            "tandem::nn::AdaptiveMaxPool2d(output_size=[5, None])");
  EXPECT_EQ(printed(nn::AdaptiveAvgPool1d(5)), "tandem::nn::AdaptiveAvgPool1d(output_size=5)");
  EXPECT_EQ(printed(nn::LPPool1d(2, 5)),
            "tandem::nn::LPPool1d(norm_type=2, kernel_size=5, stride=5, ceil_mode=false)");
  EXPECT_EQ(printed(nn::MaxUnpool1d(5)),
            "tandem::nn::MaxUnpool1d(kernel_size=5, stride=5, padding=0)");
}

TEST(Pooling, MistakesAreNamed) {
  nn::MaxPool2d pool(5);
  const std::string small = error_of([&] { pool(zeros({1, 3, 4, 4})); });
  EXPECT_NE(small.find("max_pool2d"), std::string::npos) << small;
  EXPECT_NE(small.find("[4, 4]"), std::string::npos) << small;
  EXPECT_NE(small.find("MaxPool2d(kernel_size=[5, 5]"), std::string::npos) << small;
  EXPECT_THROW(max_pool2d(zeros({4, 4}), 2), ShapeError);
  EXPECT_THROW(max_pool2d(zeros({1, 4, 4}), 2, 0), Error);
  EXPECT_THROW(max_pool2d(zeros({1, 4, 4}), 2, 1, 2), Error);
  EXPECT_THROW(max_pool2d(zeros({1, 4, 4}), int64_t{1} << 40), Error);
  EXPECT_THROW(max_pool2d(zeros({1, 0, 4}), 2), ShapeError);
  EXPECT_THROW(max_pool2d(zeros({1, 4, 4}, kBool), 2), TypeError);
  EXPECT_THROW(avg_pool2d(zeros({1, 4, 4}, kLong), 2), TypeError);
  EXPECT_THROW(avg_pool2d(zeros({1, 4, 4}), 2, 2, 0, false, true, 0), Error);
  EXPECT_THROW(adaptive_avg_pool2d(zeros({1, 4, 4}), {-1, 2}), ShapeError);
  EXPECT_THROW(adaptive_avg_pool2d(zeros({1, 4, 4}), {1, 2, 3}), Error);
  EXPECT_EQ(max_pool2d(zeros({0, 3, 4, 4}), 2).sizes(), (IntArrayRef{0, 3, 2, 2}));
  EXPECT_EQ(adaptive_avg_pool2d(zeros({1, 4, 4}), {0, 2}).sizes(), (IntArrayRef{1, 0, 2}));
}

}  // namespace
