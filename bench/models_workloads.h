// W1, W4, W7, W9 and W10, written once: Tandem and LibTorch compile the same text. Whoever includes
// this has made the name `torch` mean one of the two.
#pragma once

#include <tuple>

#include "bench/models.h"

namespace {

namespace nn = torch::nn;

// W1: 784-512-10 and its relatives, with ReLU after every layer, loss norm(y - pred) and SGD.
struct Perceptron {
  nn::Sequential net;
  torch::Tensor x, y;
  std::unique_ptr<torch::optim::SGD> sgd;

  explicit Perceptron(const std::vector<int64_t>& widths) {
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      net->push_back(nn::Linear(widths[i], widths[i + 1]));
      net->push_back(nn::ReLU());
    }
    x = torch::randn({128, widths.front()});
    y = torch::randn({128, widths.back()});
    sgd = std::make_unique<torch::optim::SGD>(net->parameters(), torch::optim::SGDOptions(1e-3));
  }
  torch::Tensor step() {
    sgd->zero_grad();
    torch::Tensor loss = (y - net->forward(x)).norm();
    loss.backward();
    sgd->step();
    return loss;
  }
};

// W4: ResNet-50.
struct BottleneckImpl : nn::Module {
  nn::Conv2d conv1, conv2, conv3;
  nn::BatchNorm2d bn1, bn2, bn3;
  nn::Sequential shortcut{nullptr};

  BottleneckImpl(int64_t in, int64_t width, int64_t stride)
      : conv1(nn::Conv2dOptions(in, width, 1).bias(false)),
        conv2(nn::Conv2dOptions(width, width, 3).stride(stride).padding(1).bias(false)),
        conv3(nn::Conv2dOptions(width, 4 * width, 1).bias(false)),
        bn1(width),
        bn2(width),
        bn3(4 * width) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv3", conv3);
    register_module("bn1", bn1);
    register_module("bn2", bn2);
    register_module("bn3", bn3);
    if (stride != 1 || in != 4 * width)
      shortcut = register_module(
          "shortcut",
          nn::Sequential(nn::Conv2d(nn::Conv2dOptions(in, 4 * width, 1).stride(stride).bias(false)),
                         nn::BatchNorm2d(4 * width)));
  }
  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor y = torch::relu(bn1(conv1(x)));
    y = torch::relu(bn2(conv2(y)));
    y = bn3(conv3(y));
    return torch::relu(y + (shortcut ? shortcut->forward(x) : x));
  }
};
using Bottleneck = nn::ModuleHolder<BottleneckImpl>;

struct ResNet50 {
  nn::Sequential net;
  torch::Tensor x, y;
  std::unique_ptr<torch::optim::SGD> sgd;

  ResNet50() {
    net->push_back(nn::Conv2d(nn::Conv2dOptions(3, 64, 7).stride(2).padding(3).bias(false)));
    net->push_back(nn::BatchNorm2d(64));
    net->push_back(nn::ReLU());
    net->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
    int64_t in = 64, width = 64;
    for (const int64_t blocks : {3, 4, 6, 3}) {
      for (int64_t b = 0; b < blocks; ++b) {
        net->push_back(Bottleneck(in, width, b == 0 && width > 64 ? 2 : 1));
        in = 4 * width;
      }
      width *= 2;
    }
    net->push_back(nn::AdaptiveAvgPool2d(1));
    net->push_back(nn::Flatten());
    net->push_back(nn::Linear(in, 1000));
    x = torch::randn({4, 3, 224, 224});
    y = torch::randint(0, 1000, {4}, torch::kLong);
    sgd = std::make_unique<torch::optim::SGD>(
        net->parameters(), torch::optim::SGDOptions(1e-3).momentum(0.9).weight_decay(1e-4));
  }
  torch::Tensor step() {
    sgd->zero_grad();
    torch::Tensor loss = nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    sgd->step();
    return loss;
  }
  torch::Tensor infer() {
    torch::NoGradGuard no_grad;
    return net->forward(x);
  }
};

// W7: a language model of two LSTM layers.
struct LanguageModel {
  static constexpr int64_t kWords = 10000, kWidth = 650, kSteps = 35, kBatch = 20;
  nn::Embedding embedding{kWords, kWidth};
  nn::Dropout dropout{0.5};
  nn::LSTM lstm{nn::LSTMOptions(kWidth, kWidth).num_layers(2).dropout(0.5)};
  nn::Linear decoder{kWidth, kWords};
  std::vector<torch::Tensor> parameters;
  torch::Tensor x, y, h, c;
  std::unique_ptr<torch::optim::SGD> sgd;

  LanguageModel() {
    for (const auto& p : embedding->parameters()) parameters.push_back(p);
    for (const auto& p : lstm->parameters()) parameters.push_back(p);
    for (const auto& p : decoder->parameters()) parameters.push_back(p);
    x = torch::randint(0, kWords, {kSteps, kBatch}, torch::kLong);
    y = torch::randint(0, kWords, {kSteps * kBatch}, torch::kLong);
    h = torch::zeros({2, kBatch, kWidth});
    c = torch::zeros({2, kBatch, kWidth});
    sgd = std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(1.0));
  }
  // Forward, and backward by inputs and by weights. The embedding's gradient has no products.
  static double flops() {
    const double tokens = kSteps * kBatch;
    return 3 * 2 * tokens * (2 * 2 * kWidth * 4 * kWidth + kWidth * kWords);
  }
  torch::Tensor step() {
    sgd->zero_grad();
    auto [out, state] = lstm->forward(dropout(embedding(x)), std::make_tuple(h, c));
    const torch::Tensor logits = decoder(dropout(out)).view({kSteps * kBatch, kWords});
    torch::Tensor loss = nn::functional::cross_entropy(logits, y);
    loss.backward();
    nn::utils::clip_grad_norm_(parameters, 5.0);
    sgd->step();
    return loss;
  }
};

// W9: self-attention with cross entropy behind it.
struct AttentionLayer {
  static constexpr int64_t kBatch = 8, kTokens = 256, kWidth = 512;
  nn::MultiheadAttention attention{nn::MultiheadAttentionOptions(kWidth, 8)};
  torch::Tensor x, y;

  AttentionLayer() {
    x = torch::randn({kTokens, kBatch, kWidth}).requires_grad_();
    y = torch::randint(0, kWidth, {kTokens * kBatch}, torch::kLong);
  }
  static double flops() {
    const double tokens = kTokens * kBatch;
    return 3 * 2 * tokens * (4 * kWidth * kWidth + 2 * kTokens * kWidth);
  }
  torch::Tensor step() {
    x.mutable_grad().reset();
    for (auto& p : attention->parameters()) p.mutable_grad().reset();
    auto out = attention->forward(x, x, x, /*key_padding_mask=*/{}, /*need_weights=*/false);
    torch::Tensor loss =
        nn::functional::cross_entropy(std::get<0>(out).view({kTokens * kBatch, kWidth}), y);
    loss.backward();
    return loss;
  }
};

// W10: CTC with 50 steps, batch 16, 20 labels, targets of 10 to 30.
struct Ctc {
  torch::Tensor scores = torch::randn({50, 16, 20}).requires_grad_();
  torch::Tensor targets = torch::randint(1, 20, {16, 30}, torch::kLong);
  torch::Tensor input_lengths = torch::full({16}, 50, torch::kLong);
  torch::Tensor target_lengths = torch::randint(10, 31, {16}, torch::kLong);
  torch::Tensor step() {
    scores.mutable_grad().reset();
    torch::Tensor loss = nn::functional::ctc_loss(torch::log_softmax(scores, -1), targets,
                                                  input_lengths, target_lengths);
    loss.backward();
    return loss;
  }
};

// add(id, name, flops, make) is called for each; make() gives a program to be called without
// arguments.
template <class Add>
void for_model_workloads(const Add& add) {
  for (const std::vector<int64_t>& widths :
       {std::vector<int64_t>{784, 512, 10}, {784, 354, 354, 10}, {784, 294, 294, 294, 10}}) {
    std::string name = "W1 MLP step, ";
    double flops = 0;
    for (size_t i = 0; i < widths.size(); ++i) {
      name += (i ? "-" : "") + std::to_string(widths[i]);
      if (i > 0)
        flops += 2.0 * 128 * static_cast<double>(widths[i - 1] * widths[i]) * (i == 1 ? 2 : 3);
    }
    add("W1", name, flops, [widths] {
      auto m = std::make_shared<Perceptron>(widths);
      return [m] { return m->step(); };
    });
  }
  // 4.09 thousand million multiplications an image.
  add("W4", "W4 ResNet-50 step, batch 4", 3 * 2 * 4.089e9 * 4, [] {
    auto m = std::make_shared<ResNet50>();
    return [m] { return m->step(); };
  });
  add("W4i", "W4 ResNet-50 inference, batch 4", 2 * 4.089e9 * 4, [] {
    auto m = std::make_shared<ResNet50>();
    m->net->eval();
    return [m] { return m->infer(); };
  });
  add("W7", "W7 LSTM language model step", LanguageModel::flops(), [] {
    auto m = std::make_shared<LanguageModel>();
    return [m] { return m->step(); };
  });
  add("W9", "W9 self-attention and cross entropy", AttentionLayer::flops(), [] {
    auto m = std::make_shared<AttentionLayer>();
    return [m] { return m->step(); };
  });
  add("W10", "W10 CTC loss", 0.0, [] {
    auto m = std::make_shared<Ctc>();
    return [m] { return m->step(); };
  });
}

}  // namespace
