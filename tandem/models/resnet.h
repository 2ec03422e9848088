#pragma once

#include <string>
#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/batchnorm.h"
#include "tandem/nn/modules/container/sequential.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/linear.h"

/// Residual networks (He and others, 2015), with torchvision's structure and parameter names, so
/// that its weights can be loaded.
namespace tandem::models {

/// Which kind of block, how many in each of the four stages, and what comes out at the end.
struct ResNetOptions {
  ResNetOptions(std::vector<int64_t> layers, bool bottleneck)
      : layers_(std::move(layers)), bottleneck_(bottleneck) {}
  TANDEM_ARG(std::vector<int64_t>, layers);
  /// Blocks of three convolutions (1x1, 3x3, 1x1 with four times the channels) instead of two
  /// (3x3).
  TANDEM_ARG(bool, bottleneck);
  TANDEM_ARG(int64_t, num_classes) = 1000;
  TANDEM_ARG(int64_t, in_channels) = 3;
};

/// How x is brought to the shape of what it is added to: by a convolution with a norm, or without
/// parameters, by leaving out every other pixel and zeros for new channels on both sides.
enum class Shortcut { kProjected, kPadded };

/// x + convolutions(x); with a stride or other channels, the shortcut brings x to the same shape.
class ResNetBlockImpl : public nn::Cloneable<ResNetBlockImpl> {
 public:
  ResNetBlockImpl(int64_t in_channels, int64_t channels, int64_t stride, bool bottleneck,
                  Shortcut shortcut = Shortcut::kProjected);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);

  nn::Conv2d conv1{nullptr}, conv2{nullptr}, conv3{nullptr};
  nn::BatchNorm2d bn1{nullptr}, bn2{nullptr}, bn3{nullptr};
  nn::Sequential downsample{nullptr};

 private:
  Tensor padded(const Tensor& x, int64_t channels) const;

  int64_t in_channels_, channels_, stride_;
  bool bottleneck_;
  Shortcut shortcut_;
};
TANDEM_MODULE(ResNetBlock);

class ResNetImpl : public nn::Cloneable<ResNetImpl> {
 public:
  explicit ResNetImpl(const ResNetOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor x);

  ResNetOptions options;
  nn::Conv2d conv1{nullptr};
  nn::BatchNorm2d bn1{nullptr};
  nn::Sequential layer1{nullptr}, layer2{nullptr}, layer3{nullptr}, layer4{nullptr};
  nn::Linear fc{nullptr};

 private:
  nn::Sequential stage(int64_t& in_channels, int64_t channels, int64_t blocks,
                       int64_t stride) const;
};
TANDEM_MODULE(ResNet);

ResNet resnet18(int64_t num_classes = 1000, int64_t in_channels = 3);
ResNet resnet34(int64_t num_classes = 1000, int64_t in_channels = 3);
ResNet resnet50(int64_t num_classes = 1000, int64_t in_channels = 3);
ResNet resnet101(int64_t num_classes = 1000, int64_t in_channels = 3);
ResNet resnet152(int64_t num_classes = 1000, int64_t in_channels = 3);

}  // namespace tandem::models
