#pragma once

#include "tandem/models/resnet.h"

namespace tandem::models {

/// How many blocks in each of the three stages, and what comes out at the end.
struct CifarResNetOptions {
  explicit CifarResNetOptions(int64_t blocks) : blocks_(blocks) {}
  TANDEM_ARG(int64_t, blocks);
  TANDEM_ARG(int64_t, num_classes) = 10;
  TANDEM_ARG(int64_t, in_channels) = 3;
};

/// The residual networks for small images (He and others, 2015, section 4.2): three stages of 16,
/// 32 and 64 channels, whose shortcuts have no parameters. The names of the parameters are those of
/// the trained ones that are in common use: conv1, bn1, layer1.0.conv1, ..., linear.
class CifarResNetImpl : public nn::Cloneable<CifarResNetImpl> {
 public:
  explicit CifarResNetImpl(const CifarResNetOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor x);

  CifarResNetOptions options;
  nn::Conv2d conv1{nullptr};
  nn::BatchNorm2d bn1{nullptr};
  nn::Sequential layer1{nullptr}, layer2{nullptr}, layer3{nullptr};
  nn::Linear linear{nullptr};
};
TANDEM_MODULE(CifarResNet);

// For images of 32x32; 6 n + 2 layers, n blocks a stage.
CifarResNet resnet20(int64_t num_classes = 10, int64_t in_channels = 3);
CifarResNet resnet32(int64_t num_classes = 10, int64_t in_channels = 3);
CifarResNet resnet44(int64_t num_classes = 10, int64_t in_channels = 3);
CifarResNet resnet56(int64_t num_classes = 10, int64_t in_channels = 3);
CifarResNet resnet110(int64_t num_classes = 10, int64_t in_channels = 3);

}  // namespace tandem::models
