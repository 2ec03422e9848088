#pragma once

#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/container/sequential.h"

/// The convolutional networks that came before residual ones, with torchvision's structure and
/// parameter names.
namespace tandem::models {

/// Convolutions called `features`, an average over a grid of fixed size, and fully connected layers
/// called `classifier`.
class FeatureNetImpl : public nn::Cloneable<FeatureNetImpl> {
 public:
  FeatureNetImpl(const char* name, nn::Sequential features, int64_t grid,
                 nn::Sequential classifier);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);

  nn::Sequential features{nullptr}, classifier{nullptr};

 private:
  const char* name_;
  int64_t grid_;
};
TANDEM_MODULE(FeatureNet);

/// LeNet-5 (LeCun and others, 1998) for images of 28x28 in grey, with ReLU and max pooling.
FeatureNet lenet(int64_t num_classes = 10, int64_t in_channels = 1);
/// AlexNet (Krizhevsky, 2014), for images of 224x224.
FeatureNet alexnet(int64_t num_classes = 1000, int64_t in_channels = 3);
/// VGG (Simonyan and Zisserman, 2014), for images of 224x224.
FeatureNet vgg11(int64_t num_classes = 1000, int64_t in_channels = 3);
FeatureNet vgg13(int64_t num_classes = 1000, int64_t in_channels = 3);
FeatureNet vgg16(int64_t num_classes = 1000, int64_t in_channels = 3);
FeatureNet vgg19(int64_t num_classes = 1000, int64_t in_channels = 3);

}  // namespace tandem::models
