#pragma once

// What the listings about a two-layer network share: the data, and the training loop with the
// gradients written out by hand, which the other listings must agree with.

#include <cmath>
#include <iostream>
#include <vector>

#include "tandem/tandem.h"

namespace two_layer {

constexpr int64_t N = 64, D_in = 1000, H = 100, D_out = 10;
constexpr int kSteps = 500;
constexpr double kLearningRate = 1e-6;

struct Data {
  tandem::Tensor x, y, w1, w2;
};

/// The same random numbers each time.
inline Data make_data() {
  tandem::manual_seed(0);
  return {tandem::randn({N, D_in}), tandem::randn({N, D_out}), tandem::randn({D_in, H}),
          tandem::randn({H, D_out})};
}

inline void report(int step, double loss) {
  if (step % 100 == 99) std::cout << "step " << step + 1 << "  loss " << loss << '\n';
}

/// The loss before each step.
inline std::vector<double> train_by_hand() {
  auto [x, y, w1, w2] = make_data();
  std::vector<double> losses;
  for (int t = 0; t < kSteps; ++t) {
    // Forward.
    auto h = x.mm(w1);
    auto h_relu = h.clamp(0);
    auto y_pred = h_relu.mm(w2);
    const double loss = (y_pred - y).pow(2).sum().item<double>();
    losses.push_back(loss);
    report(t, loss);
    // Backward: each line is the gradient of the line above it, in reverse.
    auto grad_y_pred = 2.0 * (y_pred - y);
    auto grad_w2 = h_relu.t().mm(grad_y_pred);
    auto grad_h_relu = grad_y_pred.mm(w2.t());
    auto grad_h = grad_h_relu * (h >= 0);
    auto grad_w1 = x.t().mm(grad_h);
    w1 -= kLearningRate * grad_w1;
    w2 -= kLearningRate * grad_w2;
  }
  return losses;
}

/// Whether the losses are those of the training by hand, up to rounding, and went down.
inline bool agrees_with_hand(const std::vector<double>& losses) {
  std::cout << "by hand:\n";
  const std::vector<double> expected = train_by_hand();
  double worst = 0;
  for (int t = 0; t < kSteps; ++t)
    worst = std::max(worst, std::abs(losses[t] - expected[t]) / expected[t]);
  std::cout << "largest relative difference from the losses by hand: " << worst << '\n';
  return losses.size() == expected.size() && worst < 1e-5 && losses.back() < 1e-3 * losses.front();
}

}  // namespace two_layer
