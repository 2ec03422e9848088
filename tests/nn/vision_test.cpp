// Values that are not computed here by hand come from LibTorch 1.13: the same calls on the same
// inputs, sin(k * i) for element i, printed with ten digits.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

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

TEST(Padding, Layers) {
  const Tensor x = arange(4, kDouble).view({1, 2, 2});
  expect_values(nn::ZeroPad2d(nn::ZeroPad2dOptions({1, 0, 0, 1}))(x), {0, 0, 1, 0, 2, 3, 0, 0, 0});
  expect_values(nn::ConstantPad2d(nn::ConstantPad2dOptions({0, 1, 0, 0}, 7))(x),
                {0, 1, 7, 2, 3, 7});
  expect_values(nn::ReflectionPad1d(1)(x), {1, 0, 1, 0, 3, 2, 3, 2});
  expect_values(nn::ReplicationPad1d(nn::ReplicationPad1dOptions({2, 0}))(x),
                {0, 0, 0, 1, 2, 2, 2, 3});
  EXPECT_EQ(nn::ReflectionPad3d(1)(zeros({2, 3, 3, 3})).sizes(), (IntArrayRef{2, 5, 5, 5}));
}

TEST(Padding, Prints) {
  EXPECT_EQ(printed(nn::ReflectionPad2d(nn::ReflectionPad2dOptions({1, 1, 2, 0}))),
            "tandem::nn::ReflectionPad2d(padding=[1, 1, 2, 0])");
  EXPECT_EQ(printed(nn::ReplicationPad1d(2)), "tandem::nn::ReplicationPad1d(padding=[2, 2])");
  EXPECT_EQ(printed(nn::ZeroPad2d(2)), "tandem::nn::ZeroPad2d(padding=[2, 2, 2, 2])");
  EXPECT_EQ(printed(nn::ConstantPad1d(2, 3.5)),
            "tandem::nn::ConstantPad1d(padding=[2, 2], value=3.5)");
}

TEST(Padding, MistakesAreNamed) {
  const std::string far = error_of([] { nn::ReflectionPad1d(3)(zeros({1, 2, 3})); });
  EXPECT_NE(far.find("padding (3, 3)"), std::string::npos) << far;
  EXPECT_NE(far.find("ReflectionPad1d(padding=[3, 3])"), std::string::npos) << far;
  EXPECT_THROW(F::pad(zeros({2}), F::PadFuncOptions({1})), Error);
  EXPECT_THROW(F::pad(zeros({2}), F::PadFuncOptions({1, 1, 1, 1})), Error);
  EXPECT_THROW(F::pad(zeros({2}), F::PadFuncOptions({-2, -1})), ShapeError);
  EXPECT_THROW(F::pad(zeros({2}), F::PadFuncOptions({INT64_MAX, 1})), ShapeError);
  EXPECT_THROW(F::pad(zeros({2, 2}), F::PadFuncOptions({1, 1}).mode(kReflect).value(2)), Error);
  EXPECT_THROW(F::pad(zeros({1, 0, 3}), F::PadFuncOptions({1, 1}).mode(kReplicate)), ShapeError);
  EXPECT_THROW(F::pad(zeros({1, 2}), F::PadFuncOptions({3, 0}).mode(kCircular)), ShapeError);
}

TEST(Interpolate, Sizes) {
  const auto options = [] { return F::InterpolateFuncOptions(); };
  using Size = std::vector<int64_t>;
  expect_values(
      F::interpolate(waves({1, 1, 3, 4}),
                     options().size(Size{4, 3}).mode(kBicubic).align_corners(false)),
      {0.1352760719, 0.5564332575, -0.865295445, 0.3919811969, 0.2855241295, -0.7665780479,
       0.6987490997, -0.1497591049, -0.5022708224, 0.8345030154, -0.4357232322, -0.2628506267});
  expect_values(
      F::interpolate(
          waves({1, 1, 5, 6}),
          options().size(Size{2, 3}).mode(kBicubic).align_corners(false).antialias(true)),
      {0.02932063556, -0.02523973066, 0.03618886693, -0.06832117654, 0.05232983318, -0.0675004526});
  expect_values(F::interpolate(waves({1, 1, 7}), options().size(Size{4}).mode(kNearestExact)),
                {0, -0.255541102, 0.4941133511, -0.6998746876});
  expect_values(
      F::interpolate(waves({1, 1, 3, 5}), options().size(Size{2, 3}).mode(kArea)),
      {0.2725693089, -0.1080901598, 0.2060502642, -0.2529460232, 0.04721788232, 0.0438668367});
  expect_values(F::interpolate(waves({1, 1, 2, 2, 3}),
                               options().size(Size{3, 1, 2}).mode(kTrilinear).align_corners(true)),
                {0, -0.255541102, -0.3499373438, 0.3018103564, -0.6998746876, 0.8591618149});
}

TEST(Interpolate, Factors) {
  const auto bilinear = F::InterpolateFuncOptions()
                            .scale_factor(std::vector<double>{1.5, 0.6})
                            .mode(kBilinear)
                            .align_corners(false);
  expect_values(F::interpolate(waves({1, 1, 3, 4}), bilinear),
                {0.3305549368, -0.255541102, 0.4630631042, -0.4777078948, 0.6138129599,
                 -0.7434618216, 0.6867797127, -0.9178103578});
  F::InterpolateFuncOptions again = bilinear;
  expect_values(F::interpolate(waves({1, 1, 3, 4}), again.recompute_scale_factor(true)),
                {0.4958324052, -0.5906778922, 0.5898747969, -0.633382897, 0.6394193427,
                 -0.6200780345, 0.627951194, -0.5551982588});
  nn::Upsample nearest(nn::UpsampleOptions().scale_factor(std::vector<double>{1.3}));
  expect_values(nearest(waves({1, 1, 7})),
                {0, 0, 0.9916648105, -0.255541102, -0.9258146823, -0.9258146823, 0.4941133511,
                 0.7984871126, -0.6998746876});
  EXPECT_EQ(printed(nearest), "tandem::nn::Upsample(scale_factor=[1.3], mode=kNearest)");
  EXPECT_EQ(printed(nn::Upsample(
                nn::UpsampleOptions().size(std::vector<int64_t>{2, 4, 4}).mode(kTrilinear))),
            "tandem::nn::Upsample(size=[2, 4, 4], mode=kTrilinear)");
}

TEST(Interpolate, MistakesAreNamed) {
  const auto size = [](std::vector<int64_t> s) { return F::InterpolateFuncOptions().size(s); };
  EXPECT_THROW(F::interpolate(zeros({2, 2}), size({4})), Error);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}), F::InterpolateFuncOptions()), Error);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}), size({4, 4})), Error);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}), size({0})), ShapeError);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}), size({4}).mode(kBilinear)), Error);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}), size({4}).align_corners(true)), Error);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}, kLong), size({4}).mode(kLinear)), TypeError);
  EXPECT_THROW(F::interpolate(zeros({1, 1, 2}), F::InterpolateFuncOptions().scale_factor(
                                                    std::vector<double>{std::nan("")})),
               Error);
  const Tensor tiny = F::interpolate(
      ones({1, 1, 2}),
      F::InterpolateFuncOptions().size(std::vector<int64_t>{3}).mode(kLinear).align_corners(false));
  EXPECT_TRUE(tiny.eq(1).all().item<bool>());
}

TEST(GridSample, Modes) {
  const Tensor x = waves({1, 1, 3, 4}), grid = waves({1, 2, 3, 2}, 2.3) * 1.6;
  const std::vector<double> expected[3][3] = {
      {{-0.05937578987, 0, 0, 0, 0, 0},
       {-0.2823284594, 0.8319670269, -0.2789576416, -0.8062248006, 0.6478156512, 0.5913505824},
       {-0.2823284594, 0.5448026702, -0.4271804785, -0.5843000448, 0.7223243863, 0.6395532373}},
      {{0, 0, 0, 0, 0, 0},
       {-0.9613974919, 0.8591618149, -0.255541102, -0.9258146823, 0.8591618149, 0.4941133511},
       {-0.9613974919, 0.3967405731, -0.255541102, -0.255541102, 0.8591618149, 0.4941133511}},
      {{-0.08720878657, -0.03014838576, 0.0325091529, 0.08592256383, -0.09775750526,
        -0.07344465091},
       {-0.4463548639, 0.842913371, -0.2577172514, -0.8566973815, 0.766389113, 0.6323144385},
       {-0.4606371434, 0.653204467, -0.5321898801, -0.7049370054, 0.765135848, 0.7144106443}}};
  for (int64_t mode = 0; mode < 3; ++mode)
    for (int64_t padding = 0; padding < 3; ++padding)
      expect_values(grid_sampler(x, grid, mode, padding, padding == 1), expected[mode][padding]);
  expect_values(grid_sampler(waves({1, 1, 2, 3, 2}), waves({1, 1, 2, 2, 3}, 2.3), 0, 2, false),
                {0.6463002319, -0.3493204639, 0.1496810014, -0.08123598068});
  expect_values(
      F::grid_sample(x, grid, F::GridSampleFuncOptions().padding_mode(kBorder).align_corners(true)),
      expected[0][1]);
}

TEST(GridSample, PlacesThatAreNone) {
  const Tensor x = waves({1, 1, 3, 4});
  const Tensor grid =
      tensor({std::nan(""), 0.0, HUGE_VAL, 0.0, -HUGE_VAL, 1e300}, kDouble).view({1, 1, 3, 2});
  for (int64_t mode = 0; mode < 3; ++mode)
    for (int64_t padding = 0; padding < 3; ++padding)
      EXPECT_EQ(grid_sampler(x, grid, mode, padding, false).sizes(), (IntArrayRef{1, 1, 1, 3}));
  EXPECT_THROW(grid_sampler(x, grid, 3, 0, false), Error);
  EXPECT_THROW(grid_sampler(x, zeros({1, 1, 3, 3}, kDouble), 0, 0, false), ShapeError);
  EXPECT_THROW(grid_sampler(x, zeros({2, 1, 3, 2}, kDouble), 0, 0, false), ShapeError);
  EXPECT_THROW(grid_sampler(x, zeros({1, 1, 3, 2}), 0, 0, false), TypeError);
}

TEST(AffineGrid, Values) {
  expect_values(F::affine_grid(waves({1, 2, 3}), {1, 1, 2, 2}),
                {-0.7513735073, 1.014337778, -0.7513735073, 0.08852309589, 0.2402913032,
                 1.508451129, 0.2402913032, 0.582636447});
  expect_values(
      F::affine_grid(waves({1, 3, 4}), {1, 1, 1, 2, 2}, true),
      {-1.917479493, -1.910737576, -1.404901414, -1.917479493, -0.9225108737, 0.3134222159,
       0.06585012812, -0.3137633508, -0.6114202675, 0.06585012812, 0.6744633515, 1.106903362});
  EXPECT_THROW(F::affine_grid(waves({1, 2, 3}), {1, 1, 0, 2}), Error);
  EXPECT_THROW(F::affine_grid(waves({1, 2, 3}), {1, 1, 2}), Error);
}

TEST(PixelShuffle, Layers) {
  const Tensor x = waves({2, 8, 3, 2});
  nn::PixelShuffle up(2);
  nn::PixelUnshuffle down(2);
  EXPECT_EQ(up(x).sizes(), (IntArrayRef{2, 2, 6, 4}));
  EXPECT_TRUE(down(up(x)).equal(x));
  EXPECT_EQ(printed(up), "tandem::nn::PixelShuffle(upscale_factor=2)");
  EXPECT_EQ(printed(down), "tandem::nn::PixelUnshuffle(downscale_factor=2)");
  EXPECT_THROW(up(waves({2, 7, 3, 2})), ShapeError);
  EXPECT_THROW(down(waves({2, 7, 3, 2})), ShapeError);
}

}  // namespace
