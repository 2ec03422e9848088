#include "tandem/models/vit.h"

#include <cmath>

#include "tandem/nn/init.h"
#include "tandem/nn/modules/activation.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

nn::LayerNorm norm(const ViTOptions& o) {
  return nn::LayerNorm(nn::LayerNormOptions({o.hidden_size()}).eps(1e-6));
}

nn::Linear mlp_layer(int64_t in, int64_t out) {
  nn::Linear l(in, out);
  nn::init::xavier_uniform_(l->weight);
  nn::init::normal_(l->bias, 0, 1e-6);
  return l;
}

void expect_options(const ViTOptions& o) {
  for (const auto& [name, value] :
       {std::pair{"image_size", o.image_size()}, std::pair{"patch_size", o.patch_size()},
        std::pair{"num_layers", o.num_layers()}, std::pair{"num_heads", o.num_heads()},
        std::pair{"hidden_size", o.hidden_size()}, std::pair{"mlp_size", o.mlp_size()},
        std::pair{"num_classes", o.num_classes()}, std::pair{"in_channels", o.in_channels()}})
    TANDEM_CHECK_AS(ValueError, value >= 1, "ViT: ", name, " is ", value, ", expected at least 1");
  TANDEM_CHECK_AS(ValueError, o.image_size() % o.patch_size() == 0, "ViT: images of ",
                  o.image_size(), " pixels cannot be cut into squares of ", o.patch_size());
  TANDEM_CHECK_AS(ValueError, o.hidden_size() % o.num_heads() == 0, "ViT: hidden_size ",
                  o.hidden_size(), " cannot be shared among ", o.num_heads(), " heads");
}

ViTOptions large() {
  return ViTOptions().num_layers(24).num_heads(16).hidden_size(1024).mlp_size(4096);
}
ViT make(ViTOptions o, int64_t patch_size, int64_t num_classes, int64_t in_channels) {
  return ViT(o.patch_size(patch_size).num_classes(num_classes).in_channels(in_channels));
}

}  // namespace

ViTBlockImpl::ViTBlockImpl(const ViTOptions& options_) : options(options_) { reset(); }
void ViTBlockImpl::reset() {
  const auto& o = options;
  ln_1 = register_module("ln_1", norm(o));
  self_attention = register_module(
      "self_attention",
      nn::MultiheadAttention(
          nn::MultiheadAttentionOptions(o.hidden_size(), o.num_heads()).dropout(o.dropout())));
  dropout = register_module("dropout", nn::Dropout(o.dropout()));
  ln_2 = register_module("ln_2", norm(o));
  mlp = register_module(
      "mlp",
      nn::Sequential(mlp_layer(o.hidden_size(), o.mlp_size()), nn::GELU(), nn::Dropout(o.dropout()),
                     mlp_layer(o.mlp_size(), o.hidden_size()), nn::Dropout(o.dropout())));
}
void ViTBlockImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::ViTBlock";
}
Tensor ViTBlockImpl::forward(Tensor x) {
  const Tensor y = ln_1(x);
  x = x + dropout(std::get<0>(self_attention(y, y, y, Tensor(), /*need_weights=*/false)));
  return x + mlp->forward(ln_2(x));
}

ViTEncoderImpl::ViTEncoderImpl(const ViTOptions& options_, int64_t steps)
    : options(options_), steps_(steps) {
  reset();
}
void ViTEncoderImpl::reset() {
  pos_embedding = register_parameter("pos_embedding", empty({1, steps_, options.hidden_size()}));
  nn::init::normal_(pos_embedding, 0, 0.02);
  dropout = register_module("dropout", nn::Dropout(options.dropout()));
  nn::Sequential blocks;
  for (int64_t i = 0; i < options.num_layers(); ++i)
    blocks->push_back(str("encoder_layer_", i), ViTBlock(options));
  layers = register_module("layers", blocks);
  ln = register_module("ln", norm(options));
}
void ViTEncoderImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::ViTEncoder";
}
Tensor ViTEncoderImpl::forward(const Tensor& x) {
  // The places are added where the batch comes first, as they are stored; the layers want it
  // second.
  return ln(layers->forward(dropout(x + pos_embedding).transpose(0, 1)));
}

ViTImpl::ViTImpl(const ViTOptions& options_) : options(options_) {
  expect_options(options);
  reset();
}
void ViTImpl::reset() {
  const auto& o = options;
  const int64_t side = o.image_size() / o.patch_size();
  class_token = register_parameter("class_token", zeros({1, 1, o.hidden_size()}));
  conv_proj = register_module(
      "conv_proj", nn::Conv2d(nn::Conv2dOptions(o.in_channels(), o.hidden_size(), o.patch_size())
                                  .stride(o.patch_size())));
  const double inputs = static_cast<double>(o.in_channels() * o.patch_size() * o.patch_size());
  nn::init::normal_(conv_proj->weight, 0, std::sqrt(1 / inputs));
  nn::init::zeros_(conv_proj->bias);
  encoder = register_module("encoder", ViTEncoder(o, side * side + 1));
  nn::Linear head(o.hidden_size(), o.num_classes());
  nn::init::zeros_(head->weight);
  nn::init::zeros_(head->bias);
  nn::Sequential all;
  all->push_back("head", head);
  heads = register_module("heads", all);
}
void ViTImpl::pretty_print(std::ostream& stream) const { stream << "tandem::models::ViT"; }

Tensor ViTImpl::forward(const Tensor& x) {
  TANDEM_CHECK_SHAPE(
      x.dim() == 4 && x.size(2) == options.image_size() && x.size(3) == options.image_size(),
      "ViT: images are to be [batch, ", options.in_channels(), ", ", options.image_size(), ", ",
      options.image_size(), "], not ", x.sizes());
  const Tensor squares = conv_proj(x).flatten(2).transpose(1, 2);
  const Tensor first = class_token + zeros({x.size(0), 1, 1}, squares.options());
  return heads->forward(encoder(cat({first, squares}, 1)).select(0, 0));
}

TensorDict ViTImpl::own_names(TensorDict file, const std::string&) const {
  TensorDict own;
  for (auto& [name, tensor] : file) {
    std::string here = name;
    for (const auto& [old_name, new_name] :
         {std::pair<std::string, std::string>{".mlp.linear_1.", ".mlp.0."},
          std::pair<std::string, std::string>{".mlp.linear_2.", ".mlp.3."}})
      if (const size_t at = here.find(old_name); at != std::string::npos)
        here.replace(at, old_name.size(), new_name);
    own.emplace(std::move(here), std::move(tensor));
  }
  return own;
}

ViT vit_b_16(int64_t num_classes, int64_t in_channels) {
  return make(ViTOptions(), 16, num_classes, in_channels);
}
ViT vit_b_32(int64_t num_classes, int64_t in_channels) {
  return make(ViTOptions(), 32, num_classes, in_channels);
}
ViT vit_l_16(int64_t num_classes, int64_t in_channels) {
  return make(large(), 16, num_classes, in_channels);
}
ViT vit_l_32(int64_t num_classes, int64_t in_channels) {
  return make(large(), 32, num_classes, in_channels);
}

}  // namespace tandem::models
