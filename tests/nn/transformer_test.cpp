// Transformers. The tables of numbers are LibTorch 1.13's, computed in float64 by a program that
// sets parameters and inputs to the same cosines and sines as here.
#include <gtest/gtest.h>

#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace {

using namespace tandem;
using test::waves;

void expect_numbers(const Tensor& got, const std::vector<double>& wanted) {
  test::expect_values(got, wanted, 2e-8);
}

void set_parameters(nn::Module& module) {
  NoGradGuard no_grad;
  module.to(kDouble);
  for (Tensor& p : module.parameters())
    p.copy_(((arange(p.numel(), kDouble) * 0.7).cos() * 0.4).view(p.sizes()));
}

TEST(Transformer, EncoderLayerHasLibTorchsValues) {
  nn::TransformerEncoderLayer layer(
      nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0).activation(kGELU));
  set_parameters(*layer);
  const Tensor mask = nn::Transformer::Impl::generate_square_subsequent_mask(3);
  expect_numbers(layer(waves({3, 2, 4}, 0.3), mask.to(kDouble)),
                 {1.08606824,     0.190936627,    0.0156772597, -0.0868602367, 1.04494464,
                  0.28824261,     -0.00573171512, -0.106983138, 1.0523868,     0.26960716,
                  -0.00394759832, -0.110227331,   1.06296214,   0.244114191,   -0.000294983916,
                  -0.110866242,   1.08443431,     0.179480722,  0.0121785034,  -0.105638972,
                  1.08706745,     0.191883149,    0.0185078716, -0.0773233787});
}

TEST(Transformer, DecoderLayerHasLibTorchsValues) {
  nn::TransformerDecoderLayer layer(
      nn::TransformerDecoderLayerOptions(4, 2).dim_feedforward(6).dropout(0));
  set_parameters(*layer);
  expect_numbers(
      layer(waves({3, 2, 4}, 0.3), waves({5, 2, 4}, 0.5)),
      {1.05751615,     0.261725332,  -0.00178734167, -0.106423803, 1.05002496,     0.276820896,
       -0.00440156828, -0.108006565, 1.05036844,     0.276411994,  -0.00425368645, -0.107663816,
       1.05104043,     0.275042792,  -0.00403971524, -0.107592776, 1.05922499,     0.257901467,
       -0.001165112,   -0.106236924, 1.05489956,     0.267534144,  -0.00268666577, -0.106581808});
}

TEST(Transformer, WholeModelHasLibTorchsValues) {
  nn::Transformer model(nn::TransformerOptions(4, 2, 1, 1).dim_feedforward(6).dropout(0));
  set_parameters(*model);
  expect_numbers(model(waves({3, 2, 4}, 0.3), waves({2, 2, 4}, 0.5)),
                 {1.05224052, 0.303415543, 0.0204151052, -0.0156219326, 1.05076551, 0.306789172,
                  0.0201864581, -0.0148189076, 1.05866135, 0.287585889, 0.021798976, -0.0187185592,
                  1.04789546, 0.313479998, 0.0194766794, -0.0139596812});
}

TEST(Transformer, ActivationMayBeAFunction) {
  nn::TransformerEncoderLayer layer(
      nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6).dropout(0));
  const Tensor x = randn({3, 2, 4});
  const Tensor with_relu = layer(x);
  layer->options.activation([](const Tensor& t) { return t.clamp_min(0); });
  EXPECT_TRUE(layer(x).equal(with_relu));
  layer->options.activation(kGELU);
  EXPECT_FALSE(layer(x).equal(with_relu));
  layer->options.activation(std::function<Tensor(const Tensor&)>());
  EXPECT_THROW(layer(x), Error);
}

TEST(Transformer, LayersAreCopiesOfTheOneGiven) {
  nn::TransformerEncoderLayer layer(nn::TransformerEncoderLayerOptions(4, 2).dim_feedforward(6));
  nn::LayerNorm norm(nn::LayerNormOptions({4}));
  nn::TransformerEncoder encoder(nn::TransformerEncoderOptions(layer, 2).norm(nn::AnyModule(norm)));
  const auto named = encoder->named_parameters();
  EXPECT_TRUE(named["layers.0.linear1.weight"].equal(layer->linear1->weight));
  EXPECT_TRUE(named["layers.1.linear1.weight"].equal(layer->linear1->weight));
  EXPECT_FALSE(named["layers.0.linear1.weight"].is_same(named["layers.1.linear1.weight"]));
  EXPECT_NE(encoder->norm.ptr().get(), static_cast<nn::Module*>(norm.ptr().get()));

  encoder->reset_parameters();
  EXPECT_FALSE(
      encoder->named_parameters()["layers.0.linear1.weight"].equal(layer->linear1->weight));
}

TEST(Transformer, CopiesShareNothing) {
  nn::Transformer model(nn::TransformerOptions(4, 2, 1, 2).dim_feedforward(6).dropout(0));
  auto copy = std::dynamic_pointer_cast<nn::TransformerImpl>(model->clone());
  ASSERT_TRUE(copy);
  const Tensor src = randn({3, 2, 4}), tgt = randn({2, 2, 4});
  EXPECT_TRUE(copy->forward(src, tgt).equal(model(src, tgt)));
  {
    NoGradGuard no_grad;
    for (const Tensor& p : copy->parameters()) p.mul_(1.5);
  }
  EXPECT_FALSE(copy->forward(src, tgt).equal(model(src, tgt)));
}

TEST(Transformer, SaysWhatDoesNotFit) {
  nn::Transformer model(nn::TransformerOptions(4, 2, 1, 1).dim_feedforward(6));
  EXPECT_THROW(model(randn({3, 2, 4}), randn({2, 3, 4})), ShapeError);
  EXPECT_THROW(model(randn({3, 2, 5}), randn({2, 2, 5})), ShapeError);
  EXPECT_THROW(model(randn({3, 4}), randn({2, 4})), ShapeError);
  EXPECT_THROW(nn::Transformer::Impl::generate_square_subsequent_mask(0), Error);
  EXPECT_THROW(nn::TransformerEncoder(nn::TransformerEncoderLayer(4, 2), 0), Error);
  // The layer inside that was asked is named with its path.
  nn::TransformerEncoder encoder(nn::TransformerEncoderLayer(4, 2), 2);
  try {
    encoder(randn({3, 2, 5}));
    FAIL() << "a width of 5 was accepted";
  } catch (const ShapeError& e) {
    const std::string text = e.what();
    for (const char* part : {"self_attn", "layers", "5", "4"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(Transformer, PrintsItsLayers) {
  std::ostringstream out;
  out << nn::TransformerEncoderLayer(4, 2);
  EXPECT_EQ(out.str(),
            "tandem::nn::TransformerEncoderLayerImpl(\n"
            "  (self_attn): tandem::nn::MultiheadAttention(\n"
            "    (out_proj): tandem::nn::Linear(in_features=4, out_features=4, bias=true)\n"
            "  )\n"
            "  (linear1): tandem::nn::Linear(in_features=4, out_features=2048, bias=true)\n"
            "  (dropout): tandem::nn::Dropout(p=0.1, inplace=false)\n"
            "  (linear2): tandem::nn::Linear(in_features=2048, out_features=4, bias=true)\n"
            "  (norm1): tandem::nn::LayerNorm([4], eps=1e-05, elementwise_affine=true)\n"
            "  (norm2): tandem::nn::LayerNorm([4], eps=1e-05, elementwise_affine=true)\n"
            "  (dropout1): tandem::nn::Dropout(p=0.1, inplace=false)\n"
            "  (dropout2): tandem::nn::Dropout(p=0.1, inplace=false)\n"
            ")");
}

}  // namespace
