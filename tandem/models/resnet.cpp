#include "tandem/models/resnet.h"

#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
  return nn::Conv2d(
      nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

ResNet resnet(std::vector<int64_t> layers, bool bottleneck, int64_t num_classes,
              int64_t in_channels) {
  return ResNet(ResNetOptions(std::move(layers), bottleneck)
                    .num_classes(num_classes)
                    .in_channels(in_channels));
}

}  // namespace

ResNetBlockImpl::ResNetBlockImpl(int64_t in_channels, int64_t channels, int64_t stride,
                                 bool bottleneck, Shortcut shortcut)
    : in_channels_(in_channels),
      channels_(channels),
      stride_(stride),
      bottleneck_(bottleneck),
      shortcut_(shortcut) {
  reset();
}

void ResNetBlockImpl::reset() {
  const int64_t out = bottleneck_ ? 4 * channels_ : channels_;
  if (bottleneck_) {
    conv1 = register_module("conv1", conv(in_channels_, channels_, 1));
    bn1 = register_module("bn1", nn::BatchNorm2d(channels_));
    conv2 = register_module("conv2", conv(channels_, channels_, 3, stride_));
    bn2 = register_module("bn2", nn::BatchNorm2d(channels_));
    conv3 = register_module("conv3", conv(channels_, out, 1));
    bn3 = register_module("bn3", nn::BatchNorm2d(out));
  } else {
    conv1 = register_module("conv1", conv(in_channels_, channels_, 3, stride_));
    bn1 = register_module("bn1", nn::BatchNorm2d(channels_));
    conv2 = register_module("conv2", conv(channels_, channels_, 3));
    bn2 = register_module("bn2", nn::BatchNorm2d(channels_));
  }
  if (shortcut_ == Shortcut::kProjected && (stride_ != 1 || in_channels_ != out))
    downsample = register_module(
        "downsample", nn::Sequential(conv(in_channels_, out, 1, stride_), nn::BatchNorm2d(out)));
}

void ResNetBlockImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::ResNetBlock";
}

Tensor ResNetBlockImpl::padded(const Tensor& x, int64_t channels) const {
  const int64_t more = channels - in_channels_;
  if (stride_ == 1 && more == 0) return x;
  const Tensor fewer = x.slice(2, 0, std::nullopt, stride_).slice(3, 0, std::nullopt, stride_);
  return constant_pad_nd(fewer, {0, 0, 0, 0, more / 2, more - more / 2});
}

Tensor ResNetBlockImpl::forward(const Tensor& x) {
  Tensor y = relu(bn1(conv1(x)));
  y = bn2(conv2(y));
  if (bottleneck_) y = bn3(conv3(relu(y)));
  return relu(y + (downsample ? downsample->forward(x) : padded(x, y.size(1))));
}

ResNetImpl::ResNetImpl(const ResNetOptions& options_) : options(options_) {
  TANDEM_CHECK(options.layers().size() == 4, "ResNet: four stages are wanted, not ",
               options.layers().size());
  reset();
}

nn::Sequential ResNetImpl::stage(int64_t& in_channels, int64_t channels, int64_t blocks,
                                 int64_t stride) const {
  nn::Sequential s;
  for (int64_t i = 0; i < blocks; ++i) {
    s->push_back(ResNetBlock(in_channels, channels, i == 0 ? stride : 1, options.bottleneck()));
    in_channels = options.bottleneck() ? 4 * channels : channels;
  }
  return s;
}

void ResNetImpl::reset() {
  conv1 = register_module(
      "conv1",
      nn::Conv2d(nn::Conv2dOptions(options.in_channels(), 64, 7).stride(2).padding(3).bias(false)));
  bn1 = register_module("bn1", nn::BatchNorm2d(64));
  int64_t channels = 64;
  const auto& layers = options.layers();
  layer1 = register_module("layer1", stage(channels, 64, layers[0], 1));
  layer2 = register_module("layer2", stage(channels, 128, layers[1], 2));
  layer3 = register_module("layer3", stage(channels, 256, layers[2], 2));
  layer4 = register_module("layer4", stage(channels, 512, layers[3], 2));
  fc = register_module("fc", nn::Linear(channels, options.num_classes()));
  for (const auto& m : modules(/*include_self=*/false))
    if (auto* c = m->as<nn::Conv2d>()) nn::init::kaiming_normal_(c->weight, 0, kFanOut, kReLU);
}

void ResNetImpl::pretty_print(std::ostream& stream) const { stream << "tandem::models::ResNet"; }

Tensor ResNetImpl::forward(Tensor x) {
  x = relu(bn1(conv1(x)));
  x = max_pool2d(x, /*kernel_size=*/{3, 3}, /*stride=*/{2, 2}, /*padding=*/{1, 1});
  x = layer4->forward(layer3->forward(layer2->forward(layer1->forward(x))));
  x = adaptive_avg_pool2d(x, {1, 1}).flatten(1);
  return fc(x);
}

ResNet resnet18(int64_t num_classes, int64_t in_channels) {
  return resnet({2, 2, 2, 2}, false, num_classes, in_channels);
}
ResNet resnet34(int64_t num_classes, int64_t in_channels) {
  return resnet({3, 4, 6, 3}, false, num_classes, in_channels);
}
ResNet resnet50(int64_t num_classes, int64_t in_channels) {
  return resnet({3, 4, 6, 3}, true, num_classes, in_channels);
}
ResNet resnet101(int64_t num_classes, int64_t in_channels) {
  return resnet({3, 4, 23, 3}, true, num_classes, in_channels);
}
ResNet resnet152(int64_t num_classes, int64_t in_channels) {
  return resnet({3, 8, 36, 3}, true, num_classes, in_channels);
}

}  // namespace tandem::models
