#include "tandem/models/cifar_resnet.h"

#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

nn::Sequential stage(int64_t in_channels, int64_t channels, int64_t blocks, int64_t stride) {
  nn::Sequential s;
  for (int64_t i = 0; i < blocks; ++i)
    s->push_back(ResNetBlock(i == 0 ? in_channels : channels, channels, i == 0 ? stride : 1,
                             /*bottleneck=*/false, Shortcut::kPadded));
  return s;
}

CifarResNet make(int64_t blocks, int64_t num_classes, int64_t in_channels) {
  return CifarResNet(CifarResNetOptions(blocks).num_classes(num_classes).in_channels(in_channels));
}

}  // namespace

CifarResNetImpl::CifarResNetImpl(const CifarResNetOptions& options_) : options(options_) {
  TANDEM_CHECK(options.blocks() >= 1, "CifarResNet: a stage needs a block, not ", options.blocks());
  reset();
}

void CifarResNetImpl::reset() {
  conv1 = register_module(
      "conv1", nn::Conv2d(nn::Conv2dOptions(options.in_channels(), 16, 3).padding(1).bias(false)));
  bn1 = register_module("bn1", nn::BatchNorm2d(16));
  layer1 = register_module("layer1", stage(16, 16, options.blocks(), 1));
  layer2 = register_module("layer2", stage(16, 32, options.blocks(), 2));
  layer3 = register_module("layer3", stage(32, 64, options.blocks(), 2));
  linear = register_module("linear", nn::Linear(64, options.num_classes()));
  for (const auto& m : modules(/*include_self=*/false)) {
    if (auto* c = m->as<nn::Conv2d>()) nn::init::kaiming_normal_(c->weight);
    if (auto* l = m->as<nn::Linear>()) nn::init::kaiming_normal_(l->weight);
  }
}

void CifarResNetImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::CifarResNet(blocks=" << options.blocks() << ")";
}

Tensor CifarResNetImpl::forward(Tensor x) {
  x = relu(bn1(conv1(x)));
  x = layer3->forward(layer2->forward(layer1->forward(x)));
  return linear(adaptive_avg_pool2d(x, {1, 1}).flatten(1));
}

CifarResNet resnet20(int64_t num_classes, int64_t in_channels) {
  return make(3, num_classes, in_channels);
}
CifarResNet resnet32(int64_t num_classes, int64_t in_channels) {
  return make(5, num_classes, in_channels);
}
CifarResNet resnet44(int64_t num_classes, int64_t in_channels) {
  return make(7, num_classes, in_channels);
}
CifarResNet resnet56(int64_t num_classes, int64_t in_channels) {
  return make(9, num_classes, in_channels);
}
CifarResNet resnet110(int64_t num_classes, int64_t in_channels) {
  return make(18, num_classes, in_channels);
}

}  // namespace tandem::models
