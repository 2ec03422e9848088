// Networks by name: their sizes, torchvision's parameter names, and what they compute.
#include <gtest/gtest.h>

#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/models/resnet.h"
#include "tandem/models/vgg.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

// The counts that torchvision gives for its models.
TEST(Models, HaveThePublishedNumbersOfParameters) {
  const nn::init::SkipGuard skip;  // sizes only
  EXPECT_EQ(parameters_of(resnet18()), 11'689'512);
  EXPECT_EQ(parameters_of(resnet34()), 21'797'672);
  EXPECT_EQ(parameters_of(resnet50()), 25'557'032);
  EXPECT_EQ(parameters_of(resnet101()), 44'549'160);
  EXPECT_EQ(parameters_of(resnet152()), 60'192'808);
  EXPECT_EQ(parameters_of(vgg11()), 132'863'336);
  EXPECT_EQ(parameters_of(vgg13()), 133'047'848);
  EXPECT_EQ(parameters_of(vgg16()), 138'357'544);
  EXPECT_EQ(parameters_of(vgg19()), 143'667'240);
  EXPECT_EQ(parameters_of(alexnet()), 61'100'840);
  EXPECT_EQ(parameters_of(lenet()), 61'706);
  EXPECT_EQ(parameters_of(resnet18(10)), 11'689'512 - 990 * 513);
}

TEST(Models, HaveTorchvisionsNames) {
  const auto resnet = resnet50();
  const auto names = resnet->named_parameters();
  for (const char* name :
       {"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight", "layer1.0.bn3.bias",
        "layer1.0.downsample.0.weight", "layer1.0.downsample.1.weight", "layer3.5.conv2.weight",
        "layer4.2.conv3.weight", "fc.weight", "fc.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("layer1.1.downsample.0.weight"));
  EXPECT_EQ(names.size(), 161u);
  EXPECT_EQ(names["layer4.0.conv2.weight"].sizes(), (IntArrayRef{512, 512, 3, 3}));
  const auto buffers = resnet->named_buffers();
  for (const char* name : {"bn1.running_mean", "layer2.0.bn1.running_var",
                           "layer2.0.downsample.1.num_batches_tracked"})
    EXPECT_TRUE(buffers.contains(name)) << name;
  const auto alex = alexnet(10)->named_parameters();
  for (const char* name : {"features.0.weight", "features.10.bias", "classifier.1.weight",
                           "classifier.4.bias", "classifier.6.weight"})
    EXPECT_TRUE(alex.contains(name)) << name;
}

TEST(Models, GiveAScoreForEachClass) {
  const NoGradGuard no_grad;
  auto resnet = resnet18(7);
  resnet->eval();
  EXPECT_EQ(resnet->forward(randn({2, 3, 64, 64})).sizes(), (IntArrayRef{2, 7}));
  EXPECT_EQ(lenet()->forward(randn({3, 1, 28, 28})).sizes(), (IntArrayRef{3, 10}));
  EXPECT_EQ(alexnet(5)->forward(randn({1, 3, 64, 64})).sizes(), (IntArrayRef{1, 5}));
}

TEST(Models, CopiesAndFilesHoldTheSameNetwork) {
  const NoGradGuard no_grad;
  manual_seed(1);
  auto net = lenet(), other = lenet();
  const Tensor x = randn({2, 1, 28, 28});
  std::stringstream file;
  save(net, file);
  load(other, file);
  EXPECT_TRUE(equal(net->forward(x), other->forward(x)));
  const auto copy = std::dynamic_pointer_cast<FeatureNetImpl>(net->clone());
  net->parameters()[0].zero_();
  EXPECT_TRUE(equal(copy->forward(x), other->forward(x)));
  auto block = resnet18(3);
  block->eval();
  const auto resnet_copy = std::dynamic_pointer_cast<ResNetImpl>(block->clone());
  resnet_copy->eval();
  const Tensor image = randn({1, 3, 32, 32});
  EXPECT_TRUE(equal(block->forward(image), resnet_copy->forward(image)));
}

}  // namespace
}  // namespace tandem::models
