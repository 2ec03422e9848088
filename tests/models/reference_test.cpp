// Trained networks and what others computed with them. They are not part of this repository:
// TANDEM_SHARED_MODELS names the folder where they are.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "tandem/compile/compile.h"
#include "tandem/io/npy.h"
#include "tandem/models/models.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

/// The folder with a slash behind it; empty if there is none.
std::string folder(const char* model) {
  const char* all = std::getenv("TANDEM_SHARED_MODELS");
  return all && *all ? str(all, "/", model, "/") : std::string();
}
#define SKIP_WITHOUT(folder)                                                                \
  if (folder.empty())                                                                       \
  GTEST_SKIP() << "NOT TESTED: set TANDEM_SHARED_MODELS to the folder of trained networks " \
                  "to compare with what others computed with them"

double worst(const Tensor& got, const Tensor& wanted) {
  EXPECT_EQ(got.sizes(), wanted.sizes());
  return (got - wanted).abs().max().item<double>();
}

TEST(Reference, ResNet20OnCifar) {
  const std::string files = folder("resnet20_cifar10");
  SKIP_WITHOUT(files);
  const NoGradGuard no_grad;
  Network net = create("resnet20", {.weights = files + "resnet20.safetensors"});
  net->eval();
  const Tensor x = load_npy(files + "input.npy"), wanted = load_npy(files + "logits.npy");
  const double eager = worst(net(x), wanted);
  const auto compiled_net = compile([&](const Tensor& t) { return net(t); });
  const double compiled = worst(compiled_net(x), wanted);
  std::cout << "resnet20_cifar10: logits differ by " << eager << " at most, compiled by "
            << compiled << '\n';
  EXPECT_LT(eager, 1e-4);
  EXPECT_LT(compiled, 1e-4);
}

TEST(Reference, CharacterLSTM) {
  const std::string files = folder("char_lstm");
  SKIP_WITHOUT(files);
  const NoGradGuard no_grad;
  LSTMLanguageModel net(LSTMLanguageModelOptions(65));
  load_weights(net, files + "model.safetensors");
  net->eval();
  const Tensor ids = load_npy(files + "ids_first4001.npy").to(kLong).reshape({1, -1});
  ASSERT_EQ(ids.size(1), 4001);
  const Tensor scores = net(ids.narrow(1, 0, 4000))[0];
  const double difference =
      worst(scores.narrow(0, 0, 64), load_npy(files + "logits_first64.npy").reshape({64, 65}));
  const double nats =
      nn::functional::cross_entropy(scores, ids[0].narrow(0, 1, 4000)).item<double>();
  std::cout << "char_lstm: logits differ by " << difference << " at most; " << nats
            << " nats a character\n";
  EXPECT_LT(difference, 1e-4);
  EXPECT_NEAR(nats, 1.2927573, 1e-4);
}

}  // namespace
}  // namespace tandem::models
