// Transformers that classify images.
#include "tandem/models/vit.h"

#include <gtest/gtest.h>

#include "tandem/compile/compile.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tests/helpers.h"
#include "tests/io/scratch.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

ViTOptions small_vit() {
  return ViTOptions()
      .image_size(6)
      .patch_size(3)
      .in_channels(2)
      .hidden_size(8)
      .mlp_size(12)
      .num_heads(2)
      .num_layers(2)
      .num_classes(5);
}

/// With a head that is not zero, as it is at first.
ViT random_vit() {
  ViT net(small_vit());
  const NoGradGuard no_grad;
  for (Tensor& p : net->parameters()) p.normal_(0, 0.3);
  return net;
}

/// The network written out with plain products, the batch first.
Tensor vit_by_hand(const ViT& net, const Tensor& images) {
  const auto p = net->named_parameters();
  const int64_t batch = images.size(0), width = 8, heads = 2;
  const auto linear = [&](const Tensor& x, const std::string& name, const char* weight = ".weight",
                          const char* bias = ".bias") {
    return x.matmul(p[name + weight].t()) + p[name + bias];
  };
  const auto norm = [&](const Tensor& x, const std::string& name) {
    const Tensor centred = x - x.mean(-1, true);
    return centred / (centred.pow(2).mean(-1, true) + 1e-6).sqrt() * p[name + ".weight"] +
           p[name + ".bias"];
  };
  std::vector<Tensor> steps = {p["class_token"].squeeze(0).repeat({batch, 1})};
  for (int64_t row = 0; row < 2; ++row)
    for (int64_t column = 0; column < 2; ++column)
      steps.push_back(images.narrow(2, 3 * row, 3)
                          .narrow(3, 3 * column, 3)
                          .reshape({batch, -1})
                          .matmul(p["conv_proj.weight"].reshape({width, -1}).t()) +
                      p["conv_proj.bias"]);
  Tensor x = stack(steps, 1) + p["encoder.pos_embedding"];
  for (const std::string layer : {"encoder_layer_0", "encoder_layer_1"}) {
    const std::string name = "encoder.layers." + layer;
    const auto qkv = linear(norm(x, name + ".ln_1"), name + ".self_attention", ".in_proj_weight",
                            ".in_proj_bias")
                         .chunk(3, -1);
    std::vector<Tensor> results;
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t n = width / heads;
      const auto part = [&](int i) { return qkv[i].narrow(2, h * n, n); };
      const Tensor weights =
          softmax(part(0).matmul(part(1).transpose(1, 2)) / std::sqrt(double(n)), -1);
      results.push_back(weights.matmul(part(2)));
    }
    x = x + linear(cat(results, 2), name + ".self_attention.out_proj");
    x = x + linear(gelu(linear(norm(x, name + ".ln_2"), name + ".mlp.0")), name + ".mlp.3");
  }
  return linear(norm(x, "encoder.ln").select(1, 0), "heads.head");
}

TEST(ViT, EqualsPlainProducts) {
  const NoGradGuard no_grad;
  manual_seed(1);
  ViT net = random_vit();
  net->to(kDouble);
  net->eval();
  const Tensor images = randn({3, 2, 6, 6}, kDouble);
  const Tensor got = net(images);
  ASSERT_EQ(got.sizes(), (IntArrayRef{3, 5}));
  EXPECT_TRUE(allclose(got, vit_by_hand(net, images), 1e-9, 1e-9));
}

TEST(ViT, HasTorchvisionsNamesAndSizes) {
  const nn::init::SkipGuard skip;
  const ViT net = vit_b_16();
  EXPECT_EQ(parameters_of(net), 86'567'656);
  EXPECT_EQ(parameters_of(vit_b_32()), 88'224'232);
  EXPECT_EQ(parameters_of(vit_l_16()), 304'326'632);
  const auto names = net->named_parameters();
  EXPECT_EQ(names.size(), 152u);
  EXPECT_EQ(names["encoder.pos_embedding"].sizes(), (IntArrayRef{1, 197, 768}));
  for (const char* name :
       {"class_token", "conv_proj.weight", "encoder.layers.encoder_layer_0.ln_1.weight",
        "encoder.layers.encoder_layer_11.self_attention.in_proj_weight",
        "encoder.layers.encoder_layer_11.self_attention.out_proj.bias",
        "encoder.layers.encoder_layer_3.mlp.0.weight", "encoder.layers.encoder_layer_3.mlp.3.bias",
        "encoder.ln.weight", "heads.head.weight"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(ViT, CopiesAndFilesHoldTheSame) {
  const Tensor images = randn({2, 2, 6, 6});
  expect_files_and_copies<ViT>(random_vit(), random_vit(), [&](auto& net) { return net(images); });
  ViT net = random_vit();
  expect_gradients_reach(net, net(images).pow(2).sum());
}

TEST(ViT, FilesOfOlderNamesAreRead) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "vit.safetensors";
  ViT net = random_vit(), other = random_vit();
  TensorDict old;
  for (const auto& item : net->named_parameters()) {
    std::string name = item.key();
    for (const auto& [now, then] :
         {std::pair{".mlp.0.", ".mlp.linear_1."}, std::pair{".mlp.3.", ".mlp.linear_2."}})
      if (const size_t at = name.find(now); at != std::string::npos) name.replace(at, 7, then);
    old[name] = item.value().detach();
  }
  save_safetensors(old, path);
  load_weights(other, path);
  const Tensor images = randn({2, 2, 6, 6});
  EXPECT_TRUE(equal(net(images), other(images)));
}

TEST(ViT, LearnsCompiled) {
  manual_seed(2);
  ViT net(small_vit().dropout(0.1));
  optim::Adam adam(net->parameters(), optim::AdamOptions(1e-2));
  const auto step = compile([&](const Tensor& x, const Tensor& y) {
    adam.zero_grad();
    const Tensor loss = nn::functional::cross_entropy(net(x), y);
    loss.backward();
    adam.step();
    return loss.detach();
  });
  const Tensor x = randn({10, 2, 6, 6}), y = arange(10).remainder(5);
  const double first = step(x, y).item<double>();
  double last = first;
  for (int i = 0; i < 60; ++i) last = step(x, y).item<double>();
  EXPECT_LT(last, 0.5 * first);
}

TEST(ViT, MistakesAreExplained) {
  ViT net(small_vit());
  expect_error([&] { net(zeros({1, 2, 5, 6})); }, "[batch, 2, 6, 6]");
  expect_error([] { ViT(small_vit().patch_size(4)); }, "cannot be cut into squares of 4");
  expect_error([] { ViT(small_vit().num_heads(3)); }, "3 heads");
  expect_error([] { ViT(small_vit().num_layers(0)); }, "num_layers is 0");
}

}  // namespace
}  // namespace tandem::models
