#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/nn/norm_tables.h"

namespace tandem {
namespace {

namespace F = nn::functional;
using namespace norm_tables;

TEST(Embedding, LibTorchsValues) {
  const Tensor w = wave_with_grad({4, 3}, 0), i = tensor({1, 3, 1, 0, 3, 1}, kLong);
  const Tensor y = F::embedding(
      i, w, F::EmbeddingFuncOptions().padding_idx(3).max_norm(1.5).scale_grad_by_freq(true));
  run_backward(y);
  expect_table(y, kEmbeddingY, "y");
  expect_table(w, kEmbeddingW, "weight");
  expect_table(w.grad(), kEmbeddingGrad, "gradient");
}

TEST(EmbeddingBag, LibTorchsValues) {
  const Tensor i = tensor({1, 3, 1, 0, 3, 1}, kLong), o = tensor({0, 2, 2, 5}, kLong);
  {
    const Tensor w = wave_with_grad({4, 3}, 0);
    const Tensor y = F::embedding_bag(i, w, F::EmbeddingBagFuncOptions().offsets(o).padding_idx(3));
    run_backward(y);
    expect_table(y, kBagMeanY, "mean");
    expect_table(w.grad(), kBagMeanGrad, "gradient of mean");
  }
  {
    const Tensor w = wave_with_grad({4, 3}, 0);
    const Tensor y = F::embedding_bag(i, w, F::EmbeddingBagFuncOptions().offsets(o).mode(kMax));
    run_backward(y);
    expect_table(y, kBagMaxY, "max");
    expect_table(w.grad(), kBagMaxGrad, "gradient of max");
  }
  {
    const Tensor w = wave_with_grad({4, 3}, 0), s = wave_with_grad({6}, 5);
    const Tensor y = F::embedding_bag(
        i, w, F::EmbeddingBagFuncOptions().offsets(o).mode(kSum).per_sample_weights(s));
    run_backward(y);
    expect_table(y, kBagSumY, "sum");
    expect_table(w.grad(), kBagSumGrad, "gradient of sum");
    expect_table(s.grad(), kBagScaleGrad, "gradient of the weights");
  }
}

TEST(Embedding, Mistakes) {
  nn::Embedding e(4, 3);
  EXPECT_THROW(e(tensor({4}, kLong)), IndexError);
  EXPECT_THROW(e(tensor({-1}, kLong)), IndexError);
  EXPECT_THROW(e(tensor({1.f})), TypeError);
  EXPECT_THROW(nn::Embedding(nn::EmbeddingOptions(4, 3).padding_idx(4)), Error);
  EXPECT_THROW(nn::Embedding::from_pretrained(zeros({3})), ShapeError);
  nn::EmbeddingBag bag(4, 3);
  EXPECT_THROW(bag(tensor({1, 2}, kLong)), Error);
  EXPECT_THROW(bag(tensor({1, 2}, kLong), tensor({1}, kLong)), Error);
  EXPECT_THROW(bag(tensor({1, 2}, kLong), tensor({0, 3}, kLong)), Error);
  EXPECT_THROW(bag(tensor({1, 2}, kLong), tensor({0, 1, 0}, kLong)), Error);
  EXPECT_EQ(bag(empty({0}, kLong), tensor({0, 0}, kLong)).sizes(), IntArrayRef({2, 3}));
}

TEST(Embedding, FromPretrained) {
  const Tensor rows = norm_wave({4, 3}, 0);
  auto frozen = nn::Embedding::from_pretrained(rows);
  EXPECT_FALSE(frozen->weight.requires_grad());
  EXPECT_TRUE(equal(frozen(tensor({2}, kLong))[0], rows[2]));
  auto bag = nn::EmbeddingBag::from_pretrained(
      rows, nn::EmbeddingBagFromPretrainedOptions().freeze(false).mode(kSum));
  EXPECT_TRUE(bag->weight.requires_grad());
  EXPECT_TRUE(allclose(bag(tensor({{0, 1}, {2, 3}}, kLong))[1], rows[2] + rows[3]));
  nn::Embedding padded(nn::EmbeddingOptions(4, 3).padding_idx(-1));
  EXPECT_EQ(padded->weight[3].abs().sum().item<float>(), 0);
  std::ostringstream s;
  s << padded;
  EXPECT_EQ(s.str(), "tandem::nn::Embedding(num_embeddings=4, embedding_dim=3, padding_idx=3)");
}

TEST(Activations, LibTorchsValues) {
  const Tensor x = norm_wave({6}, 0);
  expect_table(F::prelu(x, norm_wave({1}, 4)), kPrelu, "prelu");
  expect_table(F::gelu(x), kGelu, "gelu");
  expect_table(F::gelu(x, F::GELUFuncOptions().approximate("tanh")), kGeluTanh, "gelu tanh");
  expect_table(F::mish(x), kMishY, "mish");
  expect_table(F::celu(x, F::CELUFuncOptions().alpha(0.7)), kCelu, "celu");
  expect_table(F::selu(x), kSelu, "selu");
  expect_table(F::hardswish(x * 3), kHardswish, "hardswish");
  expect_table(F::softshrink(x), kSoftshrink, "softshrink");
  expect_table(F::glu(x), kGlu, "glu");
  expect_table(F::logsigmoid(x), kLogSigmoid, "logsigmoid");
  expect_table(F::softmin(x, 0), kSoftmin, "softmin");
  expect_table(F::bilinear(norm_wave({2, 3}, 0), norm_wave({2, 2}, 1), norm_wave({2, 3, 2}, 2),
                           norm_wave({2}, 3)),
               kBilinearY, "bilinear");
}

TEST(Activations, RandomOnes) {
  manual_seed(3);
  const Tensor x = norm_wave({1000}, 0);
  const Tensor y = F::rrelu(x, F::RReLUFuncOptions().lower(0.2).upper(0.4).training(true));
  const Tensor slope = (y / x).masked_select(x < 0);
  EXPECT_GE(slope.min().item<float>(), 0.2f - 1e-6f);
  EXPECT_LT(slope.max().item<float>(), 0.4f + 1e-6f);
  EXPECT_TRUE(equal(y.masked_select(x > 0), x.masked_select(x > 0)));
  const Tensor soft = F::gumbel_softmax(norm_wave({5, 4}, 0));
  EXPECT_TRUE(allclose(soft.sum(1), ones({5})));
  const Tensor hard =
      F::gumbel_softmax(norm_wave({5, 4}, 0), F::GumbelSoftmaxFuncOptions().hard(true));
  EXPECT_TRUE(allclose(hard.amax(1), ones({5})));
}

TEST(AdaptiveLogSoftmaxWithLoss, LibTorchsValues) {
  nn::AdaptiveLogSoftmaxWithLoss a(
      nn::AdaptiveLogSoftmaxWithLossOptions(4, 6, {2, 4}).div_value(2.).head_bias(true));
  int k = 0;
  const NoGradGuard no_grad;
  for (const Tensor& p : a->parameters()) p.copy_(norm_wave(p.sizes().vec(), ++k));
  const auto out = a(norm_wave({6, 4}, 0), tensor({0, 1, 2, 3, 4, 5}, kLong));
  expect_table(out.output, kAdaptive, "output");
  EXPECT_NEAR(out.loss, kAdaptiveLoss, 1e-4);
  EXPECT_TRUE(allclose(a->log_prob(norm_wave({6, 4}, 0)).exp().sum(1), ones({6})));
}

TEST(Dropout, DropsTheShareAskedFor) {
  manual_seed(9);
  const Tensor x = ones({100, 200}).set_requires_grad(true);
  const Tensor y = dropout(x, 0.25, true);
  EXPECT_NEAR((y == 0).to(kFloat).mean().item<float>(), 0.25, 0.02);
  EXPECT_NEAR(y.mean().item<float>(), 1, 0.02);
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), y.detach()));
  // Channels go as a whole.
  const Tensor z = F::dropout2d(ones({4, 50, 3, 3}));
  const Tensor sums = z.sum({2, 3});
  EXPECT_TRUE(((sums == 0) | (sums == 18)).all().item<bool>());
  EXPECT_TRUE(equal(dropout(x, 0.5, false), x));
  EXPECT_EQ(dropout(x, 1, true).abs().sum().item<float>(), 0);
  const Tensor a = alpha_dropout(randn({100, 1000}), 0.2, true);
  EXPECT_NEAR(a.mean().item<float>(), 0, 0.05);
  EXPECT_NEAR(a.std().item<float>(), 1, 0.05);
  Tensor in_place = ones({1000});
  F::dropout(in_place, F::DropoutFuncOptions().inplace(true));
  EXPECT_GT((in_place == 0).sum().item<int64_t>(), 0);
  EXPECT_THROW(dropout(x, 1.5, true), Error);
  EXPECT_THROW(nn::Dropout(-0.1), Error);
  EXPECT_THROW(dropout(ones({2}, kLong), 0.5, true), TypeError);
}

}  // namespace
}  // namespace tandem
