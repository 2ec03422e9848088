#pragma once

#include "tandem/models/weights.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/attention.h"
#include "tandem/nn/modules/container/sequential.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/normalization.h"

/// Transformers that classify images (Dosovitskiy and others, 2020), with torchvision's structure
/// and parameter names, so that its weights can be loaded.
namespace tandem::models {

/// At first those of vit_b_16.
struct ViTOptions {
  TANDEM_ARG(int64_t, image_size) = 224;
  /// Images are cut into squares of this size.
  TANDEM_ARG(int64_t, patch_size) = 16;
  TANDEM_ARG(int64_t, num_layers) = 12;
  TANDEM_ARG(int64_t, num_heads) = 12;
  TANDEM_ARG(int64_t, hidden_size) = 768;
  /// Of the wider one of the two linear layers.
  TANDEM_ARG(int64_t, mlp_size) = 3072;
  TANDEM_ARG(double, dropout) = 0;
  TANDEM_ARG(int64_t, num_classes) = 1000;
  TANDEM_ARG(int64_t, in_channels) = 3;
};

/// Attention and two linear layers, each added to what came in, which it sees normalised. Tensors
/// are [steps, batch, width].
class ViTBlockImpl : public nn::Cloneable<ViTBlockImpl> {
 public:
  explicit ViTBlockImpl(const ViTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor x);

  ViTOptions options;
  nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  nn::MultiheadAttention self_attention{nullptr};
  nn::Dropout dropout{nullptr};
  nn::Sequential mlp{nullptr};
};
TANDEM_MODULE(ViTBlock);

/// Adds where each square was, and lets the layers look at all of them.
class ViTEncoderImpl : public nn::Cloneable<ViTEncoderImpl> {
 public:
  ViTEncoderImpl(const ViTOptions& options, int64_t steps);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);

  ViTOptions options;
  Tensor pos_embedding;
  nn::Dropout dropout{nullptr};
  nn::Sequential layers{nullptr};
  nn::LayerNorm ln{nullptr};

 private:
  int64_t steps_;
};
TANDEM_MODULE(ViTEncoder);

/// Squares of the image become vectors; one more, the class token, goes through the layers with
/// them, and what it has become says the class.
///
///     ViT net(ViTOptions().image_size(28).in_channels(1).patch_size(7).hidden_size(64)
///                 .mlp_size(128).num_heads(4).num_layers(4).num_classes(10));
///
/// load_weights also takes the names that torchvision's files had at first, mlp.linear_1.
class ViTImpl : public nn::Cloneable<ViTImpl>, public WeightNames {
 public:
  explicit ViTImpl(const ViTOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);
  TensorDict own_names(TensorDict file, const std::string& what) const override;

  ViTOptions options;
  Tensor class_token;
  nn::Conv2d conv_proj{nullptr};
  ViTEncoder encoder{nullptr};
  nn::Sequential heads{nullptr};
};
TANDEM_MODULE(ViT);

ViT vit_b_16(int64_t num_classes = 1000, int64_t in_channels = 3);
ViT vit_b_32(int64_t num_classes = 1000, int64_t in_channels = 3);
ViT vit_l_16(int64_t num_classes = 1000, int64_t in_channels = 3);
ViT vit_l_32(int64_t num_classes = 1000, int64_t in_channels = 3);

}  // namespace tandem::models
