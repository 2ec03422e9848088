// Listing 12: a line fitted to 101 noisy points by a declared training step.
#include <cmath>
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  manual_seed(0);
  auto xs = linspace(-1, 1, 101);
  auto ys = 2 * xs + 0.33 * randn({101});

  graph::Builder b;
  auto x = b.placeholder({}), y = b.placeholder({});
  auto w = b.variable(zeros({}), "weights");
  auto cost = (y - x * w).square();
  auto train = b.minimize(cost, optim::SGDOptions(0.01));

  graph::Session session(b);
  for (int epoch = 0; epoch < 100; ++epoch) {
    for (int64_t i = 0; i < 101; ++i) session.run(train, {{x, xs[i]}, {y, ys[i]}});
    if (epoch % 20 == 19)
      std::cout << "epoch " << epoch + 1 << "  w = " << session.run(w).item<float>() << '\n';
  }
  // Where the sum of squares is least.
  const double found = session.run(w).item<double>();
  const double best = (xs * ys).sum().item<double>() / (xs * xs).sum().item<double>();
  std::cout << "w = " << found << ", least squares: " << best << '\n';
  // A session has variables of its own.
  graph::Session untouched(b);
  const double start = untouched.run(w).item<double>();
  std::cout << "in a new session w = " << start << '\n';
  return std::abs(found - 2) < 0.2 && std::abs(found - best) < 0.05 && start == 0 ? 0 : 1;
}
