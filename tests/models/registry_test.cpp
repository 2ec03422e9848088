// Networks by name, and their weights from and to files.
#include "tandem/models/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tandem/io/safetensors.h"
#include "tandem/models/models.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"
#include "tests/io/scratch.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

bool has(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

TensorDict state_of(const nn::Module& module) {
  TensorDict state;
  for (const auto& item : module.named_parameters()) state[item.key()] = item.value().detach();
  for (const auto& item : module.named_buffers()) state[item.key()] = item.value();
  return state;
}

TEST(Registry, GivesNetworksByName) {
  const NoGradGuard no_grad;
  Network net = create("resnet18", {.num_classes = 10});
  EXPECT_EQ(net(randn({2, 3, 32, 32})).sizes(), (IntArrayRef{2, 10}));
  EXPECT_NE(net->as<ResNet>(), nullptr);
  EXPECT_EQ(net.get<ResNet>()->options.num_classes(), 10);
  EXPECT_EQ(create("lenet", {.in_channels = 3}).forward(randn({1, 3, 28, 28})).sizes(),
            (IntArrayRef{1, 10}));
}

TEST(Registry, ListsItsNames) {
  const auto all = names();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  for (const char* name :
       {"lenet",     "alexnet",   "vgg11",         "vgg13",     "vgg16",     "vgg19",
        "resnet18",  "resnet34",  "resnet50",      "resnet101", "resnet152", "resnet20",
        "resnet110", "lstm_lm",   "gpt2",          "gpt2-xl",   "bert-base", "bert-large",
        "seq2seq",   "recursive", "module_network"})
    EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << name;
  for (const std::string& name : all) {
    EXPECT_EQ(info(name).name, name);
    EXPECT_FALSE(info(name).what.empty()) << name;
  }
  EXPECT_EQ(info("lenet").image_size, 28);
  EXPECT_EQ(info("resnet50").channels, 3);
}

TEST(Registry, AnswersAnUnknownNameWithTheNearest) {
  expect_error([] { create("resnet81"); }, "there is no model 'resnet81'");
  expect_error([] { create("alexnt"); }, "did you mean 'alexnet'?");
  expect_error([] { info("vgg"); }, "vgg16");
  expect_error([] { create(""); }, "There are:");
}

TEST(Registry, RefusesOptionsThatMakeNoSense) {
  expect_error([] { create("lenet", {.num_classes = 0}); },
               "model lenet: option num_classes is 0, expected at least 1");
  expect_error([] { create("lenet", {.in_channels = -3}); }, "option in_channels is -3");
}

TEST(Registry, GivesLanguageModels) {
  const NoGradGuard no_grad;
  const Tensor ids = arange(6).view({2, 3});
  Network lstm = create("lstm_lm", {.vocab_size = 9, .hidden_size = 8, .num_layers = 1});
  EXPECT_EQ(lstm(ids).sizes(), (IntArrayRef{2, 3, 9}));
  Network gpt = create("gpt2", {.vocab_size = 9,
                                .context_size = 4,
                                .hidden_size = 8,
                                .num_layers = 1,
                                .num_heads = 2,
                                .dropout = 0.2});
  EXPECT_EQ(gpt(ids).sizes(), (IntArrayRef{2, 3, 9}));
  EXPECT_EQ(info("gpt2").input, Info::Input::kSymbols);
  expect_error([] { create("lenet", {.num_heads = 2}); }, "model lenet has no option num_heads");
  expect_error([] { create("lenet", {.dropout = 0.5}); }, "model lenet has no option dropout");
  expect_error([] { create("lstm_lm", {.dropout = 1}); }, "option dropout is 1");
}

// The smallest images are those that forward() takes; one pixel less and it does not.
TEST(Registry, KnowsTheSmallestImages) {
  const NoGradGuard no_grad;
  for (const char* name : {"lenet", "resnet18", "resnet20"}) {
    Network net = create(name, {.num_classes = 2});
    net->eval();
    const Info& i = info(name);
    const int64_t least = i.least_image_size;
    EXPECT_EQ(net(randn({1, i.channels, least, least})).sizes(), (IntArrayRef{1, 2})) << name;
    if (least > 1) {
      EXPECT_THROW(net(randn({1, i.channels, least - 1, least - 1})), Error) << name;
    }
  }
}

TEST(Weights, GoToAFileAndBack) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "round_trip.safetensors";
  Network a = create("resnet18", {.num_classes = 4}), b = create("resnet18", {.num_classes = 4});
  a(randn({2, 3, 32, 32}));  // moves the statistics
  save_weights(a, path, {{"source", "a test"}});
  const LoadReport report = load_weights(b, path);
  EXPECT_TRUE(report.missing.empty());
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_EQ(report.loaded, static_cast<int64_t>(state_of(*a).size()));
  const TensorDict wanted = state_of(*a), got = state_of(*b);
  for (const auto& [name, tensor] : wanted) EXPECT_TRUE(equal(tensor, got.at(name))) << name;
  io::Metadata metadata;
  load_safetensors(path, &metadata);
  EXPECT_EQ(metadata["source"], "a test");
}

TEST(Weights, CanBeGivenWhenTheNetworkIsMade) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "create.safetensors";
  FeatureNet net = lenet();
  save_weights(net, path);
  Network same = create("lenet", {.weights = path});
  const Tensor x = randn({2, 1, 28, 28});
  EXPECT_TRUE(equal(net(x), same(x)));
  expect_error([&] { create("lenet", {.num_classes = 3, .weights = path}); },
               "classifier.4.weight is [10, 84] in the file, not [3, 84]");
  EXPECT_THROW(create("lenet", {.weights = "/nowhere/weights.safetensors"}), FileError);
}

TEST(Weights, AreWrittenInPlace) {
  const Scratch scratch;
  const std::string path = scratch / "in_place.safetensors";
  FeatureNet net = lenet(), other = lenet();
  const Tensor parameter = net->parameters()[0];
  const void* place = parameter.data_ptr();
  save_weights(other, path);
  load_weights(net, path);
  EXPECT_TRUE(equal(parameter, other->parameters()[0]));
  EXPECT_EQ(net->parameters()[0].data_ptr(), place);
  EXPECT_TRUE(net->parameters()[0].requires_grad());
  EXPECT_TRUE(net->parameters()[0].is_leaf());
}

TEST(Weights, ThatDoNotFitChangeNothing) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "misfit.safetensors";
  FeatureNet net = lenet(), other = lenet();
  TensorDict state = state_of(*other);
  state["classifier.0.bias"] = zeros({7});
  state["classifier.4.weight"] = zeros({10, 84}, kLong);
  state.erase("features.0.weight");
  state["extra.weight"] = zeros({2});
  save_safetensors(state, path);
  const TensorDict before = state_of(*net->clone());
  const auto unchanged = [&] {
    for (const auto& [name, tensor] : state_of(*net))
      if (!equal(tensor, before.at(name))) return false;
    return true;
  };
  const std::string strict = test::error_of([&] { load_weights(net, path); });
  for (const std::string& piece :
       {path, std::string("FeatureNetImpl"),
        std::string("classifier.0.bias is [7] in the file, not [120]"),
        std::string("classifier.4.weight is Long in the file, not Float"),
        std::string("missing in the file (1): features.0.weight"),
        std::string("in the file, but not in the network (1): extra.weight")})
    EXPECT_TRUE(has(strict, piece)) << piece << "\n" << strict;
  EXPECT_TRUE(unchanged());
  // Shapes must agree also where names need not.
  expect_error([&] { load_weights(net, path, false); }, "classifier.0.bias");
  EXPECT_TRUE(unchanged());

  state["classifier.0.bias"] = other->named_parameters()["classifier.0.bias"].detach();
  state["classifier.4.weight"] = other->named_parameters()["classifier.4.weight"].detach();
  save_safetensors(state, path);
  EXPECT_THROW(load_weights(net, path), FileError);
  EXPECT_TRUE(unchanged());
  const LoadReport report = load_weights(net, path, /*strict=*/false);
  EXPECT_EQ(report.missing, (std::vector<std::string>{"features.0.weight"}));
  EXPECT_EQ(report.unexpected, (std::vector<std::string>{"extra.weight"}));
  EXPECT_EQ(report.loaded, 9);
  for (const auto& [name, tensor] : state_of(*net))
    EXPECT_TRUE(equal(tensor, name == "features.0.weight" ? before.at(name) : state.at(name)))
        << name;
}

TEST(Weights, LongListsAreShortened) {
  const Scratch scratch;
  const std::string path = scratch / "long.safetensors";
  save_safetensors(TensorDict{{"a", zeros({1})}}, path);
  ResNet net = resnet18(2);
  const std::string text = test::error_of([&] { load_weights(net, path); });
  EXPECT_TRUE(has(text, "and ")) << text;
  EXPECT_LT(text.size(), 1500u);
}

TEST(Weights, BatchCountersMayBeMissing) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "counters.safetensors";
  nn::BatchNorm2d norm(3);
  norm->forward(randn({2, 3, 4, 4}));
  TensorDict state = state_of(*norm);
  ASSERT_EQ(state.count("num_batches_tracked"), 1u);
  state.erase("num_batches_tracked");
  save_safetensors(state, path);
  nn::BatchNorm2d other(3);
  EXPECT_TRUE(load_weights(other, path).missing.empty());
  EXPECT_TRUE(equal(other->running_mean, norm->running_mean));
  // And they may be there where nobody counts.
  nn::LayerNorm plain(nn::LayerNormOptions({3}));
  save_safetensors(
      TensorDict{
          {"weight", ones({3})}, {"bias", ones({3})}, {"num_batches_tracked", zeros({}, kLong)}},
      path);
  EXPECT_TRUE(load_weights(plain, path).unexpected.empty());
  EXPECT_TRUE(equal(plain->bias, ones({3})));
}

TEST(Weights, OtherFloatsAreConvertedAndWrappersTakenOff) {
  const NoGradGuard no_grad;
  const Scratch scratch;
  const std::string path = scratch / "floats.safetensors";
  const Tensor weight = randn({2, 3}), bias = randn({2});
  save_safetensors(
      TensorDict{{"module.weight", weight.to(kBFloat16)}, {"module.bias", bias.to(kDouble)}}, path);
  nn::Linear net(3, 2);
  load_weights(net, path);
  EXPECT_EQ(net->weight.dtype(), kFloat);
  EXPECT_TRUE(equal(net->weight, weight.to(kBFloat16).to(kFloat)));
  EXPECT_TRUE(equal(net->bias, bias));
}

TEST(Weights, DamagedFilesAreRefused) {
  const Scratch scratch;
  const std::string path = scratch / "damaged.safetensors";
  FeatureNet net = lenet();
  save_weights(net, path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);
  expect_error([&] { load_weights(net, path); }, path);
}

TEST(Weights, RandomFirstValuesCanBeLeftOut) {
  manual_seed(3);
  const Tensor next = rand({4});
  manual_seed(3);
  {
    const nn::init::SkipGuard skip;
    create("lenet");
    nn::LSTM lstm(3, 4);
    nn::Embedding embedding(5, 2);
    Tensor t = full({3, 3}, 7.0);
    nn::init::orthogonal_(t);
    nn::init::sparse_(t, 0.5);
    EXPECT_TRUE(equal(t, full({3, 3}, 7.0)));
    nn::BatchNorm1d norm(2);  // constants are set
    EXPECT_TRUE(equal(norm->weight, ones({2})));
  }
  EXPECT_TRUE(equal(rand({4}), next));  // nothing random has happened
  EXPECT_FALSE(equal(nn::init::uniform_(zeros({3})), zeros({3})));
}

}  // namespace
}  // namespace tandem::models
