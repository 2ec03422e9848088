// Listing 21: a line fitted to 101 noisy points, one point at a time, without any graph to declare.
#include <cmath>
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  manual_seed(0);
  auto x = linspace(-1, 1, 101);
  auto y = 2 * x + 0.33 * randn({101});

  auto w = zeros({}, requires_grad());
  for (int epoch = 0; epoch < 100; ++epoch) {
    for (int64_t i = 0; i < 101; ++i) {
      auto loss = (y[i] - x[i] * w).pow(2);
      loss.backward();
      NoGradGuard no_grad;
      w -= 0.01 * w.grad();
      w.grad().zero_();
    }
    if (epoch % 20 == 19) std::cout << "epoch " << epoch + 1 << "  w = " << w.item<float>() << '\n';
  }
  // Where the sum of squares is least.
  const double best = (x * y).sum().item<double>() / (x * x).sum().item<double>();
  std::cout << "w = " << w.item<float>() << ", least squares: " << best << '\n';
  const double found = w.item<double>();
  return std::abs(found - 2) < 0.2 && std::abs(found - best) < 0.05 ? 0 : 1;
}
