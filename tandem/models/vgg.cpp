#include "tandem/models/vgg.h"

#include "tandem/nn/init.h"
#include "tandem/nn/modules/activation.h"
#include "tandem/nn/modules/conv.h"
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/pooling.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

constexpr int64_t kPool = 0;  // in a list of channels: max pooling

nn::Sequential copy_of(const nn::Sequential& s) {
  return nn::Sequential(std::dynamic_pointer_cast<nn::SequentialImpl>(s->clone()));
}

FeatureNet vgg(const std::vector<int64_t>& plan, int64_t num_classes, int64_t in_channels) {
  nn::Sequential features;
  int64_t in = in_channels;
  for (const int64_t channels : plan) {
    if (channels == kPool) {
      features->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(2).stride(2)));
      continue;
    }
    nn::Conv2d conv(nn::Conv2dOptions(in, channels, 3).padding(1));
    nn::init::kaiming_normal_(conv->weight, 0, kFanOut, kReLU);
    nn::init::zeros_(conv->bias);
    features->push_back(conv);
    features->push_back(nn::ReLU(nn::ReLUOptions(true)));
    in = channels;
  }
  const auto linear = [](int64_t from, int64_t to) {
    nn::Linear l(from, to);
    nn::init::normal_(l->weight, 0, 0.01);
    nn::init::zeros_(l->bias);
    return l;
  };
  nn::Sequential classifier(linear(512 * 7 * 7, 4096), nn::ReLU(nn::ReLUOptions(true)),
                            nn::Dropout(), linear(4096, 4096), nn::ReLU(nn::ReLUOptions(true)),
                            nn::Dropout(), linear(4096, num_classes));
  return FeatureNet("VGG", features, 7, classifier);
}

}  // namespace

FeatureNetImpl::FeatureNetImpl(const char* name, nn::Sequential features_, int64_t grid,
                               nn::Sequential classifier_)
    : features(register_module("features", features_)),
      classifier(register_module("classifier", classifier_)),
      name_(name),
      grid_(grid) {}

void FeatureNetImpl::reset() {
  features = register_module("features", copy_of(features));
  classifier = register_module("classifier", copy_of(classifier));
}

void FeatureNetImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::" << name_;
}

Tensor FeatureNetImpl::forward(const Tensor& x) {
  const Tensor grid = adaptive_avg_pool2d(features->forward(x), {grid_, grid_});
  return classifier->forward(grid.flatten(1));
}

FeatureNet lenet(int64_t num_classes, int64_t in_channels) {
  nn::Sequential features(nn::Conv2d(nn::Conv2dOptions(in_channels, 6, 5).padding(2)), nn::ReLU(),
                          nn::MaxPool2d(2), nn::Conv2d(nn::Conv2dOptions(6, 16, 5)), nn::ReLU(),
                          nn::MaxPool2d(2));
  nn::Sequential classifier(nn::Linear(16 * 5 * 5, 120), nn::ReLU(), nn::Linear(120, 84),
                            nn::ReLU(), nn::Linear(84, num_classes));
  return FeatureNet("LeNet", features, 5, classifier);
}

FeatureNet alexnet(int64_t num_classes, int64_t in_channels) {
  const auto pool = [] { return nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2)); };
  const auto relu = [] { return nn::ReLU(nn::ReLUOptions(true)); };
  const auto conv = [](int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t padding) {
    return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(padding));
  };
  nn::Sequential features(conv(in_channels, 64, 11, 4, 2), relu(), pool(), conv(64, 192, 5, 1, 2),
                          relu(), pool(), conv(192, 384, 3, 1, 1), relu(), conv(384, 256, 3, 1, 1),
                          relu(), conv(256, 256, 3, 1, 1), relu(), pool());
  nn::Sequential classifier(nn::Dropout(), nn::Linear(256 * 6 * 6, 4096), relu(), nn::Dropout(),
                            nn::Linear(4096, 4096), relu(), nn::Linear(4096, num_classes));
  return FeatureNet("AlexNet", features, 6, classifier);
}

FeatureNet vgg11(int64_t num_classes, int64_t in_channels) {
  return vgg({64, kPool, 128, kPool, 256, 256, kPool, 512, 512, kPool, 512, 512, kPool},
             num_classes, in_channels);
}
FeatureNet vgg13(int64_t num_classes, int64_t in_channels) {
  return vgg({64, 64, kPool, 128, 128, kPool, 256, 256, kPool, 512, 512, kPool, 512, 512, kPool},
             num_classes, in_channels);
}
FeatureNet vgg16(int64_t num_classes, int64_t in_channels) {
  return vgg({64, 64, kPool, 128, 128, kPool, 256, 256, 256, kPool, 512, 512, 512, kPool, 512, 512,
              512, kPool},
             num_classes, in_channels);
}
FeatureNet vgg19(int64_t num_classes, int64_t in_channels) {
  return vgg({64,  64,  kPool, 128, 128,   kPool, 256, 256, 256, 256,  kPool,
              512, 512, 512,   512, kPool, 512,   512, 512, 512, kPool},
             num_classes, in_channels);
}

}  // namespace tandem::models
