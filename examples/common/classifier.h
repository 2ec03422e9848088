#pragma once

#include <cstdint>
#include <vector>

#include "tandem/tandem.h"

/// The 28x28 convolutional classifier and its training in one process: what every way of training
/// it on several devices or processes must match.
namespace classifier {

inline tandem::nn::Sequential make_network() {
  using namespace tandem::nn;
  tandem::manual_seed(0);
  return Sequential(Conv2d(1, 32, 3), ReLU(), MaxPool2d(2), Flatten(), Linear(32 * 13 * 13, 64),
                    ReLU(), Linear(64, 10));
}

struct Data {
  tandem::Tensor images;  // float [n, 1, 28, 28], from -0.5 to 0.5
  tandem::Tensor labels;  // int64 [n]
};

inline Data make_data(int64_t n, uint32_t seed) {
  const tandem::io::LabelledImages digits = tandem::data::draw_digits(n, seed);
  return {digits.images.to(tandem::kFloat).div(255).sub(0.5).unsqueeze(1), digits.labels};
}

struct Settings {
  int64_t batch = 64;
  int epochs = 3;
  double learning_rate = 2e-3;
};

/// The loss of every step.
inline std::vector<double> train_in_one_process(tandem::nn::Sequential net, const Data& data,
                                                const Settings& settings = {}) {
  tandem::optim::Adam optimizer(net->parameters(),
                                tandem::optim::AdamOptions(settings.learning_rate));
  const auto step = tandem::compile([&](const tandem::Tensor& x, const tandem::Tensor& y) {
    optimizer.zero_grad();
    auto loss = tandem::nn::functional::cross_entropy(net->forward(x), y);
    loss.backward();
    optimizer.step();
    return loss.detach();
  });
  net->train();
  std::vector<double> losses;
  const int64_t n = data.images.size(0);
  for (int epoch = 0; epoch < settings.epochs; ++epoch)
    for (int64_t i = 0; i + settings.batch <= n; i += settings.batch)
      losses.push_back(
          step(data.images.narrow(0, i, settings.batch), data.labels.narrow(0, i, settings.batch))
              .item<double>());
  return losses;
}

/// The share of images whose class is found.
inline double accuracy(tandem::nn::Sequential net, const Data& data) {
  tandem::NoGradGuard no_grad;
  net->eval();
  return (net->forward(data.images).argmax(1) == data.labels)
      .to(tandem::kFloat)
      .mean()
      .item<double>();
}

}  // namespace classifier
