// Convolutions, Fold and Unfold. The tables were printed by LibTorch 1.13 running the same modules
// on the same numbers.
#include <gtest/gtest.h>

#include <sstream>

#include "tandem/nn/nn.h"
#include "tests/helpers.h"

namespace tandem::nn {
namespace {

namespace F = functional;
using test::error_of;
using test::printed;

void expect_sized(const Tensor& t, IntArrayRef sizes, const std::vector<double>& values) {
  ASSERT_EQ(t.sizes(), sizes);
  test::expect_values(t, values, 2e-5);
}

Tensor weight() { return arange(36).to(kFloat).reshape({2, 2, 3, 3}) * 0.1 - 1.5; }
Tensor image() { return (arange(24).to(kFloat).reshape({1, 2, 3, 4}) * 0.7).sin(); }

template <class M>
void set(M& m) {
  const NoGradGuard no_grad;
  m->weight.copy_(weight());
  if (m->bias.defined()) m->bias.copy_(tensor({0.5, -0.5}));
}

TEST(ConvTest, PaddingModes) {
  Conv2d reflect(Conv2dOptions(2, 2, 3).padding(1).padding_mode(kReflect));
  set(reflect);
  expect_sized(reflect(image()), {1, 2, 3, 4},
               {0.476815, 1.0613,  2.79304,  3.40661, -0.45756, -0.69924, -1.42913,  -1.62992,
                2.31364,  2.62433, 3.4406,   3.62441, -4.81228, -4.37613, -3.01964,  -2.55441,
                2.65303,  2.20285, 0.945526, 0.53623, -4.22964, -3.27188, -0.818751, 0.012126});
  Conv2d circular(Conv2dOptions(2, 2, 3).padding(1).padding_mode(kCircular));
  set(circular);
  expect_sized(
      circular(image()), {1, 2, 3, 4},
      {-1.70347, -2.0127,  -3.05257,  -2.15998,   -0.569299, -0.69924, -1.42913,  -0.903276,
       0.540958, 0.843609, -0.582348, -0.0681812, 0.362715,  0.889396, -0.677919, -0.302303,
       1.49688,  2.20285,  0.945526,  0.954404,   2.60714,   3.7457,   1.7923,    1.7895});
  Conv2d replicate(Conv2dOptions(2, 2, 3).padding({1, 0}).stride({1, 2}).padding_mode(kReplicate));
  set(replicate);
  expect_sized(replicate(image()), {1, 2, 3, 1},
               {-3.6522, -0.69924, 2.33018, -0.291321, 2.20285, 4.77349});
}

TEST(ConvTest, SamePadding) {
  Conv1d conv(Conv1dOptions(2, 2, 4).padding(kSame));
  {
    const NoGradGuard no_grad;
    conv->weight.copy_(arange(16).to(kFloat).reshape({2, 2, 4}) * 0.1 - 0.7);
    conv->bias.zero_();
  }
  expect_sized(conv(image()[0].reshape({1, 2, 12})), {1, 2, 12},
               {-0.919118, -1.50809,  -1.54229, -0.851121, 0.24034, 1.21877,  1.62399,   1.26542,
                0.311708,  -0.788606, -1.17619, -1.06731,  1.03039, 0.428229, -0.804998, -1.65962,
                -1.7337,   -0.992391, 0.215653, 1.32227,   1.80701, 1.44188,  0.766824,  0.185649});
  EXPECT_EQ(Conv2d(Conv2dOptions(1, 1, {4, 3}).padding(kValid))(rand({1, 1, 5, 5})).sizes(),
            (std::vector<int64_t>{1, 1, 2, 3}));
}

TEST(ConvTest, TransposedToAGivenSize) {
  ConvTranspose2d conv(ConvTranspose2dOptions(2, 2, 3).stride(2).padding(1).bias(false));
  set(conv);
  const std::vector<int64_t> size{6, 8};
  const Tensor y = conv(image(), IntArrayRef(size));
  expect_sized(
      y.slice(2, 0, 2), {1, 2, 2, 8},
      {0.598219,    0.102077,  -0.48527,  -1.79137,   -1.34053,  -2.8423,   -1.56532,  -1.56697,
       -0.00605541, 0.0631124, 0.0475664, 0.14772,    0.0788157, 0.162853,  0.0729982, 0.0400612,
       1.36736,     1.7382,    0.381715,  -0.367307,  -0.783457, -2.30007,  -1.58016,  -1.5818,
       0.183313,    0.247437,  0.0425227, -0.0544082, -0.118269, -0.330664, -0.223434, -0.256371});
  const std::vector<int64_t> wrong{9, 9};
  EXPECT_NE(error_of([&] { conv(image(), IntArrayRef(wrong)); }).find("5 to 6"), std::string::npos);
}

TEST(ConvTest, Printing) {
  EXPECT_EQ(printed(*Conv1d(Conv1dOptions(2, 2, 4).padding(kSame))),
            "tandem::nn::Conv1d(2, 2, kernel_size=4, stride=1, padding='same')");
  EXPECT_EQ(printed(*Conv2d(
                Conv2dOptions(2, 2, 3).padding({1, 0}).stride({1, 2}).padding_mode(kReplicate))),
            "tandem::nn::Conv2d(2, 2, kernel_size=[3, 3], stride=[1, 2], padding=[1, 0], "
            "padding_mode=kReplicate)");
  EXPECT_EQ(
      printed(*Conv3d(Conv3dOptions(4, 4, {1, 2, 3}).groups(2).bias(false).padding({0, 1, 2}))),
      "tandem::nn::Conv3d(4, 4, kernel_size=[1, 2, 3], stride=[1, 1, 1], padding=[0, 1, 2], "
      "groups=2, bias=false)");
  EXPECT_EQ(
      printed(*ConvTranspose1d(
          ConvTranspose1dOptions(1, 2, 3).output_padding(1).stride(2).dilation(2))),
      "tandem::nn::ConvTranspose1d(1, 2, kernel_size=3, stride=2, dilation=2, output_padding=1)");
  EXPECT_EQ(printed(*Fold(FoldOptions({4, 5}, 2).stride(2))),
            "tandem::nn::Fold(output_size=[4, 5], kernel_size=[2, 2], dilation=[1, 1], "
            "padding=[0, 0], stride=[2, 2])");
  EXPECT_EQ(printed(*Unfold(UnfoldOptions({2, 4}).padding(3))),
            "tandem::nn::Unfold(kernel_size=[2, 4], dilation=[1, 1], padding=[3, 3], "
            "stride=[1, 1])");
}

TEST(ConvTest, ParametersAndFirstValues) {
  manual_seed(3);
  Conv2d conv(Conv2dOptions(4, 8, 5).groups(2));
  EXPECT_EQ(conv->weight.sizes(), (std::vector<int64_t>{8, 2, 5, 5}));
  EXPECT_EQ(conv->named_parameters().keys(), (std::vector<std::string>{"weight", "bias"}));
  const double bound = 1 / std::sqrt(2 * 5 * 5.0);
  EXPECT_LE(conv->weight.abs().max().item<double>(), bound);
  EXPECT_GT(conv->weight.abs().max().item<double>(), 0.9 * bound);
  EXPECT_LE(conv->bias.abs().max().item<double>(), bound);
  EXPECT_EQ(Conv2d(Conv2dOptions(4, 8, 5).bias(false))->parameters().size(), 1u);
  EXPECT_EQ(ConvTranspose3d(4, 6, 2)->weight.sizes(), (std::vector<int64_t>{4, 6, 2, 2, 2}));

  const auto copy = std::dynamic_pointer_cast<Conv2dImpl>(conv->clone());
  ASSERT_TRUE(copy);
  EXPECT_TRUE(allclose(copy->weight, conv->weight));
  EXPECT_NE(copy->weight.data_ptr(), conv->weight.data_ptr());
}

TEST(ConvTest, MistakesSayWhatDoesNotFit) {
  Sequential net(Conv2d(3, 8, 3), Conv2d(16, 8, 3));
  const std::string channels = error_of([&] { net->forward(rand({1, 3, 9, 9})); });
  EXPECT_NE(channels.find("16 channels"), std::string::npos) << channels;
  EXPECT_NE(channels.find("[1, 8, 7, 7]"), std::string::npos) << channels;
  EXPECT_NE(channels.find("Conv2d(16, 8"), std::string::npos) << channels;
  const std::string large = error_of([] { conv2d(rand({1, 1, 2, 2}), rand({1, 1, 3, 3})); });
  EXPECT_NE(large.find("(3 x 3)"), std::string::npos) << large;
  EXPECT_NE(large.find("(2 x 2)"), std::string::npos) << large;
  const auto fails = [](auto fn) { EXPECT_THROW(fn(), Error); };
  fails([] { Conv2d(Conv2dOptions(3, 8, 3).groups(2)); });
  fails([] { Conv2d(Conv2dOptions(3, 8, 0)); });
  fails([] { Conv2d(Conv2dOptions(3, 8, 3).stride(2).padding(kSame)); });
  fails([] { conv2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}), {}, 0); });
  fails([] { conv2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}), {}, 1, -1); });
  fails([] { conv2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}), {}, 1, 1, 1, 0); });
  fails([] { conv2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}), rand({2})); });
  fails([] { conv2d(rand({5, 5}), rand({1, 1, 3, 3})); });
  fails([] { conv2d(Tensor(), rand({1, 1, 3, 3})); });
  fails([] { conv2d(rand({1, 1, 5, 5}), Tensor()); });
  fails([] { conv2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}).to(kDouble)); });
  fails([] { conv2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}), {}, {1, 2, 3}); });
  fails([] { conv1d(rand({1, 1, 5}), rand({1, 1, 3}), {}, 1, "most"); });
  fails([] { conv_transpose2d(rand({1, 1, 5, 5}), rand({1, 1, 3, 3}), {}, 2, 1, 2); });
  fails([] { conv_transpose2d(rand({1, 1, 1, 1}), rand({1, 1, 1, 1}), {}, 1, 3); });
  fails([] { im2col(rand({1, 1, 2, 2}), 3, 1, 0, 1); });
  fails([] { col2im(rand({1, 4, 5}), {3, 3}, 2, 1, 0, 1); });
}

TEST(ConvTest, FoldUndoesUnfoldWhereBlocksDoNotOverlap) {
  const Tensor x = rand({2, 3, 4, 6});
  const Tensor blocks = Unfold(UnfoldOptions({2, 3}).stride({2, 3}))(x);
  EXPECT_EQ(blocks.sizes(), (std::vector<int64_t>{2, 18, 4}));
  EXPECT_TRUE(equal(Fold(FoldOptions({4, 6}, {2, 3}).stride({2, 3}))(blocks), x));
}

TEST(ConvTest, FunctionsTakeOptions) {
  const Tensor x = rand({1, 2, 5, 5}), w = rand({4, 1, 3, 3}), b = rand({4});
  const auto options = F::Conv2dFuncOptions().bias(b).stride(2).padding({1, 0}).groups(2);
  EXPECT_TRUE(allclose(F::conv2d(x, w, options), conv2d(x, w, b, 2, {1, 0}, 1, 2)));
  EXPECT_EQ(F::conv2d(x, rand({1, 2, 2, 2}), F::Conv2dFuncOptions().padding(kSame)).sizes(),
            (std::vector<int64_t>{1, 1, 5, 5}));
  EXPECT_EQ(F::conv_transpose2d(x, rand({2, 3, 3, 3}),
                                F::ConvTranspose2dFuncOptions().stride(2).output_padding(1))
                .sizes(),
            (std::vector<int64_t>{1, 3, 12, 12}));
}

}  // namespace
}  // namespace tandem::nn
