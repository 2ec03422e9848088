// W7, written once: Tandem and LibTorch compile the same text. Whoever includes this has made the
// name `torch` mean one of the two.
#pragma once

#include <vector>

#include "bench/lstm.h"

namespace {

// A language model of words: embedding, two LSTM layers, a linear layer, dropout between all of
// them.
struct LanguageModel : torch::nn::Module {
  static constexpr int64_t kSteps = 35, kBatch = 20, kWidth = 650, kWords = 10000, kLayers = 2;

  torch::nn::Embedding embedding;
  torch::nn::Dropout dropout;
  torch::nn::LSTM lstm;
  torch::nn::Linear linear;

  LanguageModel()
      : embedding(register_module("embedding", torch::nn::Embedding(kWords, kWidth))),
        dropout(register_module("dropout", torch::nn::Dropout(0.5))),
        lstm(register_module(
            "lstm", torch::nn::LSTM(
                        torch::nn::LSTMOptions(kWidth, kWidth).num_layers(kLayers).dropout(0.5)))),
        linear(register_module("linear", torch::nn::Linear(kWidth, kWords))) {
    torch::NoGradGuard no_grad;
    for (const torch::Tensor& p : parameters()) p.uniform_(-0.05, 0.05);
  }

  torch::Tensor forward(const torch::Tensor& words) {
    const torch::Tensor y = std::get<0>(lstm(dropout(embedding(words))));
    return linear(dropout(y)).view({-1, kWords});
  }

  static double flops() {
    constexpr double rows = kSteps * kBatch;
    // Forward, the gradient by the weights, and that by the input.
    return 3 * 2.0 * rows * (kLayers * 2.0 * 4 * kWidth * kWidth + 1.0 * kWidth * kWords);
  }
};

// A step of training with the norm of the gradient clipped.
struct LanguageModelStep {
  using Model = LanguageModel;
  std::shared_ptr<Model> model = std::make_shared<Model>();
  torch::optim::SGD optimizer{model->parameters(), torch::optim::SGDOptions(0.1)};
  torch::Tensor words =
      torch::randint(0, Model::kWords, {Model::kSteps, Model::kBatch}, torch::kLong);
  torch::Tensor targets =
      torch::randint(0, Model::kWords, {Model::kSteps * Model::kBatch}, torch::kLong);

  torch::Tensor operator()() {
    const torch::Tensor loss = torch::nn::functional::cross_entropy(model->forward(words), targets);
    loss.backward();
    torch::nn::utils::clip_grad_norm_(model->parameters(), 5.0);
    optimizer.step();
    // Nothing is left for the next step, which would have to be kept until then.
    for (const torch::Tensor& p : model->parameters()) p.mutable_grad().reset();
    return loss;
  }
};

}  // namespace
