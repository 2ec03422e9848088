// Listing 23: the network of the study, 784-h-10 with ReLU and the loss norm(y - pred), trained
// eager and compiled. Both go the same way, step for step.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr int64_t kBatch = 128, kIn = 784, kOut = 10;
constexpr int kSteps = 60;

/// ReLU after every layer, as in the study.
nn::Sequential make_mlp(const std::vector<int64_t>& hidden) {
  manual_seed(0);
  nn::Sequential net;
  int64_t width = kIn;
  for (const int64_t h : hidden) {
    net->push_back(nn::Linear(width, h));
    net->push_back(nn::ReLU());
    width = h;
  }
  net->push_back(nn::Linear(width, kOut));
  net->push_back(nn::ReLU());
  return net;
}

struct Run {
  std::vector<double> losses;
  double microseconds;  // a step, the first few left out
};

Run train(const std::vector<int64_t>& hidden, bool compiled) {
  auto net = make_mlp(hidden);
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(1e-3));
  const auto step = [&](const Tensor& x, const Tensor& y) {
    optimizer.zero_grad();
    auto pred = net->forward(x);
    auto loss = norm(y - pred);
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  auto fast = compile(step);
  manual_seed(1);
  const Tensor x = rand({kBatch, kIn}), y = rand({kBatch, kOut});
  Run run;
  std::chrono::steady_clock::time_point start;
  for (int i = 0; i < kSteps; ++i) {
    if (i == kSteps / 2) start = std::chrono::steady_clock::now();
    run.losses.push_back((compiled ? fast(x, y) : step(x, y)).item<double>());
  }
  run.microseconds =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() /
      (kSteps - kSteps / 2);
  return run;
}

}  // namespace

int main() {
  bool right = true;
  std::printf("hidden layers       eager us/step   compiled us/step   first loss   last loss\n");
  for (const std::vector<int64_t>& hidden :
       {std::vector<int64_t>{512}, {354, 354}, {294, 294, 294}}) {
    const Run eager = train(hidden, false), fast = train(hidden, true);
    std::string name;
    for (const int64_t h : hidden) name += (name.empty() ? "" : "-") + std::to_string(h);
    std::printf("%-18s  %13.0f   %16.0f   %10.4f   %9.4f\n", name.c_str(), eager.microseconds,
                fast.microseconds, eager.losses.front(), eager.losses.back());
    double worst = 0;
    for (int i = 0; i < kSteps; ++i)
      worst = std::max(worst, std::abs(fast.losses[i] - eager.losses[i]) / eager.losses[i]);
    std::printf("  largest relative difference of the losses: %g\n", worst);
    right &= worst < 1e-5 && eager.losses.back() < 0.9 * eager.losses.front();
  }
  return right ? 0 : 1;
}
